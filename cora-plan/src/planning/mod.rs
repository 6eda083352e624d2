//! From graph, profiles and an ask to a plan, with everything that reports say about it.

use crate::demand::Origin;
use crate::model::{Allocation, Prediction};
use crate::search::Proof;

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
    /// The rate that it is about, in million packets a second: the asked one, or the one that was found.
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
