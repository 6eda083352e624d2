//! The performance model: the cost of an allocation, and its highest rate.
//!
//! It is a model of states. The cost of a route on a side is
//!
//! ```text
//! packet + bytes·byte + instructions·instruction + mispredictions·mispredict
//!        + Σ first touches·latency·exposed + entries made and freed
//! ```
//!
//! with the numbers of the NIC profile. The latency of a touch follows from the side's working set
//! by Che's approximation (`cache`); half of it comes from the slowest touch in a burst. A packet
//! that the host owns, or that is punted, pays the crossing at both sides, by the bytes that cross.
//! Under header split, only the head of a long frame crosses, and the rest is copied at the NIC
//! alone. A punted packet has also run at the NIC in vain, and its flow's entries move out and
//! back. The first packet of a flow runs at the host for any owner, and a flow of the NIC moves
//! there once.
//!
//! | module | contents |
//! | --- | --- |
//! | [`size`] | bytes of states |
//! | `shape` | memory accesses of a route |
//! | `cache` | working set against caches |
//! | `latency` | cost of touches under given shares |
//! | `cost` | nanoseconds of a route, by side |
//! | [`residence`] | entries and bytes of states, by side |
//! | `offer` | flows that a runtime can give to the NIC |
//! | `limits` | limited resources, and their amounts |
//! | `ways` | what a packet costs on each way through the sides |
//! | `terms` | the model as a [`Problem`](crate::search::Problem) at a rate |
//! | `predict` | an allocation's figures |
//! | `expected` | what a run of it would count |
//! | [`Coefficients`] | costs of single operations under an allocation |
//!
//! The model omits queueing (it has utilisation, but no queue lengths), contention of memory
//! channels, and packets that other programs of the host receive.

mod cache;
mod coefficients;
mod cost;
mod expected;
pub(crate) mod latency;
pub(crate) mod limits;
pub(crate) mod offer;
pub(crate) mod predict;
pub mod residence;
mod shape;
pub mod size;
pub(crate) mod terms;
#[cfg(test)]
mod tests;
mod ways;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use coefficients::Coefficients;
pub(crate) use coefficients::coefficients;
pub use expected::Expected;
pub(crate) use expected::expected;
pub use limits::HEADROOM;
pub(crate) use terms::Punts;
pub use terms::{Steering, Unmatched};

use self::shape::Shape;
use crate::ahead;
use crate::demand::Demand;
use crate::graph::Graph;
use crate::nic::NicProfile;
use crate::traffic::{Class, Traffic};
use crate::vocabulary::{BUCKETS, Place, Sides};

/// Price of a core of the NIC, in host cores. It is small, since the card is there and paid for,
/// but above 0: of nearly equal plans, one with an idler NIC stands further from its limits.
pub const NIC_CORE: f64 = 0.01;

/// The allocation of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The sides that run packets.
    pub sides: Sides,
    /// Place of each state.
    pub places: BTreeMap<String, Place>,
    /// Handlers that run at the host only, regardless of their states.
    pub host_handlers: Vec<String>,
    /// The ownership key; `shares` refers to its classes.
    pub group: String,
    /// Per class of flows: the share that the NIC owns, 0 to 1. Under `dealt` it is that of the
    /// buckets in every class.
    pub shares: Vec<f64>,
    /// Under [`Steering::Rules`]: the way of packets that no rule matches.
    pub unmatched: Unmatched,
}

impl Allocation {
    /// Under [`Sides::Dealt`]: buckets that the NIC gets, of [`BUCKETS`].
    pub fn nic_buckets(&self) -> Option<u16> {
        let share = self.shares.first().copied().unwrap_or_default();
        let near = |buckets: &u16| (share * f64::from(BUCKETS) - f64::from(*buckets)).abs() <= 0.5;
        (self.sides == Sides::Dealt).then(|| (0..=BUCKETS).find(near).unwrap_or_default())
    }
}

/// The model's prediction for an allocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Host cores at the asked rate.
    pub host_cores: f64,
    /// NIC cores at the asked rate.
    pub nic_cores: f64,
    /// Highest rate, in million packets a second, with no resource above its limit.
    pub ceiling_mpps: f64,
    /// The resource that limits it.
    pub bottleneck: Resource,
    /// Per resource: the utilisation at the asked rate; above 1 is overload.
    pub utilisation: BTreeMap<Resource, f64>,
    /// Instabilities, in sentences: rules that arrive faster than the table inserts them, or a full
    /// table.
    pub unstable: Vec<String>,
    /// Packets of a thousand that the NIC handles alone.
    pub at_nic: f64,
}

impl Prediction {
    /// The minimised quantity: host cores, and the NIC's cores at [`NIC_CORE`].
    pub fn cost(&self) -> f64 {
        self.host_cores + NIC_CORE * self.nic_cores
    }
}

/// A limited resource of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Time of the NIC's cores.
    NicCores,
    /// Time of the host's cores.
    HostCores,
    /// Memory for states at the NIC.
    NicMemory,
    /// Memory for states at the host.
    HostMemory,
    /// Crossings of the rings.
    RingPackets,
    /// Bytes through the rings.
    RingBytes,
    /// Entries of a state's table, at either side.
    TableEntries,
    /// Bits of the wire, with preamble, check sequence and gap of each frame.
    Wire,
    /// Frames that the card's switch forwards.
    Switch,
    /// Bits of frames that hardware hands to the host over PCIe.
    Pcie,
    /// Entries of the hardware's flow table.
    FlowTable,
    /// Insertions into the flow table.
    FlowTableInserts,
}

impl Resource {
    /// Every resource, in the order in which reports list them.
    pub const ALL: [Self; 12] = [
        Self::NicCores,
        Self::HostCores,
        Self::NicMemory,
        Self::HostMemory,
        Self::RingPackets,
        Self::RingBytes,
        Self::TableEntries,
        Self::Wire,
        Self::Switch,
        Self::Pcie,
        Self::FlowTable,
        Self::FlowTableInserts,
    ];

    /// Its name for a sentence, as a plural.
    pub fn words(self) -> &'static str {
        match self {
            Self::NicCores => "the NIC's cores",
            Self::HostCores => "the host's cores",
            Self::NicMemory => "the NIC's bytes for states",
            Self::HostMemory => "the host's bytes for states",
            Self::RingPackets => "the rings' packets a second",
            Self::RingBytes => "the rings' bytes a second",
            Self::TableEntries => "the entries of a state's table",
            Self::Wire => "the wire's bits a second",
            Self::Switch => "the card's switched frames a second",
            Self::Pcie => "PCIe's bits a second",
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

/// All inputs of costs except the allocation and the rate.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    graph: &'a Graph,
    nic: &'a NicProfile,
    traffic: &'a Traffic,
    classes: &'a [Class],
    demand: &'a Demand,
    shapes: Vec<Shape>,
    /// Whether long frames cross under header split.
    heads: bool,
    /// The ownership key.
    group: String,
    /// Whether the program runs on any number of shards, or on one only.
    many_shards: bool,
    steering: Steering,
    unmatched: Unmatched,
    punts: Punts,
}

impl<'a> Setting<'a> {
    /// `demand` must be for the classes of `group`. A key without classes of its own uses flows by
    /// five-tuple.
    pub fn new(
        graph: &'a Graph,
        nic: &'a NicProfile,
        traffic: &'a Traffic,
        demand: &'a Demand,
        group: &str,
        many_shards: bool,
        steering: Steering,
    ) -> Self {
        let further = ahead::further(graph);
        let shapes = demand.routes.iter();
        let shapes = shapes.map(|route| Shape::of(graph, route, &further)).collect();
        let classes = traffic.classes(group);
        let (heads, group) = (graph.takes_headers(), group.to_owned());
        Self {
            graph,
            nic,
            traffic,
            classes,
            demand,
            shapes,
            heads,
            group,
            many_shards,
            steering,
            unmatched: Unmatched::default(),
            punts: Punts::default(),
        }
    }

    /// The same, with another way of packets that no rule matches.
    pub(crate) fn with_unmatched(self, unmatched: Unmatched) -> Self {
        Self { unmatched, ..self }
    }

    /// The same, with another way of packets that need a state of the host under `dealt`.
    pub(crate) fn with_punts(self, punts: Punts) -> Self {
        Self { punts, ..self }
    }

    /// The program.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The classes that shares refer to.
    pub fn classes(&self) -> &'a [Class] {
        self.classes
    }

    /// The ownership key.
    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    /// Cores of the NIC and of the host, whether or not the program can use them.
    pub(crate) fn all_cores(&self) -> [f64; 2] {
        [self.nic.nic.cores.value, self.nic.host.cores.value]
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
        // A shard is a NIC core and a host worker.
        if self.many_shards { cores } else { 1.0 }
    }
}
