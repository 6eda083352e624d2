//! Advice about a plan, found by planning again: what the next best would cost, what would have to
//! change for something to move, how much the plan depends on the traffic.
//!
//! | module | what |
//! | --- | --- |
//! | [`subject`] | what can be asked about: a state, a handler, a class of flows; and where it stands in a plan |
//! | [`change`] | another case: more flows, a higher rate, less memory |
//! | [`next_best`] | the plan with the opposite choice |
//! | [`turning`] | the least change after which a subject stands elsewhere |
//! | [`sensitivity`] | the plan under other traffic |
//! | [`curve`] | host cores against throughput |
//!
//! All of it is pure: who plans is handed in. [`Engine`] is Cora's own planning.

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
use crate::planning::{Ask, Baseline, CurvePoint, Planned};
use crate::statement::Statement;
use crate::traffic::Traffic;

use self::next_best::NextBest;
use self::subject::{Standing, Subject};
use self::turning::Turning;

/// All that a plan is made from.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program.
    pub graph: Graph,
    /// What it runs on.
    pub nic: NicProfile,
    /// What it handles.
    pub traffic: Traffic,
    /// What running it counted, if it was run.
    pub measurement: Option<Measurement>,
    /// What is stated of the plan, and so not searched for.
    pub statement: Statement,
    /// How packets of the host's flows get there.
    pub steering: Steering,
    /// What is asked for.
    pub ask: Ask,
}

/// Why a case has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", faults.iter().map(|fault| format!("{}; {}", fault.what, fault.cure)).collect::<Vec<_>>().join("\n"))]
pub struct Refusal {
    /// All that speaks against it. Never empty.
    pub faults: Vec<RefusedFor>,
}

/// One thing that speaks against a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedFor {
    /// What, in a sentence.
    pub what: String,
    /// What would be right.
    pub cure: String,
}

impl Refusal {
    /// What speaks against it, one sentence each.
    pub fn sentences(self) -> Vec<String> {
        self.faults.into_iter().map(|fault| fault.what).collect()
    }

    /// The first of those.
    pub fn first(self) -> String {
        self.sentences().into_iter().next().unwrap_or_default()
    }
}

/// Who plans.
pub trait Planner {
    /// The best plan of a case, and what every baseline would do.
    fn plan(&self, case: &Case) -> Result<Planned, Refusal>;

    /// The same, without what baselines would do and without the nearest ask that can be met: for
    /// planning often.
    fn probe(&self, case: &Case) -> Result<Planned, Refusal>;

    /// What the model says of an allocation, at a rate in million packets a second.
    fn predict(&self, case: &Case, allocation: &Allocation, mpps: f64) -> Prediction;

    /// Host cores at these rates, for Cora and every baseline.
    fn curve(&self, case: &Case, rates: &[f64]) -> Vec<CurvePoint>;

    /// The highest rate of a baseline with at most so many host cores, in million packets a second.
    fn highest(&self, case: &Case, baseline: Baseline, host_cores: f64) -> f64;
}

/// Why something stands where it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What was asked about.
    pub subject: Subject,
    /// Where it stands.
    pub standing: Standing,
    /// What the opposite choice would cost.
    pub next_best: NextBest,
    /// What would have to change for it to stand elsewhere.
    pub turning: Vec<Turning>,
}

/// Explains a subject of a plan that `planner` made of `case`.
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
