//! An observation as the controller takes it and as the log has it: flows are numbers.

use cora_runtime::link::message::Load;
use cora_runtime::telemetry::Talker;
use serde::{Deserialize, Serialize};

/// A flow: the hash of its key, an even number. Two flows with one hash would move as one, which
/// moves one in vain. Where directions are told apart, the last bit is the direction.
pub type FlowId = u64;

/// Returns the flow of a direction.
pub(super) const fn flow_of(direction: FlowId) -> FlowId {
    direction & !1
}

/// The report of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideReport {
    /// Time of the report on the side's own clock (ns).
    pub time: u64,
    /// Packets with handlers that ran there.
    pub packets: u64,
    /// Packets rolled back and sent to the other side.
    pub punts: u64,
    /// Packets passed on.
    pub passed_on: u64,
    /// Flows that came to be owned by the NIC.
    pub offloads: u64,
    /// Flows that went back to the host.
    pub released: u64,
    /// Offers without success.
    pub declined: u64,
    /// Bytes of entries sent.
    pub moved_bytes: u64,
    /// Time spent with packets (ns).
    pub busy_ns: u64,
    /// Flows owned.
    pub flows: u64,
    /// Flows that it could own beside those.
    pub room: u64,
    /// Bytes of packets that wait for flows.
    pub waiting: u64,
    /// The flows with most packets of late, per direction: number, count, error.
    pub talkers: Vec<(FlowId, u32, u32)>,
}

impl SideReport {
    /// Creates the report from a load and its talkers.
    pub fn new<K>(load: &Load, talkers: &[Talker<K>], mut id: impl FnMut(&K) -> FlowId) -> Self {
        let counts = &load.counts;
        Self {
            time: load.time,
            packets: counts.packets,
            punts: counts.punts,
            passed_on: counts.passed_on,
            offloads: counts.offloads,
            released: counts.released,
            declined: counts.declined,
            moved_bytes: counts.moved_bytes,
            busy_ns: counts.busy_ns,
            flows: counts.flows,
            room: load.room,
            waiting: load.waiting,
            talkers: talkers.iter().map(|one| (id(&one.key), one.count, one.error)).collect(),
        }
    }
}

/// The reports of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// The host, now.
    pub host: SideReport,
    /// The NIC, if it sent a new report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<SideReport>,
    /// Flows that changed sides since the last digest, in order; `true`: to the NIC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(FlowId, bool)>,
}
