//! The performance model: what a plan costs, and how far it goes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// Per resource: which part of its limit is used at the asked rate; above 1 is more than there is.
    pub utilisation: BTreeMap<Resource, f64>,
    /// What would not settle, in sentences: rules that come faster than the table takes them, a table that is full.
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
    /// Entries of a state's table at the NIC.
    TableEntries,
    /// Entries of the hardware's flow table.
    FlowTable,
    /// Insertions into it.
    FlowTableInserts,
}
