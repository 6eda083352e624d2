//! The performance model: what an allocation costs, and how far it goes.
//!
//! It goes by states. The cost of a route on a side is
//!
//! ```text
//! packet + bytes·byte + instructions·instruction + mispredictions·mispredict + Σ first touches·latency·exposed
//!        + entries made and freed
//! ```
//!
//! with the numbers of the NIC profile. The latency of a touch follows from the working set that
//! the side has, by Che's approximation (`cache`), half of it from the slowest touch in a burst. A
//! packet that the host owns, or that is punted, pays the crossing at both sides, by the bytes that
//! cross: of a long frame its head, where handlers ask for no more; the rest is copied at the NIC
//! alone. One that is punted has run at the NIC in vain, and its flow's entries move out and back.
//! The first packet of a flow runs at the host, whoever will own the flow, and a flow that the NIC
//! is to own moves there once.
//!
//! | module | what |
//! | --- | --- |
//! | [`size`] | bytes of states |
//! | `shape` | what a route asks for |
//! | `cache` | working set against caches |
//! | `latency` | what touches cost under given shares |
//! | `cost` | nanoseconds of a route, by side |
//! | `terms` | all of it as a [`Problem`](crate::search::Problem) at a rate |
//! | `predict` | an allocation's figures |
//! | [`Coefficients`] | what single things cost under it |
//!
//! What it leaves out: waiting (it knows how busy things are, not how long queues get), contention
//! of memory channels, packets that other programs of the host receive.

mod cache;
mod coefficients;
mod cost;
pub(crate) mod latency;
pub(crate) mod predict;
mod shape;
pub mod size;
pub(crate) mod terms;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use coefficients::Coefficients;
pub(crate) use coefficients::coefficients;
pub use terms::Steering;

use self::shape::Shape;
use crate::ahead;
use crate::demand::Demand;
use crate::graph::Graph;
use crate::nic::NicProfile;
use crate::traffic::{Class, Traffic};
use crate::words::{Place, Sides};

/// What a plan allocates.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Which side runs packets.
    pub sides: Sides,
    /// Place of each state.
    pub places: BTreeMap<String, Place>,
    /// Handlers that run at the host only, whatever states they reach.
    pub host_handlers: Vec<String>,
    /// Key that flows are owned by; its classes are what `shares` counts.
    pub group: String,
    /// Per class of flows: which share of it the NIC owns, 0 to 1.
    pub shares: Vec<f64>,
}

/// What the model says of an allocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Host cores at the asked rate.
    pub host_cores: f64,
    /// NIC cores at the asked rate.
    pub nic_cores: f64,
    /// Highest rate, in million packets a second, at which no resource is above its limit.
    pub ceiling_mpps: f64,
    /// The resource that limits it.
    pub bottleneck: Resource,
    /// Per resource: which part of its limit is used at the asked rate; above 1 is more than there
    /// is.
    pub utilisation: BTreeMap<Resource, f64>,
    /// What would not settle, in sentences: rules that come faster than the table takes them, a
    /// table that is full.
    pub unstable: Vec<String>,
    /// Of a thousand packets, how many the NIC handles alone.
    pub at_nic: f64,
}

/// What a plan can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Time of the NIC's cores.
    NicCores,
    /// Time of the host's cores.
    HostCores,
    /// Memory for states at the NIC.
    NicMemory,
    /// Crossings of the rings.
    RingPackets,
    /// Bytes through the rings.
    RingBytes,
    /// Entries of a state's table.
    TableEntries,
    /// Entries of the hardware's flow table.
    FlowTable,
    /// Insertions into it.
    FlowTableInserts,
}

impl Resource {
    /// Every resource, in the order in which reports list them.
    pub const ALL: [Self; 8] = [
        Self::NicCores,
        Self::HostCores,
        Self::NicMemory,
        Self::RingPackets,
        Self::RingBytes,
        Self::TableEntries,
        Self::FlowTable,
        Self::FlowTableInserts,
    ];

    /// What it is, in words that stand in a sentence in the plural.
    pub fn words(self) -> &'static str {
        match self {
            Self::NicCores => "the NIC's cores",
            Self::HostCores => "the host's cores",
            Self::NicMemory => "the NIC's bytes for states",
            Self::RingPackets => "the rings' packets a second",
            Self::RingBytes => "the rings' bytes a second",
            Self::TableEntries => "the entries of a state's table",
            Self::FlowTable => "the entries of the flow table",
            Self::FlowTableInserts => "the flow table's insertions a second",
        }
    }
}

/// A side, for costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Nic,
    Host,
}

/// All that costs depend on, except the allocation and the rate.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    graph: &'a Graph,
    nic: &'a NicProfile,
    traffic: &'a Traffic,
    classes: &'a [Class],
    demand: &'a Demand,
    shapes: Vec<Shape>,
    /// Long frames go to the host as their heads.
    heads: bool,
    /// Key that flows are owned by.
    group: String,
    /// The program runs on any number of pairs of cores; otherwise on one.
    many_pairs: bool,
    steering: Steering,
}

impl<'a> Setting<'a> {
    /// `demand` is that of the classes of `group`; without classes of their own, flows by
    /// five-tuple stand in.
    pub fn new(
        graph: &'a Graph,
        nic: &'a NicProfile,
        traffic: &'a Traffic,
        demand: &'a Demand,
        group: &str,
        many_pairs: bool,
        steering: Steering,
    ) -> Self {
        let further = ahead::further(graph);
        let shapes = demand.routes.iter();
        let shapes = shapes.map(|route| Shape::of(graph, route, &further)).collect();
        let classes = traffic.classes(group);
        let (heads, group) = (graph.takes_headers(), group.to_owned());
        Self { graph, nic, traffic, classes, demand, shapes, heads, group, many_pairs, steering }
    }

    /// The program.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The classes that shares count.
    pub fn classes(&self) -> &'a [Class] {
        self.classes
    }

    /// NIC cores that the program can use.
    pub fn nic_cores(&self) -> f64 {
        self.usable(self.nic.nic.cores.value)
    }

    /// Host cores that the program can use.
    pub fn host_cores(&self) -> f64 {
        self.usable(self.nic.host.cores.value)
    }

    fn usable(&self, cores: f64) -> f64 {
        // Pairs are a NIC core and a host worker each.
        if self.many_pairs { cores } else { 1.0 }
    }
}
