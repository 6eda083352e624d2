//! Flows that the host offers without an order for each, adapted to the NIC's load, its room and
//! the lifetime of flows.

use super::number::{fading, real, whole};
use super::rates::Step;
use super::reason::Reason;
use super::settings::{Admitted, Costs, Settings};

/// Shortest interval between regular changes (ns).
const CHANGES: u64 = 10_000_000;
/// After a recent overload of the NIC, the share grows at most once in this interval (ns), and the
/// cool-down is longer by this factor. Flows that the NIC has time for are then offered by name.
const CAREFUL: u64 = 100_000_000;
const REST_LONGER: u64 = 16;
/// Part of the share at the beginning of an overload, up to which growth needs no such care.
const SAFE: f64 = 0.9;
/// Growth factor of the share while the NIC has time.
const FASTER: f64 = 1.25;
/// Beyond this many packets, samples find a flow sooner than counting does.
const MOST_AFTER: u32 = 64;
/// Time constant of the counts of offloads and their packets (ns).
const MEMORY: f64 = 300e6;
/// With fewer offloads than this, their mean number of packets is not used.
const ENOUGH: f64 = 32.0;
/// Thresholds of occupancy, as parts of the capacity. Above the first, only flows that are seen to
/// earn go to the NIC. Below the second, others may again.
const FULL: f64 = 0.90;
const ROOMY: f64 = 0.70;

/// A flow is offered in the place of another after this many packets …
const SURE: u32 = 4;
/// … at this part of the mean packet rate per place, if the NIC had all packets. The part is
/// adapted between these bounds.
const PART: f64 = 0.12;
const PARTS: [f64; 2] = [PART / 2.0, PART * 2.0];
/// Time constant of the packet rate (ns).
const RATE: f64 = 10e6;
/// Idle time before the NIC evicts a flow, in packet distances of a flow that just earns a place.
const UNUSED: f64 = 2.5;
/// Shortest idle time before an eviction (ns).
const SHORTEST: f64 = 4e6;
/// Decay interval of packet counts, in packet distances: it forgets packets that come by chance.
const FORGOTTEN: f64 = 0.69;
/// Bounds on exchanges: this many times the capacity per second, and this part of the host's time.
const TURNOVER: f64 = 8.0;
const SPENT: f64 = 0.02;
/// The earning rate is announced again after a change by this factor, up or down.
const OTHERWISE: f64 = 1.25;

/// The admission in force, and its effects.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    /// The admission in force; `None` before the first order.
    now: Option<Admitted>,
    /// The share, as if there were room.
    share: f64,
    /// Below this share, growth is fast even after a recent overload.
    safe: f64,
    over: bool,
    after: u32,
    changed: u64,
    after_changed: u64,
    tight: bool,
    /// Recent rate of all packets that come to the NIC, per ns.
    rate: f64,
    /// Packets a second with which a flow just earns another's place, as announced last; and its
    /// part of the mean rate per place.
    said: f64,
    part: f64,
    sought: u64,
    /// Flows that went to the NIC, and packets handled there, both decayed.
    offloads: f64,
    packets: f64,
}

/// Load and occupancy of the sides.
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

    /// Forgets all that was learned, and returns the plan's admission.
    pub(super) fn fall_back(&mut self, settings: &Settings) -> Admitted {
        *self = Self { now: Some(settings.plan), ..Self::new(settings) };
        settings.plan
    }

    /// Adds a step of the NIC.
    pub(super) fn add(&mut self, nic: &Step) {
        let kept = fading(nic.time, MEMORY);
        self.offloads = self.offloads * kept + nic.offloads;
        self.packets = self.packets * kept + nic.packets;
        let rate = (nic.packets + nic.passed) / nic.time;
        let before = if self.rate > 0.0 { self.rate } else { rate };
        self.rate = before + (1.0 - fading(nic.time, RATE)) * (rate - before);
    }

    /// Returns the admission from now on and its reason, if it changes.
    pub(super) fn tune(
        &mut self,
        scene: &Scene,
        costs: &Costs,
        settings: &Settings,
    ) -> Option<(Admitted, Reason)> {
        let (before, was_tight, after) = (self.share, self.tight, self.after);
        let full = scene.flows / scene.capacity.max(1.0);
        self.tight = if self.tight { full > ROOMY } else { full > FULL };
        // A NIC that just got full is tuned at once: its flows came first, and earn little.
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
        // Exchanges give places to the flows with most packets now, even after an overload.
        let longer = if scene.nic_was_over && !displaces { REST_LONGER } else { 1 };
        let rest = settings.rest_ns.saturating_mul(longer);
        let wanted = Admitted { share, after: self.after.max(sure), rest, most, pace, idle };
        let now = self.now.unwrap_or(Admitted { share: u16::MAX, ..wanted });
        // The room always changes a little.
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

    /// Returns whether flows of the host displace others: the NIC is full, and recalls are not
    /// needed to relieve it.
    fn displaces(&self, scene: &Scene, settings: &Settings) -> bool {
        settings.exchange && self.tight && !(scene.nic_over && scene.relieved_by_recalls)
    }

    /// Returns the packets before an offer, their decay interval, and the idle time before an
    /// eviction.
    fn places(&self) -> (u32, u64, u64) {
        let distance = 1e9 / self.said.max(1.0);
        // However many flows earn a place, only a flow with few packets gives one up.
        (SURE, whole(FORGOTTEN * distance).max(1), whole((UNUSED * distance).max(SHORTEST)))
    }

    /// Adapts the packet rate with which a flow earns a place: a part of the mean rate per place,
    /// if the NIC had all packets. The part follows the number of exchanges. The rate is never too
    /// low for a move to pay.
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

    /// Returns whether the NIC evicts flows without a recall or a punt.
    pub(super) fn gives_places(&self) -> bool {
        self.now.is_some_and(|now| now.idle > 0)
    }

    /// Reduces the share at once while the NIC is overloaded. Most overloads are over in a moment,
    /// so it soon nearly recovers, and then grows slowly.
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
            // If packets grow with the share, the NIC is still not overloaded then.
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

    /// Adapts the packets before an offer: flows with few packets left should not have moved.
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
