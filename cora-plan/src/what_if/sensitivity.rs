//! Sensitivity of a plan to the traffic: plans for other skew, other numbers of flows and another
//! share of first packets.

use super::change::Change;
use super::{Case, Planner, Refusal};
use crate::optimise::Planned;
use crate::vocabulary::{Place, Sides};

/// A plan under other traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The change of the traffic.
    pub change: Change,
    /// The plan, or the reason that there is none.
    pub outcome: Result<Outcome, String>,
}

/// Summary of a plan under other traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The planned rate, in million packets a second.
    pub mpps: f64,
    /// Host cores.
    pub host_cores: f64,
    /// Highest rate.
    pub ceiling_mpps: f64,
    /// Share of all packets in flows of the NIC, 0 to 1.
    pub owned: f64,
    /// States with another place than today.
    pub moved: Vec<(String, Place)>,
}

/// The changes to try.
pub const CHANGES: [Change; 8] = [
    Change::Skew(0.5),
    Change::Skew(1.25),
    Change::Flows(0.1),
    Change::Flows(8.0),
    Change::Flows(64.0),
    Change::Opens(0.25),
    Change::Opens(4.0),
    Change::Opens(16.0),
];

/// Plans again under each change.
pub fn run(planner: &dyn Planner, case: &Case, today: &Planned) -> Vec<Row> {
    CHANGES
        .into_iter()
        .map(|change| {
            let case = change.applied(case);
            let outcome = planner
                .probe(&case)
                .map(|planned| outcome(&case, today, &planned))
                .map_err(Refusal::first);
            Row { change, outcome }
        })
        .collect()
}

fn outcome(case: &Case, today: &Planned, planned: &Planned) -> Outcome {
    let places = planned.allocation.places.iter();
    let moved = places
        .filter(|(state, place)| today.allocation.places.get(*state) != Some(*place))
        .map(|(state, place)| (state.clone(), *place))
        .collect();
    Outcome {
        mpps: planned.mpps,
        host_cores: planned.predicted.host_cores,
        ceiling_mpps: planned.predicted.ceiling_mpps,
        owned: owned(case, planned),
        moved,
    }
}

/// Share of all packets in flows of the NIC, 0 to 1.
pub fn owned(case: &Case, planned: &Planned) -> f64 {
    let allocation = &planned.allocation;
    match allocation.sides {
        Sides::HostOnly => 0.0,
        Sides::NicOnly => 1.0,
        Sides::Split | Sides::Dealt => {
            let classes = case.traffic.classes(&allocation.group).iter();
            classes.zip(&allocation.shares).map(|(class, share)| class.share * share).sum()
        }
    }
}
