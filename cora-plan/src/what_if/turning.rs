//! The least change that moves a subject.
//!
//! 1. One quantity changes at a time (the ask, the number of flows, the NIC's memory), upwards and
//!    downwards.
//! 2. It is doubled (halved) until the new plan moves the subject, or until there is no plan.
//! 3. Between the last two values, bisection finds the turning point to within a hundredth.
//!
//! A subject that moves there and back within one doubling is missed.

use super::change::Change;
use super::subject::{Standing, Subject};
use super::{Case, Planner};
use crate::optimise::Planned;
use crate::statement::Ask;

/// A quantity to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// The asked rate in million packets a second, or the number of host cores if [`Ask`] gives
    /// host cores.
    Ask,
    /// Number of concurrent flows.
    Flows,
    /// The NIC's memory for states, in bytes.
    NicMemory,
}

/// Effect of a change in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Turning {
    /// The changed quantity.
    pub knob: Knob,
    /// Whether it grows.
    pub up: bool,
    /// Its value today, in its own unit.
    pub today: f64,
    /// The first effect.
    pub turn: Turn,
}

/// The first effect of a growing change.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// The subject moves.
    Moves {
        /// The value of the quantity at that point.
        at: f64,
        /// The new standing.
        to: Standing,
    },
    /// There is no plan from this value on.
    NoPlan {
        /// The value.
        at: f64,
        /// The first sentence of the refusal.
        because: String,
    },
    /// No effect up to this value.
    Never {
        /// The last value tried.
        tried: f64,
    },
}

/// Number of doublings or halvings: a factor of 1024 in all.
const DOUBLINGS: i32 = 10;

/// Bisection stops at this quotient of its two ends.
const CLOSE: f64 = 1.01;

/// All turning points of a subject, each knob up and down.
pub fn run(
    planner: &dyn Planner,
    case: &Case,
    planned: &Planned,
    subject: &Subject,
) -> Vec<Turning> {
    let standing = subject.standing(planned);
    let mpps = planned.mpps;
    let probe = Probe { planner, case, subject, standing, mpps };
    let knobs = [Knob::Ask, Knob::Flows, Knob::NicMemory];
    let ways = knobs.into_iter().flat_map(|knob| [(knob, true), (knob, false)]);
    ways.map(|(knob, up)| Turning {
        knob,
        up,
        today: knob.today(case, planned.mpps),
        turn: probe.turn(knob, up),
    })
    .collect()
}

impl Knob {
    /// Its value in a case that is planned for this rate.
    pub fn today(self, case: &Case, mpps: f64) -> f64 {
        match (self, &case.ask) {
            (Self::Ask, Ask::Rate(mpps)) => *mpps,
            (Self::Ask, Ask::HostCores(cores)) => *cores,
            (Self::Flows, _) => case.traffic.flows("FiveTuple", mpps),
            (Self::NicMemory, _) => case.nic.nic.state_bytes.value,
        }
    }

    fn change(self, factor: f64) -> Change {
        match self {
            Self::Ask => Change::Ask(factor),
            Self::Flows => Change::Flows(factor),
            Self::NicMemory => Change::NicMemory(factor),
        }
    }
}

struct Probe<'a> {
    planner: &'a dyn Planner,
    case: &'a Case,
    subject: &'a Subject,
    standing: Standing,
    /// The planned rate.
    mpps: f64,
}

/// Effect of one changed case.
enum Found {
    Same,
    Moved(Standing),
    NoPlan(String),
}

impl Probe<'_> {
    fn turn(&self, knob: Knob, up: bool) -> Turn {
        let today = knob.today(self.case, self.mpps);
        let mut near = 1.0;
        for step in 1..=DOUBLINGS {
            let far = if up { f64::from(1 << step) } else { 1.0 / f64::from(1 << step) };
            match self.at(knob, far) {
                Found::Same => near = far,
                found => return self.between(knob, near, far, found),
            }
        }
        Turn::Never { tried: today * near }
    }

    /// Bisects between a factor without effect and a factor with one.
    fn between(&self, knob: Knob, mut near: f64, mut far: f64, mut found: Found) -> Turn {
        while (far / near).max(near / far) > CLOSE {
            let middle = (near * far).sqrt();
            match self.at(knob, middle) {
                Found::Same => near = middle,
                other => (far, found) = (middle, other),
            }
        }
        let at = knob.today(self.case, self.mpps) * far;
        match found {
            Found::Moved(to) => Turn::Moves { at, to },
            Found::NoPlan(because) => Turn::NoPlan { at, because },
            Found::Same => Turn::Never { tried: at },
        }
    }

    fn at(&self, knob: Knob, factor: f64) -> Found {
        match self.planner.probe(&knob.change(factor).applied(self.case)) {
            Ok(planned) => match self.subject.standing(&planned) {
                standing if standing == self.standing => Found::Same,
                standing => Found::Moved(standing),
            },
            Err(refusal) => Found::NoPlan(refusal.first()),
        }
    }
}
