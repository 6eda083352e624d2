//! From graph, profiles and an ask to a plan, with all data for reports.
//!
//! 1. Every way to run that the statement allows is a candidate (`candidate`): host-only, nic-only,
//!    dealt, and a split for each ownership key.
//! 2. The best allocation of each is searched (`allocation`). Latencies depend on shares, but the
//!    search takes them as given. So it is repeated with the latencies of its result until that is
//!    stable.
//! 3. The candidate with the fewest host cores is the plan; among equals the split, because its
//!    flows can move later.
//! 4. For the highest rate, the rate is bisected (`rate`). So is the nearest feasible rate if an
//!    ask can't be met.
//! 5. Baselines are the same search with fewer choices (`baseline`); stronger ones, for the
//!    evaluation protocol, have all ways of steering (`fair`).

mod allocation;
mod baseline;
mod buckets;
mod candidate;
mod curve;
mod error;
mod expected;
mod fair;
mod followed;
mod rate;
mod run;
mod short;
#[cfg(test)]
mod tests;

pub use baseline::highest;
pub use curve::{CurvePoint, curve};
pub use error::PlanningError;
pub use expected::{allocated, expected};
pub use fair::{Fair, cora, fair, highest_of, later, plain};
pub use run::{alone, decide, predict, run};

use crate::demand::{Measurement, Origin};
use crate::graph::Graph;
use crate::model::{Allocation, Coefficients, Prediction, Steering};
use crate::nic::NicProfile;
use crate::search::Proof;
use crate::statement::{Ask, Statement};
use crate::traffic::Traffic;

/// All inputs of a plan except the ask.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The program.
    pub graph: &'a Graph,
    /// The NIC and its host.
    pub nic: &'a NicProfile,
    /// The traffic.
    pub traffic: &'a Traffic,
    /// Counts from a run of the program, if there was one.
    pub measurement: Option<&'a Measurement>,
    /// Pinned places, stated sides and share.
    pub statement: &'a Statement,
    /// How packets of the host's flows reach the host.
    pub steering: Steering,
}

/// The result of planning, for reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The request.
    pub ask: Ask,
    /// The planned rate, in million packets a second: the asked one, or the highest one found.
    pub mpps: f64,
    /// Name of the NIC profile.
    pub nic: String,
    /// Name of the traffic profile.
    pub traffic: String,
    /// Origin of the weights of paths.
    pub weighed: Origin,
    /// Origin of the numbers of instructions.
    pub counted: Origin,
    /// The chosen allocation.
    pub allocation: Allocation,
    /// The model's prediction for it.
    pub predicted: Prediction,
    /// Costs of single operations, by the model.
    pub coefficients: Coefficients,
    /// The proof of optimality, for the model's costs at this allocation.
    pub proof: Proof,
    /// Duration of the search in milliseconds; the only figure that differs between runs.
    pub ms: f64,
    /// A jump of host cores just above the planned rate, if there is one; `None` if it was not
    /// searched.
    pub cliff: Option<Cliff>,
    /// The same rate with faster and slower flow tables, if hardware steers by rules.
    pub rule_rates: Vec<RuleRate>,
    /// The plans of other approaches, under the same model and ask.
    pub baselines: Vec<BaselinePlan>,
}

/// A rate just above the planned one, at which the best plan needs more than twice the host cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// The rate, in million packets a second.
    pub mpps: f64,
    /// Host cores of the best plan there.
    pub host_cores: f64,
}

impl Cliff {
    /// The factor of the planned rate at which the next plan is looked at.
    pub const AHEAD: f64 = 1.01;
}

/// The best plan at the planned rate, if the flow table took so many operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleRate {
    /// Insertions and removals a second.
    pub per_s: f64,
    /// Host cores; `None` if no plan reaches the rate.
    pub host_cores: Option<f64>,
}

impl RuleRate {
    /// The range of operations a second. The lowest is a published floor: 1,000 rules in 700 ms
    /// pass a test of the vendor's for BlueField-2 (`nics/bluefield2.toml`). No best rate is
    /// published; the others are assumed, and decide what a split by rules is worth.
    pub const RANGE: [f64; 3] = [1_429.0, 10_000.0, 50_000.0];
}

/// A way of splitting to compare Cora with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    /// The host runs everything, and the NIC is a plain one: its hardware hands frames to the
    /// host's queues.
    HostOnly,
    /// The host runs everything, and the NIC's cores forward every packet, as Cora's runtime does.
    HostBehindNic,
    /// The NIC runs everything.
    NicOnly,
    /// Each state has its place; all flows are treated alike.
    StateOnly,
    /// Each flow has its side, and runs there completely; all states are treated alike.
    FlowOnly,
}

/// The best plan of one baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselinePlan {
    /// The baseline.
    pub baseline: Baseline,
    /// Its allocation, even if the ask can't be met.
    pub allocation: Allocation,
    /// The model's prediction for it.
    pub predicted: Prediction,
    /// Whether it meets the ask.
    pub feasible: bool,
}

impl Baseline {
    /// Every baseline, in the order in which reports list them.
    pub const ALL: [Self; 5] =
        [Self::HostOnly, Self::HostBehindNic, Self::NicOnly, Self::StateOnly, Self::FlowOnly];

    /// The word, as reports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::HostOnly => "host-only",
            Self::HostBehindNic => "behind-nic",
            Self::NicOnly => "nic-only",
            Self::StateOnly => "state-only",
            Self::FlowOnly => "flow-only",
        }
    }
}
