//! The plans of other approaches, under the same model.
//!
//! - host-only: the host runs everything behind a plain NIC, whose hardware hands frames to the
//!   host's queues. No core of the NIC works.
//! - behind-nic: the host runs everything, and the NIC's cores forward every packet.
//! - nic-only: the NIC runs everything.
//! - state-only: each state has its place, and all flows are treated alike. A packet punts if it
//!   needs a state at the host. No flow stays at the host; if the NIC can't take all of them, only
//!   behind-nic remains.
//! - flow-only: each flow has a side and runs there completely. An indivisible state is at the
//!   host, and flows that ever need it stay there. No state has a chosen place.
//!
//! The two splits may also become nic-only or behind-nic.

use super::allocation::{Found, Freedom, better, optimise};
use super::candidate::of;
use super::{Baseline, BaselinePlan, Inputs, rate, run};
use crate::model::predict::predict;
use crate::model::{Allocation, Steering};
use crate::vocabulary::{Place, Sides};

/// Every baseline at this rate.
pub(super) fn all(inputs: &Inputs<'_>, mpps: f64) -> Vec<BaselinePlan> {
    let plans = Baseline::ALL.into_iter().map(|baseline| {
        let plan = one(inputs, baseline, mpps);
        let inputs = steered(inputs, baseline);
        BaselinePlan { predicted: run::predict(&inputs, &plan.allocation, mpps), ..plan }
    });
    plans.collect()
}

/// The way of a baseline's packets.
fn steered<'a>(inputs: &Inputs<'a>, baseline: Baseline) -> Inputs<'a> {
    let steering = match baseline {
        // Hardware needs no rule to hand every frame to the host.
        Baseline::HostOnly => Steering::Rules,
        Baseline::HostBehindNic => Steering::Cores,
        Baseline::NicOnly | Baseline::StateOnly | Baseline::FlowOnly => inputs.steering,
    };
    Inputs { steering, ..*inputs }
}

/// The best plan of one baseline.
pub(super) fn one(inputs: &Inputs<'_>, baseline: Baseline, mpps: f64) -> BaselinePlan {
    let inputs = &steered(inputs, baseline);
    let (sides, freedom) = match baseline {
        Baseline::HostOnly | Baseline::HostBehindNic => (Sides::HostOnly, Freedom::All),
        Baseline::NicOnly => (Sides::NicOnly, Freedom::All),
        Baseline::StateOnly => (Sides::Split, Freedom::Places),
        Baseline::FlowOnly => (Sides::Split, Freedom::Flows),
    };
    // Both splits may also give the NIC everything, or nothing.
    let ways = match sides {
        Sides::Split => vec![sides, Sides::NicOnly, Sides::HostOnly],
        Sides::HostOnly | Sides::NicOnly | Sides::Dealt => vec![sides],
    };
    let found = ways.into_iter().filter_map(|sides| search(inputs, sides, freedom, mpps));
    let found = found.reduce(|best, found| if better(&found, &best) { found } else { best });
    match found {
        Some(Found { allocation, predicted, .. }) => {
            BaselinePlan { baseline, allocation, predicted, feasible: true }
        }
        None => infeasible(inputs, baseline, sides, mpps),
    }
}

/// The highest rate of a baseline with at most `host_cores`, in million packets a second; 0 if
/// there is none.
pub fn highest(inputs: &Inputs<'_>, baseline: Baseline, host_cores: f64) -> f64 {
    let within = |mpps| {
        let plan = one(inputs, baseline, mpps);
        plan.feasible && plan.predicted.host_cores <= host_cores + 1e-9
    };
    rate::search(rate::LOWEST, rate::HIGHEST, within).map_or(0.0, |border| border.below)
}

fn search(inputs: &Inputs<'_>, sides: Sides, freedom: Freedom, mpps: f64) -> Option<Found> {
    // Baselines follow the source's declarations: the user's pins are a choice within Cora.
    let mut best: Option<Found> = None;
    for candidate in of(inputs, sides) {
        let found = optimise(&candidate.setting(inputs), &candidate, freedom, None, mpps);
        if let Ok(found) = found
            && best.as_ref().is_none_or(|best| better(&found, best))
        {
            best = Some(found);
        }
    }
    best
}

/// A plan that can't meet the rate; its figures show its highest rate.
fn infeasible(inputs: &Inputs<'_>, baseline: Baseline, sides: Sides, mpps: f64) -> BaselinePlan {
    // An infeasible split is host-only, which was tried, and a handler may need the host.
    let is_host_only = sides == Sides::Split || inputs.graph.needs_host();
    let sides = if is_host_only { Sides::HostOnly } else { sides };
    let candidate = &of(inputs, sides)[0];
    let setting = candidate.setting(inputs);
    let allocation = Allocation {
        sides,
        places: candidate
            .pinned
            .iter()
            .map(|(state, place)| {
                (state.clone(), if sides == Sides::HostOnly { Place::Host } else { *place })
            })
            .collect(),
        host_handlers: Vec::new(),
        group: candidate.group.clone(),
        shares: vec![if sides == Sides::NicOnly { 1.0 } else { 0.0 }; setting.classes().len()],
        unmatched: candidate.unmatched,
    };
    let predicted = predict(&setting, &allocation, mpps);
    BaselinePlan { baseline, allocation, predicted, feasible: false }
}
