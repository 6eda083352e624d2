//! Choice of the flows that move: flows that relieve the NIC, flows that save the host most, and
//! flows that make room for these.
//!
//! Every packet that the NIC handles saves the host one. So of two flows, the one with more packets
//! earns more. Its cost to the NIC is the time beyond passing the packet on. A move must earn its
//! cost to both sides within the time in the settings.

use super::budget::Budget;
use super::decision::{Action, Decision};
use super::digest::{FlowId, SideReport, flow_of};
use super::flows::Flows;
use super::number::{fading, real};
use super::pressure::Pressure;
use super::reason::Reason;
use super::settings::{Costs, Settings};

/// Orders show in the NIC's reports after about this time (ns).
const SEEN_AFTER: f64 = 3e6;
/// Handling packets must cost the NIC more than passing them on by this part, or recalls do not
/// relieve it.
const RELIEVES: f64 = 0.15;
/// Interval between two notes that recalls don't help (ns).
const SAID_AGAIN: u64 = 1_000_000_000;

/// The input of a choice.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) time: u64,
    pub(super) settings: &'a Settings,
    pub(super) costs: Costs,
    /// The latest report of each side.
    pub(super) host_report: &'a SideReport,
    pub(super) nic_report: &'a SideReport,
    /// Most flows at the NIC.
    pub(super) capacity: f64,
    /// Packet rate now, relative to the mean rate that flows' rates show.
    pub(super) growth: f64,
    /// The sides exchange flows without single orders.
    pub(super) by_themselves: bool,
}

impl Scene<'_> {
    /// Returns the NIC's cost of a packet beyond passing it on (ns).
    fn beyond(&self) -> f64 {
        self.costs.nic_packet - self.costs.nic_pass
    }

    /// Returns whether recalls relieve the NIC.
    pub(super) fn recalls_relieve(&self) -> bool {
        self.beyond() > RELIEVES * self.costs.nic_packet
    }

    /// Returns whether even offers relieve the NIC, since passing on costs more than handling.
    fn offers_relieve(&self) -> bool {
        -self.beyond() > RELIEVES * self.costs.nic_packet
    }
}

/// The state of choosing.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) flows: Flows,
    pub(super) budget: Budget,
    pub(super) host: Pressure,
    pub(super) nic: Pressure,
    /// Flows ordered to the NIC less flows ordered away, as far as reports do not show them yet.
    arriving: f64,
    /// Time of the last note that recalls don't help.
    said: Option<u64>,
}

impl Choice {
    pub(super) fn new() -> Self {
        Self {
            flows: Flows::default(),
            budget: Budget::new(),
            host: Pressure::default(),
            nic: Pressure::default(),
            arriving: 0.0,
            said: None,
        }
    }

    /// Advances by this time (ns).
    pub(super) fn pass(&mut self, time: f64) {
        self.arriving *= fading(time, SEEN_AFTER);
    }

    /// Chooses the flows that move now.
    pub(super) fn choose(&mut self, scene: &Scene<'_>, decision: &mut Decision) {
        if self.nic.is_over() && !scene.offers_relieve() {
            self.relieve(scene, decision);
        } else if !scene.by_themselves {
            self.gain(scene, decision);
        }
    }

    fn relieve(&mut self, scene: &Scene<'_>, decision: &mut Decision) {
        let (ahead, high) = (self.nic.ahead(), self.nic.high());
        let (beyond, host) = (scene.beyond() / 1e9, scene.costs.host_packet / 1e9);
        // Packets a second that should come back, and that the host can take.
        let (wanted, takes) = (self.nic.excess() / beyond, self.host.headroom() / host);
        let cause = if !scene.recalls_relieve() {
            Some("passing packets on costs it about as much as handling them")
        } else if takes <= 0.0 {
            Some("the host has as much to do")
        } else {
            None
        };
        if let Some(cause) = cause {
            if self.said.is_none_or(|said| scene.time.saturating_sub(said) >= SAID_AGAIN) {
                self.said = Some(scene.time);
                decision.why.push(Reason::NoRelief { ahead, high, cause }.to_string());
            }
            return;
        }
        let chosen = self.lightening(scene, wanted.min(takes));
        let mut relieved = 0.0;
        let mut flows = 0;
        for (rate, flow) in chosen {
            if !self.budget.take() {
                break;
            }
            self.recall(flow, scene.time, decision);
            relieved += rate;
            flows += 1;
        }
        if flows > 0 {
            let part = relieved * beyond;
            self.nic.expect(-part);
            self.host.expect(relieved * host);
            decision.why.push(Reason::Relief { ahead, high, flows, part }.to_string());
        }
    }

    /// Returns flows of the NIC with about `wanted` packets a second together, as few as possible.
    fn lightening(&self, scene: &Scene<'_>, wanted: f64) -> Vec<(f64, FlowId)> {
        let mut there: Vec<(f64, FlowId)> = Vec::new();
        for (direction, ..) in &scene.nic_report.talkers {
            let id = flow_of(*direction);
            let Some(flow) = self.flows.get(id) else { continue };
            if flow.may_come(scene.time, scene.settings) {
                let (least, most) = flow.rate(scene.time);
                there.push((f64::midpoint(least, most) * scene.growth, id));
            }
        }
        busiest_first(&mut there);
        let mut left = wanted;
        let mut chosen = Vec::new();
        for &(rate, id) in &there {
            if left <= 0.0 {
                break;
            }
            if rate <= 1.5 * left {
                left -= rate;
                chosen.push((rate, id));
            }
        }
        if chosen.is_empty()
            && let Some(&least) = there.last()
            && least.0 * scene.costs.host_packet / 1e9 < self.host.headroom()
        {
            chosen.push(least);
        }
        chosen
    }

    fn gain(&mut self, scene: &Scene<'_>, decision: &mut Decision) {
        let (beyond, urgent) = (scene.beyond().max(0.0) / 1e9, self.host.is_over());
        let mut headroom = self.nic.headroom();
        if urgent {
            headroom += self.nic.reserve();
        }
        let mut places = scene.capacity - real(scene.nic_report.flows) - self.arriving;
        let (mut flows, mut offered, mut waiting) = (0, 0.0, Vec::new());
        for (rate, flow) in self.earners(scene) {
            let part = rate * beyond;
            if part > 0.0 && part > headroom {
                continue;
            }
            if places < 1.0 {
                waiting.push(rate);
                continue;
            }
            if !self.budget.take() {
                break;
            }
            places -= 1.0;
            headroom -= part;
            offered += rate;
            flows += 1;
            self.flows.offered(flow, scene.time);
            decision.actions.push(Action::Offer(flow));
        }
        if flows > 0 {
            self.arriving += real(flows as u64);
            self.nic.expect(offered * beyond);
            let saved = offered * scene.costs.host_packet / 1e9;
            self.host.expect(-saved);
            let reason = Reason::Gain { flows, rate: offered, saved, urgent };
            decision.why.push(reason.to_string());
        }
        self.make_room(scene, &waiting, decision);
    }

    /// Returns flows of the host with a move that pays, the busiest first, with a lower bound on
    /// their packets a second.
    fn earners(&self, scene: &Scene<'_>) -> Vec<(f64, FlowId)> {
        let paid = scene.costs.host_move + scene.costs.nic_move;
        let needed = paid / scene.costs.host_packet * 1e9 / real(scene.settings.payback_ns);
        let mut earners = Vec::new();
        for (direction, ..) in &scene.host_report.talkers {
            let id = flow_of(*direction);
            let Some(flow) = self.flows.get(id) else { continue };
            if flow.may_go(scene.time, scene.settings) {
                let (least, _) = flow.rate(scene.time);
                if least > needed {
                    earners.push((least, id));
                }
            }
        }
        busiest_first(&mut earners);
        earners
    }

    /// Recalls the flows that earn least, for flows that wait for a place with these rates. The
    /// latter are offered when the others are gone.
    fn make_room(&mut self, scene: &Scene<'_>, waiting: &[f64], decision: &mut Decision) {
        let (mut flows, mut rate) = (0, 0.0_f64);
        let mut instead = f64::MAX;
        for waits in waiting {
            let Some((flow, cold)) = self.flows.coldest(scene.time, scene.settings) else { break };
            if cold * scene.settings.better > *waits || !self.budget.take() {
                self.flows.keep(flow, cold);
                break;
            }
            self.recall(flow, scene.time, decision);
            flows += 1;
            rate = rate.max(cold);
            instead = instead.min(*waits);
        }
        if flows > 0 {
            decision.why.push(Reason::MakeRoom { flows, rate, instead }.to_string());
        }
    }

    fn recall(&mut self, flow: FlowId, time: u64, decision: &mut Decision) {
        self.flows.recalled(flow, time);
        self.arriving -= 1.0;
        decision.actions.push(Action::Recall(flow));
    }
}

/// Sorts in an order that depends on nothing else. A flow reported in both directions appears once.
fn busiest_first(flows: &mut Vec<(f64, FlowId)>) {
    flows.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    flows.dedup_by_key(|flow| flow.1);
}
