//! The opposite choice and its cost.
//!
//! A state is pinned to the other place, and everything else is planned again. A handler or a class
//! of flows is moved alone, because the search has no pin for it. If a subject has no choice while
//! both sides run packets, it is compared with one-sided plans. If one side runs everything, it is
//! compared with a split.

use super::subject::{Standing, Subject};
use super::{Case, Planner};
use crate::model::{Allocation, Prediction, Resource};
use crate::optimise::Planned;
use crate::placement::allowed_places;
use crate::statement::Stated;
use crate::vocabulary::{Place, Sides};

/// Result of the opposite choice.
#[derive(Clone, Debug, PartialEq)]
pub enum NextBest {
    /// There is no other choice; the string says why.
    NoChoice(String),
    /// The opposite choice is feasible.
    Possible {
        /// Standing of the subject under that choice.
        standing: Standing,
        /// Treatment of everything else.
        rest: Rest,
        /// The rate of the prediction, in million packets a second.
        mpps: f64,
        /// The model's prediction.
        predicted: Prediction,
    },
    /// The opposite choice is not feasible.
    Refused {
        /// Standing of the subject under that choice.
        standing: Standing,
        /// Overloaded resources, each with its utilisation.
        over: Vec<(Resource, f64)>,
        /// Other reasons for the refusal: one sentence each.
        because: Vec<String>,
    },
}

/// Treatment of everything else when a subject moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It was planned again.
    PlannedAgain,
    /// It was kept.
    Kept,
    /// Places were kept, and the host owns every flow.
    FlowsToHost,
}

/// The opposite choice for a subject.
pub fn run(planner: &dyn Planner, case: &Case, planned: &Planned, subject: &Subject) -> NextBest {
    match subject {
        Subject::State(name) => state(planner, case, planned, name),
        Subject::Handler(_) | Subject::Class(..) => all_or_nothing(planner, case, planned, subject)
            .unwrap_or_else(|| match subject {
                Subject::Class(number, _) => class(planner, case, planned, *number),
                _ => handler(planner, case, planned, subject.name()),
            }),
    }
}

/// Pins a state to each other place that its kind allows, and keeps the plan with the fewest host
/// cores.
fn state(planner: &dyn Planner, case: &Case, planned: &Planned, name: &str) -> NextBest {
    let Some(node) = case.graph.state(name) else {
        return NextBest::NoChoice(format!("`{name}` is not a state of the program"));
    };
    let subject = Subject::State(name.to_owned());
    let today = subject.standing(planned);
    let others = allowed_places(node).iter().filter(|place| Standing::At(**place) != today);
    let tried: Vec<NextBest> =
        others.map(|place| pinned(planner, case, &subject, *place)).collect();
    let tried = if tried.is_empty() { one_sided(planner, case, planned, &subject) } else { tried };
    cheapest(tried).unwrap_or_else(|| {
        NextBest::NoChoice(format!("every plan has a {} state there", node.kind))
    })
}

/// The feasible choice with the fewest host cores; without one, the first refusal.
fn cheapest(tried: Vec<NextBest>) -> Option<NextBest> {
    let best = tried.iter().filter_map(|next| Some((cost(next)?, next)));
    let best = best.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, next)| next.clone());
    best.or_else(|| tried.into_iter().next())
}

/// One-sided plans in which the subject has another standing.
fn one_sided(
    planner: &dyn Planner,
    case: &Case,
    planned: &Planned,
    subject: &Subject,
) -> Vec<NextBest> {
    let sides = [Sides::HostOnly, Sides::NicOnly].into_iter();
    sides
        .filter(|sides| *sides != planned.allocation.sides)
        .filter_map(|sides| sided(planner, case, planned, subject, sides))
        .collect()
}

/// A plan with other sides; `None` if the subject's standing stays the same.
fn sided(
    planner: &dyn Planner,
    case: &Case,
    planned: &Planned,
    subject: &Subject,
    sides: Sides,
) -> Option<NextBest> {
    let mut case = case.clone();
    case.statement.sides = sides;
    case.statement.target.iter_mut().for_each(|target| target.any_sides = false);
    case.statement.nic_buckets = None;
    if sides != Sides::Split {
        // Other plans have no choice to state.
        case.statement.places.clear();
        case.statement.nic_share = None;
    }
    match planner.probe(&case) {
        Ok(other) => {
            let standing = subject.standing(&other);
            let (mpps, predicted) = (other.mpps, other.predicted);
            (standing != subject.standing(planned)).then_some(NextBest::Possible {
                standing,
                rest: Rest::PlannedAgain,
                mpps,
                predicted,
            })
        }
        Err(refusal) => {
            let standing = elsewhere(subject, sides)?;
            let (over, because) = (Vec::new(), refusal.sentences());
            (standing != subject.standing(planned)).then_some(NextBest::Refused {
                standing,
                over,
                because,
            })
        }
    }
}

/// Standing of a subject if one side ran everything.
fn elsewhere(subject: &Subject, sides: Sides) -> Option<Standing> {
    Some(match (subject, sides) {
        (_, Sides::Split | Sides::Dealt) => return None,
        (Subject::State(_), Sides::HostOnly) => Standing::At(Place::Host),
        (Subject::State(_), Sides::NicOnly) => Standing::At(Place::Nic),
        (Subject::Handler(_), Sides::HostOnly) => Standing::HostAlone,
        (Subject::Handler(_), Sides::NicOnly) => Standing::NicAlone,
        (Subject::Class(..), Sides::HostOnly) => Standing::NoneOwned,
        (Subject::Class(..), Sides::NicOnly) => Standing::AllOwned,
    })
}

fn pinned(planner: &dyn Planner, case: &Case, subject: &Subject, place: Place) -> NextBest {
    let mut case = case.clone();
    // Line 0: the place comes from no file.
    case.statement.places.insert(subject.name().to_owned(), Stated { what: place, line: 0 });
    case.statement.sides = Sides::Split;
    match planner.probe(&case) {
        Ok(planned) => NextBest::Possible {
            standing: Standing::At(place),
            rest: Rest::PlannedAgain,
            mpps: planned.mpps,
            predicted: planned.predicted,
        },
        Err(refusal) => {
            let (standing, over) = (Standing::At(place), Vec::new());
            NextBest::Refused { standing, over, because: refusal.sentences() }
        }
    }
}

/// Host cores of a feasible choice.
fn cost(next: &NextBest) -> Option<f64> {
    match next {
        NextBest::Possible { predicted, .. } => Some(predicted.host_cores),
        NextBest::NoChoice(_) | NextBest::Refused { .. } => None,
    }
}

/// Moves a handler to the host alone, or from the host alone to both sides.
fn handler(planner: &dyn Planner, case: &Case, planned: &Planned, name: &str) -> NextBest {
    let mut allocation = planned.allocation.clone();
    let standing = if allocation.host_handlers.iter().any(|handler| handler == name) {
        allocation.host_handlers.retain(|handler| handler != name);
        Standing::EitherSide
    } else {
        // In chain order, as planning lists them.
        let chain = case.graph.chain.iter().map(|handler| &handler.name);
        let moved = |at: &&String| *at == name || allocation.host_handlers.contains(*at);
        allocation.host_handlers = chain.filter(moved).cloned().collect();
        Standing::HostAlone
    };
    let kept = moved(planner, case, planned, &allocation, standing, Rest::Kept);
    if standing == Standing::EitherSide {
        return kept;
    }
    // If every packet needs the host, host-owned flows save each packet a useless run at the NIC.
    allocation.shares.fill(0.0);
    let given = moved(planner, case, planned, &allocation, standing, Rest::FlowsToHost);
    cheapest(vec![kept.clone(), given]).unwrap_or(kept)
}

/// Gives a class to the host if the NIC owns a part of it, and to the NIC otherwise.
fn class(planner: &dyn Planner, case: &Case, planned: &Planned, number: usize) -> NextBest {
    let mut allocation = planned.allocation.clone();
    let Some(share) = allocation.shares.get_mut(number) else {
        return NextBest::NoChoice("the plan has no such class".to_owned());
    };
    let standing = if *share > 0.0 { Standing::NoneOwned } else { Standing::AllOwned };
    *share = if *share > 0.0 { 0.0 } else { 1.0 };
    moved(planner, case, planned, &allocation, standing, Rest::Kept)
}

/// If one side runs every packet, the alternatives are a split and the other side.
fn all_or_nothing(
    planner: &dyn Planner,
    case: &Case,
    planned: &Planned,
    subject: &Subject,
) -> Option<NextBest> {
    if planned.allocation.sides == Sides::Split {
        return None;
    }
    let mut tried = one_sided(planner, case, planned, subject);
    tried.extend(sided(planner, case, planned, subject, Sides::Split));
    Some(
        cheapest(tried)
            .unwrap_or_else(|| NextBest::NoChoice("every other plan has it there too".to_owned())),
    )
}

/// Predicts an allocation at today's rate. An overloaded resource makes it a refusal.
fn moved(
    planner: &dyn Planner,
    case: &Case,
    planned: &Planned,
    allocation: &Allocation,
    standing: Standing,
    rest: Rest,
) -> NextBest {
    let mpps = planned.mpps;
    let predicted = planner.predict(case, allocation, mpps);
    // The tolerance is for rounding.
    let uses = predicted.utilisation.iter().map(|(resource, used)| (*resource, *used));
    let over: Vec<(Resource, f64)> = uses.filter(|(_, used)| *used > 1.0 + 1e-6).collect();
    if !over.is_empty() {
        return NextBest::Refused { standing, over, because: predicted.unstable };
    }
    NextBest::Possible { standing, rest, mpps, predicted }
}
