//! Advice about a plan. Each answer comes from a second plan: the cost of the next-best choice, the
//! change that would move a subject, the effect of other traffic.
//!
//! | module | contents |
//! | --- | --- |
//! | [`subject`] | a state, a handler or a class of flows, and its standing in a plan |
//! | [`change`] | another case: more flows, a higher rate, less memory |
//! | [`next_best`] | the plan with the opposite choice |
//! | [`turning`] | the least change that moves a subject |
//! | [`sensitivity`] | the plan under other traffic |
//! | [`curve`] | host cores over throughput |
//!
//! All of it is pure: the caller passes the planner. [`Engine`] is Cora's own planning.

pub mod change;
pub mod curve;
mod engine;
pub mod next_best;
pub mod sensitivity;
pub mod subject;
#[cfg(test)]
pub(crate) mod tests;
pub mod turning;

pub use engine::Engine;

use thiserror::Error;

use crate::demand::Measurement;
use crate::graph::Graph;
use crate::model::{Allocation, Prediction, Steering};
use crate::nic::NicProfile;
use crate::optimise::{Baseline, CurvePoint, Planned};
use crate::statement::{Ask, Statement};
use crate::traffic::Traffic;

use self::next_best::NextBest;
use self::subject::{Standing, Subject};
use self::turning::Turning;

/// All inputs of a plan.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program.
    pub graph: Graph,
    /// The target machine.
    pub nic: NicProfile,
    /// The traffic.
    pub traffic: Traffic,
    /// Counts from a run of the program, if there was one.
    pub measurement: Option<Measurement>,
    /// Decisions that the plan file states; the search does not change them.
    pub statement: Statement,
    /// How packets of the host's flows reach the host.
    pub steering: Steering,
    /// The request: a rate, or a number of host cores.
    pub ask: Ask,
}

/// Why a case has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", faults.iter().map(|fault| format!("{}; {}", fault.what, fault.cure)).collect::<Vec<_>>().join("\n"))]
pub struct Refusal {
    /// All faults of the case. Never empty.
    pub faults: Vec<RefusedFor>,
}

/// One fault of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedFor {
    /// The fault, in a sentence.
    pub what: String,
    /// The remedy.
    pub cure: String,
}

impl Refusal {
    /// The faults, one sentence each.
    pub fn sentences(self) -> Vec<String> {
        self.faults.into_iter().map(|fault| fault.what).collect()
    }

    /// The first sentence.
    pub fn first(self) -> String {
        self.sentences().into_iter().next().unwrap_or_default()
    }
}

/// A source of plans.
pub trait Planner {
    /// The best plan of a case, and the plan of every baseline.
    fn plan(&self, case: &Case) -> Result<Planned, Refusal>;

    /// The same plan, without the baselines and without the nearest feasible ask. It is cheaper,
    /// for searches that plan often.
    fn probe(&self, case: &Case) -> Result<Planned, Refusal>;

    /// The model's prediction for an allocation, at a rate in million packets a second.
    fn predict(&self, case: &Case, allocation: &Allocation, mpps: f64) -> Prediction;

    /// Host cores at these rates, for Cora and every baseline.
    fn curve(&self, case: &Case, rates: &[f64]) -> Vec<CurvePoint>;

    /// The highest rate of a baseline with at most `host_cores`, in million packets a second.
    fn highest(&self, case: &Case, baseline: Baseline, host_cores: f64) -> f64;
}

/// Reasons for the standing of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The subject.
    pub subject: Subject,
    /// Its standing in the plan.
    pub standing: Standing,
    /// Cost of the opposite choice.
    pub next_best: NextBest,
    /// Changes that would move the subject.
    pub turning: Vec<Turning>,
}

/// Explains a subject of the plan that `planner` made of `case`.
pub fn explain(
    planner: &dyn Planner,
    case: &Case,
    planned: &Planned,
    subject: &Subject,
) -> Explanation {
    Explanation {
        subject: subject.clone(),
        standing: subject.standing(planned),
        next_best: next_best::run(planner, case, planned, subject),
        turning: turning::run(planner, case, planned, subject),
    }
}
