//! The flows that the controller knows: their packet rates, their sides, and their rests between
//! moves.
//!
//! The NIC samples every packet of the wire, the host only packets that it handles. So a flow that
//! both see belongs to the host, and one that only the NIC sees belongs to the NIC. The host also
//! reports the flows that it handed over.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ahash::RandomState;
use cora_runtime::telemetry::SAMPLED;

use super::digest::{Digest, FlowId, SideReport, flow_of};
use super::number::{fading, real};
use super::settings::Settings;

/// Time constants of a flow's rate (ns): one is quick, one is accurate.
const QUICK: f64 = 15e6;
const SLOW: f64 = 1_500e6;
/// Assumed age of a flow at its first sample (ns).
const BEFORE: f64 = 40e6;
/// Most known flows; beyond that no new one is added.
const MOST: usize = 1 << 17;
/// Flows examined per period: of all flows, for forgetting; of the NIC's, for leaving.
const LOOKS: usize = 24;
/// Most candidates for leaving.
const COLD: usize = 64;
/// A flow of the host with fewer samples than this left is forgotten.
const FORGOTTEN: f64 = 0.05;
/// This many samples at the NIC, and none at the host meanwhile, make a flow the NIC's.
const ALONE: u8 = 6;
/// Punts of a flow multiply its rest by a power of two up to this.
const BACK_OFF: u8 = 6;

/// The count and error of a flow in the last report.
type Stand = (u32, u32);
/// The counts of both directions.
type Stands = [Stand; 2];

/// The controller's record of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) at_nic: bool,
    /// Whether the list of the NIC's flows has it.
    listed: bool,
    /// Samples, decayed.
    quick: f64,
    slow: f64,
    updated: u64,
    since: u64,
    wire: Stands,
    host: Stands,
    /// Samples at the NIC since the last at the host.
    alone: u8,
    /// Times of its offer, its arrival at the NIC, its recall and its return; 0 if never.
    offered: u64,
    went: u64,
    recalled: u64,
    came: u64,
    /// Returns without a recall.
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

    /// Returns bounds on its packets per second, lower and upper, as far as samples tell.
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

    /// Returns whether it may be offered now.
    pub(super) fn may_go(&self, now: u64, settings: &Settings) -> bool {
        let rest = settings.rest_ns;
        let back_off = rest << self.punts.min(BACK_OFF);
        let past = |time: u64, rest: u64| time == 0 || now.saturating_sub(time) >= rest;
        !self.at_nic
            && past(self.offered, if self.went < self.offered { settings.again_ns } else { rest })
            && past(self.went, rest)
            && past(self.recalled.max(self.came), back_off)
    }

    /// Returns whether it may be recalled now.
    pub(super) fn may_come(&self, now: u64, settings: &Settings) -> bool {
        let since = self.went.max(self.offered);
        self.at_nic && now.saturating_sub(since) >= settings.stay_ns
    }
}

/// All known flows.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    // Nothing iterates over it: the order of its flows decides nothing.
    known: HashMap<FlowId, Flow, RandomState>,
    /// The same flows, for examination in turn.
    turn: Vec<FlowId>,
    hand: usize,
    /// Flows at the NIC, or there at their last examination: few among many, so that all are
    /// examined soon.
    there: Vec<FlowId>,
    there_hand: usize,
    /// Flows of the NIC with few packets, with upper bounds on their rates when examined.
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

    /// Returns whether this flow is known.
    pub(super) fn knows(&self, flow: FlowId) -> bool {
        self.known.contains_key(&flow)
    }

    /// Takes the flows that were forgotten since the last call.
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

    /// Adds an observation. Flows that return without a recall have punted, unless they may have
    /// given their place to another.
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
                // Both sides sample the packets that the host handles.
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

    /// Returns the new samples of the flows in a report.
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
            // The side halves both after each report. If the error differs, the flow was out of
            // sight meanwhile, and the count beyond the error is new.
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

    /// Notes that the flow is offered now.
    pub(super) fn offered(&mut self, flow: FlowId, now: u64) {
        if let Some(flow) = self.known.get_mut(&flow) {
            flow.offered = now;
        }
    }

    /// Notes that the flow is recalled now. One that ended at the NIC never comes: it is gone.
    pub(super) fn recalled(&mut self, flow: FlowId, now: u64) {
        if let Some(flow) = self.known.get_mut(&flow) {
            flow.recalled = now;
            flow.at_nic = false;
            flow.alone = 0;
        }
    }

    /// Examines the next flows in turn, and forgets the host's silent ones.
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

    /// Examines the next of the NIC's flows in turn, and notes the cold ones.
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

    /// Takes the flow of the NIC with the fewest packets, of those examined, with an upper bound on
    /// its rate.
    pub(super) fn coldest(&mut self, now: u64, settings: &Settings) -> Option<(FlowId, f64)> {
        while !self.cold.is_empty() {
            let (noted, id) = self.cold.remove(0);
            let Some(flow) = self.known.get(&id) else { continue };
            let rate = flow.rate(now).1;
            if !flow.may_come(now, settings) {
                continue;
            }
            // It became busy since its examination.
            if rate > noted && self.cold.first().is_some_and(|next| next.0 < rate) {
                self.note(rate, id);
                continue;
            }
            return Some((id, rate));
        }
        None
    }

    /// Keeps a flow that was not recalled after all.
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
            // Counts are halved after each report.
            let side = SideReport { time: period * MS, ..report(&[(20, 3, 0), (21, 5, 0)]) };
            flows.see(&Digest { host: side.clone(), nic: Some(side), moved: Vec::new() }, false);
        }
        assert!(!flows.knows(21));
        let (least, most) = flows.get(20).unwrap().rate(400 * MS);
        // 2 and 3 new samples a period.
        let is = 5.0 * 61e3;
        assert!(least < 1.05 * is && is < 1.1 * most && most < 1.4 * is, "{least} {is} {most}");
    }
}
