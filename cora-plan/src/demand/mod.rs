//! What a program asks of either side, for one traffic: which ways packets take through its
//! handlers, how often in each class of flows, and how many instructions that is.
//!
//! It is measured where the program was run on the traffic, and estimated from the source
//! otherwise; a plan says which.

pub mod counted;
mod estimate;
mod executed;
mod measured;
mod measurement;
mod nearest_path;
pub mod observed;
mod of;

use serde::{Deserialize, Serialize};

pub use counted::Counted;
pub use estimate::estimate;
pub use executed::Executed;
pub use measured::{Fits, Measured, measured};
pub use nearest_path::{Fit, Nearest, nearest_path};
pub use observed::Observed;
pub use of::demand;

/// Ways of packets, and how often each is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Ways that packets take through the chain.
    pub routes: Vec<Route>,
    /// Per class of flows and per route: which share of the class's packets takes it. A class's
    /// shares make 1.
    pub weights: Vec<Vec<f64>>,
    /// Where the weights are from.
    pub weighed: Origin,
    /// Where the numbers of instructions are from.
    pub counted: Origin,
}

/// One way through the chain of handlers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Per handler that ran, in the order of the chain: its number in the chain, and which of its
    /// [paths](crate::graph::HandlerNode::paths) was taken.
    pub steps: Vec<(usize, usize)>,
    /// What one packet makes a core of the NIC execute.
    pub nic: Executed,
    /// What it makes one of the host execute.
    pub host: Executed,
}

/// Where a number is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The program was run on the traffic and counted.
    Measured,
    /// From the source alone.
    Estimated,
}

/// What running a program on a capture counted: a file that plans are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the program.
    pub app: String,
    /// [Digest](crate::graph::Graph::digest) of the graph whose paths are named: another graph's numbers say nothing.
    pub graph: String,
    /// What it was run on.
    pub capture: String,
    /// Packets counted.
    pub packets: u64,
    /// Ways that packets took.
    pub routes: Vec<Route>,
    /// Per type of key, per class of the traffic drawn from the same capture, per route: packets.
    pub counts: std::collections::BTreeMap<String, Vec<Vec<u64>>>,
    /// Whether `nic` was counted of each route, or stands for what the host needs.
    pub nic_counted: bool,
    /// Whether `host` was counted of each route, or is estimated from the source.
    pub host_counted: bool,
}

/// Version of a measurement's JSON; a reader refuses others.
pub const SCHEMA: u32 = 2;
