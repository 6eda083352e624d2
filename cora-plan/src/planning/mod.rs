//! From graph, profiles and an ask to a plan, with everything that reports say about it.
//!
//! 1. Every way of running that the statement allows is a candidate (`candidate`): host-only,
//!    nic-only, and a split for each key that flows can be owned by.
//! 2. The best allocation of each is searched (`optimise`). Latencies depend on shares, and the
//!    search takes them as given; so it is asked again with those of what it found, until that
//!    stays.
//! 3. The candidate with the fewest host cores is the plan; of equals the split, whose flows can
//!    move later.
//! 4. Asked for the highest rate, the rate is bisected (`rate`); so is the nearest feasible one
//!    when an ask can't be met.
//! 5. Baselines are the same with fewer choices (`baseline`).

mod baseline;
mod candidate;
mod curve;
mod error;
mod optimise;
mod rate;
mod run;
#[cfg(test)]
mod tests;

pub use baseline::highest;
pub use curve::{CurvePoint, curve};
pub use error::PlanningError;
pub use run::{alone, decide, predict, run};

use crate::demand::{Measurement, Origin};
use crate::graph::Graph;
use crate::model::{Allocation, Coefficients, Prediction, Steering};
use crate::nic::NicProfile;
use crate::search::Proof;
use crate::statement::Statement;
use crate::traffic::Traffic;

/// All that a plan follows from, except the ask.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The program.
    pub graph: &'a Graph,
    /// The NIC and its host.
    pub nic: &'a NicProfile,
    /// What comes.
    pub traffic: &'a Traffic,
    /// What running the program counted, if it was run.
    pub measurement: Option<&'a Measurement>,
    /// Pinned places, stated sides and share.
    pub statement: &'a Statement,
    /// How packets of the host's flows get there.
    pub steering: Steering,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// This rate, in million packets a second, with the fewest host cores.
    Rate(f64),
    /// The highest rate with so many host cores.
    HostCores(f64),
}

/// What planning found. Reports are made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What was asked for.
    pub ask: Ask,
    /// The rate that it is about, in million packets a second: the asked one, or the one that was
    /// found.
    pub mpps: f64,
    /// Name of the NIC profile.
    pub nic: String,
    /// Name of the traffic profile.
    pub traffic: String,
    /// Where the weights of paths are from.
    pub weighed: Origin,
    /// Where the numbers of instructions are from.
    pub counted: Origin,
    /// What was chosen.
    pub allocation: Allocation,
    /// What the model says of it.
    pub predicted: Prediction,
    /// What single things cost, by the model.
    pub coefficients: Coefficients,
    /// How far it is proven, for costs as the model has them at this allocation.
    pub proof: Proof,
    /// Milliseconds that the search took. The only figure that differs from run to run.
    pub ms: f64,
    /// What others would choose, under the same model and ask.
    pub baselines: Vec<BaselinePlan>,
}

/// A way of splitting that is not Cora's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    /// The host runs everything.
    HostOnly,
    /// The NIC runs everything.
    NicOnly,
    /// Each state has its place; all flows are treated alike.
    StateOnly,
    /// Each flow has its side, and runs there wholly; all states are treated alike.
    FlowOnly,
}

/// The best of one baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselinePlan {
    /// Which.
    pub baseline: Baseline,
    /// What it chooses, whether or not the ask can be met.
    pub allocation: Allocation,
    /// What the model says of it.
    pub predicted: Prediction,
    /// Whether it meets the ask.
    pub feasible: bool,
}

impl Baseline {
    /// Every baseline, in the order in which reports list them.
    pub const ALL: [Self; 4] = [Self::HostOnly, Self::NicOnly, Self::StateOnly, Self::FlowOnly];

    /// The word, as reports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::HostOnly => "host-only",
            Self::NicOnly => "nic-only",
            Self::StateOnly => "state-only",
            Self::FlowOnly => "flow-only",
        }
    }
}
