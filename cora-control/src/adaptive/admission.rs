//! Which flows the host offers by itself, without being told of each: adapted to the NIC's load, to
//! its room, and to how long flows last.

use super::number::{fading, real, whole};
use super::rates::Step;
use super::reason::Reason;
use super::settings::{Admitted, Costs, Settings};

/// Changes are so far apart at least (ns).
const CHANGES: u64 = 10_000_000;
/// While the NIC is one that was overloaded of late, more is admitted only so often (ns), and flows
/// that came back rest so many times as long: those that it has time for are offered by name.
const CAREFUL: u64 = 100_000_000;
const REST_LONGER: u64 = 16;
/// What was offered when the NIC got overloaded is offered again without such care up to this part.
const SAFE: f64 = 0.9;
/// So many times as much is admitted while there is time for it.
const FASTER: f64 = 1.25;
/// Beyond so many packets, samples find a flow sooner than counting does.
const MOST_AFTER: u32 = 64;
/// Offloads and what they brought are counted over about this time (ns).
const MEMORY: f64 = 300e6;
/// With fewer offloads than this nothing is said of them.
const ENOUGH: f64 = 32.0;
/// Parts of what fits: above the first, only flows that are seen to earn go to the NIC; below the
/// second, others may again.
const FULL: f64 = 0.90;
const ROOMY: f64 = 0.70;

/// In the place of others, flows are offered after so many packets …
const SURE: u32 = 4;
/// … when they have this part of the packets that each flow of the NIC's would have if it had all;
/// the part is sought between these.
const PART: f64 = 0.12;
const PARTS: [f64; 2] = [PART / 2.0, PART * 2.0];
/// The rate of packets is known over about this time (ns).
const RATE: f64 = 10e6;
/// A flow of the NIC's gives its place up when so many packets of one that just earns a place would
/// have come.
const UNUSED: f64 = 2.5;
/// No flow gives its place up before it had no packet for so long (ns).
const SHORTEST: f64 = 4e6;
/// Packets that come by chance are forgotten one by one in this part of the distance between two.
const FORGOTTEN: f64 = 0.69;
/// Flows that change places: as many a second as fit, so many times, and for this part of the
/// host's time at most.
const TURNOVER: f64 = 8.0;
const SPENT: f64 = 0.02;
/// Who earns a place is said anew when that is so many times as much, or less.
const OTHERWISE: f64 = 1.25;

/// What is admitted, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    /// What is in force; `None` before the first order.
    now: Option<Admitted>,
    /// What would be if there were room.
    share: f64,
    /// Below this share, a NIC that was overloaded of late gets more as fast as any other.
    safe: f64,
    over: bool,
    after: u32,
    changed: u64,
    after_changed: u64,
    tight: bool,
    /// All packets that come to the NIC, per ns, of late.
    rate: f64,
    /// Packets a second of a flow that just earns a place of another, as it was said; and the part
    /// of a flow's that it is.
    said: f64,
    part: f64,
    sought: u64,
    /// Flows that went to the NIC, and packets handled there, both fading.
    offloads: f64,
    packets: f64,
}

/// What the NIC is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    pub(super) time: u64,
    pub(super) flows: f64,
    pub(super) capacity: f64,
    pub(super) nic_over: bool,
    pub(super) nic_was_over: bool,
    pub(super) relieved_by_recalls: bool,
    pub(super) headroom: f64,
    pub(super) nic_load: f64,
    pub(super) host_load: f64,
}

impl Tuning {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            now: None,
            share: f64::from(settings.plan.share),
            safe: 0.0,
            over: false,
            after: settings.plan.after,
            changed: 0,
            after_changed: 0,
            tight: false,
            rate: 0.0,
            said: 0.0,
            part: PART,
            sought: 0,
            offloads: 0.0,
            packets: 0.0,
        }
    }

    /// The plan decides: all of what was found out is forgotten.
    pub(super) fn fall_back(&mut self, settings: &Settings) -> Admitted {
        *self = Self { now: Some(settings.plan), ..Self::new(settings) };
        settings.plan
    }

    /// The NIC did this.
    pub(super) fn add(&mut self, nic: &Step) {
        let kept = fading(nic.time, MEMORY);
        self.offloads = self.offloads * kept + nic.offloads;
        self.packets = self.packets * kept + nic.packets;
        let rate = (nic.packets + nic.passed) / nic.time;
        let before = if self.rate > 0.0 { self.rate } else { rate };
        self.rate = before + (1.0 - fading(nic.time, RATE)) * (rate - before);
    }

    /// What should be admitted from now on, if it is something else.
    pub(super) fn tune(
        &mut self,
        scene: &Scene,
        costs: &Costs,
        settings: &Settings,
    ) -> Option<(Admitted, Reason)> {
        let (before, was_tight, after) = (self.share, self.tight, self.after);
        let full = scene.flows / scene.capacity.max(1.0);
        self.tight = if self.tight { full > ROOMY } else { full > FULL };
        // A NIC that just got full waits for nothing: what is there came first, and earns little.
        let is_due = self.tight != was_tight || self.now.is_none();
        if !is_due && scene.time.saturating_sub(self.changed) < CHANGES {
            return None;
        }
        self.tune_share(scene);
        self.tune_after(scene.time, costs, settings);
        self.seek(scene, costs, settings);
        let displaces = self.displaces(scene, settings);
        let share = if self.tight && !displaces { 0 } else { whole(self.share) as u16 };
        let part = if displaces { 1.0 } else { FULL };
        let most = whole((part * scene.capacity).min(f64::from(u32::MAX))) as u32;
        let (sure, pace, idle) = if displaces { self.places() } else { (1, 0, 0) };
        // Places are for those that have most packets now, whatever was before.
        let longer = if scene.nic_was_over && !displaces { REST_LONGER } else { 1 };
        let rest = settings.rest_ns.saturating_mul(longer);
        let wanted = Admitted { share, after: self.after.max(sure), rest, most, pace, idle };
        let now = self.now.unwrap_or(Admitted { share: u16::MAX, ..wanted });
        // Room changes all the time a little.
        let about = u64::from(now.most).abs_diff(u64::from(most)) * 16 < u64::from(most).max(1);
        if about && wanted == (Admitted { most, ..now }) {
            return None;
        }
        let reason = if self.now.is_none() {
            Reason::Begin
        } else if self.tight != was_tight {
            Reason::Room { full, tight: self.tight }
        } else if wanted.pace != now.pace {
            Reason::Earns { packets: self.said, idle }
        } else if after != self.after {
            Reason::Lives { packets: self.packets / self.offloads.max(1.0), after: self.after }
        } else if (before - self.share).abs() >= 1.0 {
            Reason::Share { share, over: scene.nic_over }
        } else if wanted.rest != now.rest {
            Reason::Rest { seconds: real(rest) / 1e9 }
        } else {
            Reason::Capacity { flows: scene.capacity }
        };
        self.now = Some(wanted);
        self.changed = scene.time;
        Some((wanted, reason))
    }

    /// Whether flows of the host's take places of others: the NIC is full, and is not relieved by
    /// having fewer.
    fn displaces(&self, scene: &Scene, settings: &Settings) -> bool {
        settings.exchange && self.tight && !(scene.nic_over && scene.relieved_by_recalls)
    }

    /// After how many packets, how fast they are forgotten, and after which time a place is given
    /// up.
    fn places(&self) -> (u32, u64, u64) {
        let distance = 1e9 / self.said.max(1.0);
        // However many earn a place, one is given up only by a flow that has few packets.
        (SURE, whole(FORGOTTEN * distance).max(1), whole((UNUSED * distance).max(SHORTEST)))
    }

    /// Seeks the number of packets with which a flow earns a place: a part of what each flow of the
    /// NIC's would have if it had all packets, smaller or larger by how many change theirs. Never
    /// is it too low for a move to pay.
    fn seek(&mut self, scene: &Scene, costs: &Costs, settings: &Settings) {
        if !self.tight {
            self.part = PART;
            return;
        }
        let paid = costs.host_move + costs.nic_move;
        if scene.time.saturating_sub(self.sought) >= CHANGES {
            self.sought = scene.time;
            let most = (TURNOVER * scene.capacity).min(SPENT * 1e9 / (2.0 * paid));
            let turn = self.offloads / MEMORY * 1e9;
            if turn > most {
                self.part *= 1.1;
            } else if turn < most / 2.0 {
                self.part /= 1.1;
            }
            self.part = self.part.clamp(PARTS[0], PARTS[1]);
        }
        let least = paid / costs.host_packet * 1e9 / real(settings.payback_ns);
        let earns = (self.part * self.rate * 1e9 / scene.capacity.max(1.0)).max(least);
        if !(1.0 / OTHERWISE..OTHERWISE).contains(&(earns / self.said.max(1.0))) {
            self.said = earns;
        }
    }

    /// Whether flows leave the NIC without being recalled or punted.
    pub(super) fn gives_places(&self) -> bool {
        self.now.is_some_and(|now| now.idle > 0)
    }

    /// Less at once while the NIC is overloaded; then soon nearly what it was, since most that
    /// overloads a NIC is over in a moment; and beyond that little by little.
    fn tune_share(&mut self, scene: &Scene) {
        let was_over = std::mem::replace(&mut self.over, scene.nic_over);
        if scene.nic_over {
            if scene.relieved_by_recalls {
                if !was_over {
                    self.safe = SAFE * self.share;
                }
                self.share *= 0.8;
            }
        } else if scene.headroom > 0.02 && scene.host_load > 0.02 {
            let fast = (self.share * FASTER + 16.0).min(1024.0);
            // If packets grow as the share does, it is still not overloaded then.
            let ample = scene.headroom > (FASTER - 1.0) * scene.nic_load;
            self.share = if !scene.nic_was_over || ample {
                fast
            } else if self.share < self.safe {
                fast.min(self.safe)
            } else if scene.time.saturating_sub(self.changed) >= CAREFUL {
                (self.share * 1.05 + 4.0).min(1024.0)
            } else {
                self.share
            };
        }
    }

    /// Flows that have few packets left when they arrive should not have moved.
    fn tune_after(&mut self, time: u64, costs: &Costs, settings: &Settings) {
        let since = real(time.saturating_sub(self.after_changed));
        if self.offloads < ENOUGH || since < MEMORY {
            return;
        }
        let earned = self.packets / self.offloads * costs.host_packet;
        let paid = costs.host_move + costs.nic_move;
        let after = if earned < paid {
            self.after.max(1).saturating_mul(2).min(MOST_AFTER.max(settings.plan.after))
        } else if earned > 4.0 * paid {
            (self.after / 2).max(settings.plan.after)
        } else {
            self.after
        };
        if after != self.after {
            self.after = after;
            self.after_changed = time;
        }
    }
}
