//! The flows that the controller knows: how many packets each has, where it is, and when it may
//! move again.
//!
//! The NIC samples every packet of the wire, the host those that it handles. So a flow that both
//! see is the host's, and one that only the NIC sees is the NIC's; beside that, the host tells
//! which flows it handed over.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ahash::RandomState;
use cora_runtime::telemetry::SAMPLED;

use super::digest::{Digest, FlowId, SideReport, flow_of};
use super::number::{fading, real};
use super::settings::Settings;

/// Time constants of a flow's rate (ns): one to be quick, one to be right.
const QUICK: f64 = 15e6;
const SLOW: f64 = 1_500e6;
/// A flow is thought to have been there so long before it is seen first (ns).
const BEFORE: f64 = 40e6;
/// Flows known at most; beyond that no new one is.
const MOST: usize = 1 << 17;
/// Flows looked at per period: of all, whether they may be forgotten, and of the NIC's, whether
/// they may leave.
const LOOKS: usize = 24;
/// Flows that may leave, kept in mind.
const COLD: usize = 64;
/// A flow of the host with fewer samples than this left is forgotten.
const FORGOTTEN: f64 = 0.05;
/// So many samples of the NIC's, and none of the host's meanwhile, make a flow the NIC's.
const ALONE: u8 = 6;
/// What the punts of a flow do to its rest is a power of two up to this.
const BACK_OFF: u8 = 6;

/// Where samples of a flow stood when they were told last: count and error.
type Stand = (u32, u32);
/// Those of both directions.
type Stands = [Stand; 2];

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) at_nic: bool,
    /// Among those looked at for that.
    listed: bool,
    /// Samples, fading.
    quick: f64,
    slow: f64,
    updated: u64,
    since: u64,
    wire: Stands,
    host: Stands,
    /// Samples of the NIC's since the host's last.
    alone: u8,
    /// When it was offered, came to the NIC, was recalled, came back; 0 if never.
    offered: u64,
    went: u64,
    recalled: u64,
    came: u64,
    /// How often it came back unasked.
    punts: u8,
}

impl Flow {
    const fn new(now: u64) -> Self {
        Self {
            at_nic: false,
            listed: false,
            quick: 0.0,
            slow: 0.0,
            updated: now,
            since: now,
            wire: [(0, 0); 2],
            host: [(0, 0); 2],
            alone: 0,
            offered: 0,
            went: 0,
            recalled: 0,
            came: 0,
            punts: 0,
        }
    }

    fn fade(&mut self, now: u64) {
        let time = real(now.saturating_sub(self.updated));
        self.quick *= fading(time, QUICK);
        self.slow *= fading(time, SLOW);
        self.updated = now;
    }

    fn sampled(&mut self, samples: f64, now: u64) {
        self.fade(now);
        self.quick += samples;
        self.slow += samples;
    }

    /// Its packets per second: at least, and at most, as far as samples tell.
    pub(super) fn rate(&self, now: u64) -> (f64, f64) {
        let mut then = *self;
        then.fade(now);
        let age = real(now.saturating_sub(then.since));
        let age = (SLOW * (1.0 - fading(age, SLOW)) + BEFORE).min(SLOW);
        let rate = |samples: f64, time: f64| samples.max(0.0) * f64::from(SAMPLED) * 1e9 / time;
        // Many flows are tried over the longer time, so chance has more tries to make one look
        // busy.
        let quick = rate(then.quick - then.quick.sqrt(), QUICK);
        let least = rate(then.slow - 1.5 * then.slow.sqrt(), age);
        let most = rate(then.slow + then.slow.sqrt(), age);
        (quick.max(least), quick.max(most))
    }

    /// Whether it may be offered now.
    pub(super) fn may_go(&self, now: u64, settings: &Settings) -> bool {
        let rest = settings.rest_ns;
        let back_off = rest << self.punts.min(BACK_OFF);
        let past = |time: u64, rest: u64| time == 0 || now.saturating_sub(time) >= rest;
        !self.at_nic
            && past(self.offered, if self.went < self.offered { settings.again_ns } else { rest })
            && past(self.went, rest)
            && past(self.recalled.max(self.came), back_off)
    }

    /// Whether it may be recalled now.
    pub(super) fn may_come(&self, now: u64, settings: &Settings) -> bool {
        let since = self.went.max(self.offered);
        self.at_nic && now.saturating_sub(since) >= settings.stay_ns
    }
}

/// All that are known.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    // Nobody goes through it: the order of its flows decides nothing.
    known: HashMap<FlowId, Flow, RandomState>,
    /// The same flows, to be looked at in turn.
    turn: Vec<FlowId>,
    hand: usize,
    /// Those at the NIC, or that were when they were looked at last: few among many, so that all
    /// are looked at soon.
    there: Vec<FlowId>,
    there_hand: usize,
    /// Flows of the NIC with few packets: at most so many a second, when looked at.
    cold: Vec<(f64, FlowId)>,
    forgotten: Vec<FlowId>,
}

impl Default for Flows {
    fn default() -> Self {
        // Keys are hashes already.
        let known = HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
        let (turn, there, forgotten) = (Vec::new(), Vec::new(), Vec::new());
        Self { known, turn, hand: 0, there, there_hand: 0, cold: Vec::new(), forgotten }
    }
}

impl Flows {
    pub(super) fn get(&self, flow: FlowId) -> Option<&Flow> {
        self.known.get(&flow)
    }

    /// Whether this flow is still known.
    pub(super) fn knows(&self, flow: FlowId) -> bool {
        self.known.contains_key(&flow)
    }

    /// The flows that were forgotten since this was asked last.
    pub(super) fn forgotten(&mut self) -> Vec<FlowId> {
        std::mem::take(&mut self.forgotten)
    }

    fn entry(&mut self, flow: FlowId, now: u64) -> Option<&mut Flow> {
        let full = self.known.len() >= MOST;
        match self.known.entry(flow) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(_) if full => None,
            Entry::Vacant(place) => {
                self.turn.push(flow);
                Some(place.insert(Flow::new(now)))
            }
        }
    }

    /// Takes in what was seen of flows. Those that come back unasked have punted, unless they may
    /// have given their place to another.
    pub(super) fn see(&mut self, seen: &Digest, gives_places: bool) {
        let now = seen.host.time;
        for &(flow, samples) in &self.news(&seen.host, now, |flow| &mut flow.host) {
            let Some(flow) = self.known.get_mut(&flow) else { continue };
            flow.sampled(samples / 2.0, now);
            flow.alone = 0;
            flow.at_nic = false;
        }
        if let Some(nic) = &seen.nic {
            for &(id, samples) in &self.news(nic, now, |flow| &mut flow.wire) {
                let Some(flow) = self.known.get_mut(&id) else { continue };
                // Both sides sample what the host handles.
                flow.sampled(if flow.at_nic { samples } else { samples / 2.0 }, now);
                flow.alone = flow.alone.saturating_add(1);
                flow.at_nic |= flow.alone >= ALONE;
                if flow.at_nic && !flow.listed {
                    flow.listed = true;
                    self.there.push(id);
                }
            }
        }
        for &(flow, to_nic) in &seen.moved {
            self.moved(flow, to_nic, now, gives_places);
        }
    }

    /// New samples of the flows that a side told of.
    fn news(
        &mut self,
        report: &SideReport,
        now: u64,
        stands: fn(&mut Flow) -> &mut Stands,
    ) -> Vec<(FlowId, f64)> {
        let mut news = Vec::with_capacity(report.talkers.len());
        for &(direction, count, error) in &report.talkers {
            let id = flow_of(direction);
            let Some(flow) = self.entry(id, now) else { continue };
            let stand = &mut stands(flow)[(direction & 1) as usize];
            let before = std::mem::replace(stand, (count, error));
            // The side halves both when it has told them. Where the error is another, the flow was
            // out of sight meanwhile, and what is beyond the error is new.
            let known = if before.1 / 2 == error { before.0 / 2 } else { error };
            let fresh = count.saturating_sub(known.max(error));
            if fresh > 0 {
                news.push((id, f64::from(fresh)));
            }
        }
        news
    }

    fn moved(&mut self, id: FlowId, to_nic: bool, now: u64, gives_places: bool) {
        let Some(flow) = self.entry(id, now) else { return };
        flow.at_nic = to_nic;
        flow.alone = 0;
        if to_nic {
            flow.went = now;
            if !std::mem::replace(&mut flow.listed, true) {
                self.there.push(id);
            }
        } else {
            if flow.recalled <= flow.went && !gives_places {
                flow.punts = flow.punts.saturating_add(1);
            }
            flow.came = now;
        }
    }

    /// The flow is offered now.
    pub(super) fn offered(&mut self, flow: FlowId, now: u64) {
        if let Some(flow) = self.known.get_mut(&flow) {
            flow.offered = now;
        }
    }

    /// The flow is recalled now. One that ended at the NIC will never come, so it counts as gone.
    pub(super) fn recalled(&mut self, flow: FlowId, now: u64) {
        if let Some(flow) = self.known.get_mut(&flow) {
            flow.recalled = now;
            flow.at_nic = false;
            flow.alone = 0;
        }
    }

    /// Looks at the next flows in turn: forgets the host's that are silent.
    pub(super) fn forget(&mut self, now: u64, settings: &Settings) {
        for _ in 0..LOOKS.min(self.turn.len()) {
            if self.hand >= self.turn.len() {
                self.hand = 0;
            }
            let id = self.turn[self.hand];
            let Some(flow) = self.known.get_mut(&id) else {
                self.turn.swap_remove(self.hand);
                continue;
            };
            flow.fade(now);
            let silent = flow.slow < FORGOTTEN && flow.may_go(now, settings);
            if silent {
                self.known.remove(&id);
                self.forgotten.push(id);
                self.turn.swap_remove(self.hand);
                continue;
            }
            self.hand += 1;
        }
    }

    /// Looks at the next of the NIC's flows in turn: notes those that are cold.
    pub(super) fn look_there(&mut self, now: u64, settings: &Settings) {
        for _ in 0..LOOKS.min(self.there.len()) {
            if self.there_hand >= self.there.len() {
                self.there_hand = 0;
            }
            let id = self.there[self.there_hand];
            match self.known.get_mut(&id) {
                Some(flow) if flow.at_nic => {
                    if flow.may_come(now, settings) {
                        let rate = flow.rate(now).1;
                        self.note(rate, id);
                    }
                    self.there_hand += 1;
                }
                gone => {
                    if let Some(flow) = gone {
                        flow.listed = false;
                    }
                    self.there.swap_remove(self.there_hand);
                }
            }
        }
    }

    fn note(&mut self, rate: f64, flow: FlowId) {
        self.cold.retain(|(_, noted)| *noted != flow);
        let at = self.cold.partition_point(|(noted, _)| *noted <= rate);
        self.cold.insert(at, (rate, flow));
        self.cold.truncate(COLD);
    }

    /// The flow of the NIC that has the fewest packets, of those looked at, and how many a second
    /// at most; it is asked for once.
    pub(super) fn coldest(&mut self, now: u64, settings: &Settings) -> Option<(FlowId, f64)> {
        while !self.cold.is_empty() {
            let (noted, id) = self.cold.remove(0);
            let Some(flow) = self.known.get(&id) else { continue };
            let rate = flow.rate(now).1;
            if !flow.may_come(now, settings) {
                continue;
            }
            // It became busy since it was looked at.
            if rate > noted && self.cold.first().is_some_and(|next| next.0 < rate) {
                self.note(rate, id);
                continue;
            }
            return Some((id, rate));
        }
        None
    }

    /// A flow that is not taken after all.
    pub(super) fn keep(&mut self, flow: FlowId, rate: f64) {
        self.note(rate, flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive::settings::Admitted;

    const MS: u64 = 1_000_000;

    fn report(talkers: &[(FlowId, u32, u32)]) -> SideReport {
        SideReport { talkers: talkers.to_vec(), ..SideReport::default() }
    }

    #[test]
    fn rates_are_about_right_and_sides_are_found() {
        let mut flows = Flows::default();
        // Flow 10 is sampled three times a period at the NIC alone, flow 12 once a period at both.
        let (mut one, mut two) = (0, 0);
        for period in 1..=400 {
            (one, two) = (one / 2 + 3, two / 2 + 1);
            let host = SideReport { time: period * MS, ..report(&[(12, two, 0)]) };
            let nic = Some(report(&[(10, one, 0), (12, two, 0)]));
            flows.see(&Digest { host, nic, moved: Vec::new() }, false);
        }
        for (id, at_nic, samples) in [(10, true, 3.0), (12, false, 1.0)] {
            let flow = flows.get(id).unwrap();
            assert_eq!(flow.at_nic, at_nic, "{flow:?}");
            let (least, most) = flow.rate(400 * MS);
            let is = samples * 61e3;
            assert!(least < 1.05 * is && is < 1.1 * most && most < 1.4 * is, "{least} {is} {most}");
        }
    }

    #[test]
    fn a_flow_that_punts_rests_ever_longer() {
        let settings = Settings::new(Admitted::share(0, 1));
        let mut flows = Flows::default();
        let mut now = 1_000 * MS;
        for punts in 1..4 {
            flows.moved(14, true, now, false);
            flows.moved(14, false, now + MS, false);
            let flow = *flows.get(14).unwrap();
            let rest = settings.rest_ns << punts;
            assert!(!flow.may_go(now + rest, &settings), "{flow:?}");
            now += rest + MS;
            assert!(flow.may_go(now, &settings), "{flow:?}");
        }
    }
    #[test]
    fn both_directions_are_one_flow() {
        let mut flows = Flows::default();
        for period in 1..=400 {
            // Counts are halved when they are told.
            let side = SideReport { time: period * MS, ..report(&[(20, 3, 0), (21, 5, 0)]) };
            flows.see(&Digest { host: side.clone(), nic: Some(side), moved: Vec::new() }, false);
        }
        assert!(!flows.knows(21));
        let (least, most) = flows.get(20).unwrap().rate(400 * MS);
        // 2 and 3 new ones a period.
        let is = 5.0 * 61e3;
        assert!(least < 1.05 * is && is < 1.1 * most && most < 1.4 * is, "{least} {is} {most}");
    }
}
