//! The best allocation of a candidate at a rate.
//!
//! Latencies depend on the working set, which depends on the shares. So:
//!
//! 1. Search with the latencies of a working set that no allocation exceeds. The result is feasible
//!    under the true latencies.
//! 2. Search again with the latencies of the result, and so on, at most [`ROUNDS`] times or until
//!    nothing changes.
//! 3. The whole model judges each result; the best feasible one wins.

use super::candidate::Candidate;
use super::short::Short;
use super::{buckets, followed};
use crate::graph::Graph;
use crate::model::latency::Latencies;
use crate::model::limits::{limits, usable};
use crate::model::offer;
use crate::model::predict::judge;
use crate::model::terms::{is_at_nic, punts, terms};
use crate::model::{Allocation, Prediction, Resource, Setting};
use crate::search::{Problem, Proof, Share, Shortage, Solution};
use crate::vocabulary::{Kind, Place, Sides};

/// Maximum number of searches of one candidate.
const ROUNDS: usize = 6;

/// Tolerance of a limit: the error of floating-point sums.
pub(super) const SLACK: f64 = 1e-6;

/// An allocation with its prediction and proof.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) allocation: Allocation,
    pub(super) predicted: Prediction,
    pub(super) proof: Proof,
}

/// The choices of a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freedom {
    /// Everything.
    All,
    /// Places; the NIC owns all flows.
    Places,
    /// Places, and one share of all flows.
    PlacesAndShare,
    /// Shares of classes without any packets that punt, and no places.
    Flows,
    /// Shares of classes, and no places: packets punt.
    FlowsThatPunt,
}

impl Found {
    /// Whether no limit is exceeded, with its headroom.
    pub(super) fn holds(&self) -> bool {
        let mut used = self.predicted.utilisation.iter();
        used.all(|(resource, used)| *used <= usable(*resource) * (1.0 + SLACK))
    }
}

/// The best allocation, or the first exhausted resource if there is none.
pub(super) fn optimise(
    setting: &Setting<'_>,
    candidate: &Candidate,
    freedom: Freedom,
    stated: Option<Share>,
    mpps: f64,
) -> Result<Found, Short> {
    let mut latencies = Latencies::crowded(setting, candidate.sides, mpps);
    let mut best: Option<Found> = None;
    let mut short = Short { resource: Resource::NicCores, cause: None };
    let mut seen = Vec::new();
    let sets = sets(setting, candidate.sides, freedom);
    for _ in 0..ROUNDS {
        let problem = |owned: &[bool]| {
            problem(setting, candidate, (freedom, stated), owned, mpps, &latencies)
        };
        let solution = match followed::run(&sets, problem) {
            Ok(solution) => solution,
            Err(infeasible) => {
                if let Some(shortage) = scarcest(&infeasible.shortages) {
                    let limit = limits(setting)[shortage.resource];
                    short = Short::of(setting, limit, mpps);
                }
                if best.is_some() || !seen.is_empty() {
                    break;
                }
                // The crowded working set was infeasible; begin with the least that the NIC could
                // have.
                seen.push(Vec::new());
                let nothing = vec![0.0; setting.classes().len()];
                latencies = Latencies::at(setting, candidate.sides, &nothing, mpps);
                continue;
            }
        };
        let (found, its) = match candidate.sides {
            Sides::Dealt => buckets::best(setting, candidate, &solution, mpps),
            _ => judged(setting, candidate, &solution, mpps),
        };
        let key: Vec<u64> = found.allocation.shares.iter().map(|share| share.to_bits()).collect();
        let again = seen.contains(&key);
        seen.push(key);
        latencies = its;
        if found.holds() && best.as_ref().is_none_or(|best| better(&found, best)) {
            best = Some(found);
        } else if !found.holds() {
            short = Short::by(setting, &found.allocation, mpps);
        }
        if again {
            break;
        }
    }
    best.ok_or(short)
}

/// The shortage with the largest excess; the first among equals.
fn scarcest(shortages: &[Shortage]) -> Option<Shortage> {
    let excess = |of: &Shortage| of.takes / of.limit;
    shortages
        .iter()
        .copied()
        .reduce(|most, next| if excess(&next) > excess(&most) { next } else { most })
}

/// Whether `a` costs less, by more than rounding.
pub(super) fn better(a: &Found, b: &Found) -> bool {
    a.predicted.cost() < b.predicted.cost() - 1e-9
}

/// Sets of classes that the NIC may own parts of.
fn sets(setting: &Setting<'_>, sides: Sides, freedom: Freedom) -> Vec<Vec<bool>> {
    match (sides, freedom) {
        (Sides::Split, Freedom::All | Freedom::Flows | Freedom::FlowsThatPunt) => {
            offer::sets(setting.classes())
        }
        // Buckets are dealt whatever their flows are.
        (Sides::Split, Freedom::Places | Freedom::PlacesAndShare)
        | (Sides::HostOnly | Sides::NicOnly | Sides::Dealt, _) => {
            vec![vec![true; setting.classes().len()]]
        }
    }
}

/// The problem of a candidate in which the NIC owns parts of some classes.
fn problem(
    setting: &Setting<'_>,
    candidate: &Candidate,
    (freedom, stated): (Freedom, Option<Share>),
    owned: &[bool],
    mpps: f64,
    latencies: &Latencies,
) -> Problem {
    let graph = setting.graph();
    let no_places = matches!(freedom, Freedom::Flows | Freedom::FlowsThatPunt);
    let place = |switch: usize| {
        let Some(state) = graph.states.get(switch) else {
            let handler = graph.chain.get(switch - graph.states.len());
            let at_host = handler.is_some_and(|handler| handler.at_host).then_some(false);
            return at_host.or(no_places.then_some(true));
        };
        let pinned = candidate.pinned.get(&state.name).map(|place| is_at_nic(*place));
        let is_value = matches!(state.kind, Kind::Singleton | Kind::PerBucket);
        // Where places are no choice, nothing is fetched.
        let fixed = if is_value { state.region.is_some().then_some(false) } else { Some(true) };
        pinned.or(if no_places { fixed } else { None })
    };
    let shares: Vec<f64> = owned.iter().map(|owned| f64::from(u8::from(*owned))).collect();
    let after = offer::after(candidate.sides, setting.classes(), &shares);
    let mut problem = terms(setting, mpps, latencies, (candidate.sides, after), &place);
    let rows = limits(setting);
    for (amount, row) in problem.limits.iter_mut().zip(&rows) {
        *amount *= usable(row.resource);
    }
    let off = problem.switches.iter().enumerate().filter(|(_, s)| s.fixed == Some(false));
    let off = off.fold(0_u128, |off, (switch, _)| off | 1 << switch);
    for (number, class) in problem.classes.iter_mut().enumerate() {
        let Share::UpTo(up_to) = class.share else { continue };
        let punts = punts(setting, number, off);
        class.share = match freedom {
            Freedom::Places => Share::Exactly(1.0),
            Freedom::Flows if punts => Share::Exactly(0.0),
            _ => match stated {
                Some(Share::UpTo(most)) => Share::UpTo(most.min(up_to)),
                Some(exactly @ Share::Exactly(_)) => exactly,
                None => Share::UpTo(up_to),
            },
        };
    }
    problem
}

/// The result, and the latencies that follow from it.
pub(super) fn judged(
    setting: &Setting<'_>,
    candidate: &Candidate,
    solution: &Solution,
    mpps: f64,
) -> (Found, Latencies) {
    let allocation = allocation(candidate, setting.graph(), &solution.on, &solution.shares);
    let (predicted, latencies) = judge(setting, &allocation, mpps);
    // The search used the latencies of the previous result, so the predicted cost caps its bound.
    let bound = solution.proof.bound.min(predicted.cost());
    (Found { allocation, predicted, proof: Proof { bound, ..solution.proof } }, latencies)
}

/// Switches and shares in the terms of plans.
fn allocation(candidate: &Candidate, graph: &Graph, on: &[bool], shares: &[f64]) -> Allocation {
    let places = graph.states.iter().zip(on).map(|(state, on)| {
        let place = match (on, state.kind) {
            (false, _) => Place::Host,
            (true, Kind::PerBucket) if candidate.sides == Sides::Dealt => Place::Divided,
            (true, Kind::Keyed) => Place::Travels,
            (true, Kind::Singleton) if candidate.sides == Sides::Split => Place::Fetched,
            (true, Kind::Singleton | Kind::PerBucket) => Place::Nic,
            (true, Kind::Commutative | Kind::ReadMostly) => Place::Replica,
        };
        (state.name.clone(), place)
    });
    let handlers = graph.chain.iter().zip(&on[graph.states.len()..]);
    let at_host = handlers.filter(|(_, on)| !**on).map(|(handler, _)| handler.name.clone());
    Allocation {
        sides: candidate.sides,
        places: places.collect(),
        host_handlers: at_host.collect(),
        group: candidate.group.clone(),
        shares: shares.to_vec(),
        unmatched: candidate.unmatched,
    }
}
