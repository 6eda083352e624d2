//! The demand of a program on either side for one traffic: the routes of packets through its
//! handlers, their frequency in each class of flows, and their instructions.
//!
//! It is measured if the program was run on the traffic, and estimated from the source otherwise; a
//! plan says which.

mod cascade;
pub mod counted;
mod estimate;
mod executed;
mod fitted;
mod measured;
mod measurement;
mod nearest_path;
pub mod observed;
mod of;
mod runs;

use serde::{Deserialize, Serialize};

pub use counted::Counted;
pub use estimate::estimate;
pub use executed::Executed;
pub use measured::{Fits, Measured, measured};
pub use nearest_path::{Fit, Nearest, nearest_path};
pub use observed::Observed;
pub use of::demand;
pub use runs::{HandlerRuns, handler_runs};

/// Routes of packets, and the frequency of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Routes of packets through the chain.
    pub routes: Vec<Route>,
    /// Per class of flows and per route: the share of the class's packets on the route. A class's
    /// shares add up to 1. In a program with messages the runs of messages that handlers sent
    /// come on top of that.
    pub weights: Vec<Vec<f64>>,
    /// Origin of the weights.
    pub weighed: Origin,
    /// Origin of the numbers of instructions.
    pub counted: Origin,
}

/// One route through the chain of handlers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Per handler that ran, in chain order: its index in the chain, and the index of the path
    /// taken among its [paths](crate::graph::HandlerNode::paths).
    pub steps: Vec<(usize, usize)>,
    /// Its runs are of a message that a handler sent. In a program with messages each route is that
    /// of one run, and weights are runs per datagram.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// Execution of one packet on a core of the NIC.
    pub nic: Executed,
    /// Execution of one packet on a core of the host.
    pub host: Executed,
}

/// Origin of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Counted in a run of the program on the traffic.
    Measured,
    /// Estimated from the source alone.
    Estimated,
}

/// Counts of a run of the program on a capture: a file that planning reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the program.
    pub app: String,
    /// [Digest](crate::graph::Graph::digest) of the measured graph, because the path indices mean
    /// nothing for another one.
    pub graph: String,
    /// Name of the capture.
    pub capture: String,
    /// Packets counted.
    pub packets: u64,
    /// Routes of the packets.
    pub routes: Vec<Route>,
    /// Per type of key, per class of the traffic drawn from the same capture, per route: packets.
    pub counts: std::collections::BTreeMap<String, Vec<Vec<u64>>>,
    /// Whether `nic` was counted for each route, or is a copy of `host`.
    pub nic_counted: bool,
    /// Whether `host` was counted for each route, or is estimated from the source.
    pub host_counted: bool,
}

/// Version of a measurement's JSON; a reader refuses others.
pub const SCHEMA: u32 = 2;
