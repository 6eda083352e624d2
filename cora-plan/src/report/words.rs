//! Words shared by reports: resources, limits, changes.

use super::numbers::{bytes, count, figure};
use crate::demand::Origin;
use crate::model::Resource;
use crate::nic::NicProfile;
use crate::what_if::change::Change;

/// The label above all performance figures of a report.
pub const LABEL: &str = "Predicted by Cora's model; nothing here was measured on this NIC.";

/// The word, as JSON spells it.
pub fn resource_word(resource: Resource) -> &'static str {
    match resource {
        Resource::NicCores => "nic-cores",
        Resource::HostCores => "host-cores",
        Resource::NicMemory => "nic-memory",
        Resource::HostMemory => "host-memory",
        Resource::RingPackets => "ring-packets",
        Resource::RingBytes => "ring-bytes",
        Resource::TableEntries => "table-entries",
        Resource::Wire => "wire",
        Resource::Switch => "switch",
        Resource::Pcie => "pcie",
        Resource::FlowTable => "flow-table",
        Resource::FlowTableInserts => "flow-table-inserts",
    }
}

/// Amount of a resource by the profile; `None` if the program determines it. A program on one shard
/// uses one core of each side, regardless of the profile.
pub fn limit(resource: Resource, nic: &NicProfile, many_shards: bool) -> Option<String> {
    let cores = |tier: &crate::nic::Tier| {
        let share = if tier.busy.value < 1.0 {
            format!(" at {:.0} %", tier.busy.value * 100.0)
        } else {
            String::new()
        };
        if many_shards {
            format!("{} cores{share}", count(tier.cores.value))
        } else {
            format!("1 core{share} (one shard)")
        }
    };
    let port = nic.port.as_ref();
    match resource {
        Resource::NicCores => Some(cores(&nic.nic)),
        Resource::HostCores => Some(cores(&nic.host)),
        Resource::NicMemory => Some(bytes(nic.nic.state_bytes.value)),
        Resource::HostMemory => Some(bytes(nic.host.state_bytes.value)),
        Resource::RingPackets => Some(format!("{} Mpps", figure(nic.link.mpps.value))),
        Resource::RingBytes => Some(format!("{} Gbit/s each way", figure(nic.link.gbps.value))),
        Resource::TableEntries => None,
        Resource::Wire => port.map(|port| format!("{} Gbit/s each way", figure(port.gbps.value))),
        Resource::Switch => port.map(|port| format!("{} Mpps", figure(port.mpps.value))),
        Resource::Pcie => {
            port.map(|port| format!("{} Gbit/s each way", figure(port.pcie_gbps.value)))
        }
        Resource::FlowTable => {
            nic.flow_table.as_ref().map(|table| format!("{} entries", count(table.entries.value)))
        }
        Resource::FlowTableInserts => nic
            .flow_table
            .as_ref()
            .map(|table| format!("{} a second", count(table.inserts_per_s.value))),
    }
}

/// A change of a case, in a few words.
pub fn change(change: Change) -> String {
    match change {
        Change::Ask(factor) => format!("{} × the request", figure(factor)),
        Change::Flows(factor) => format!("{} × the flows", figure(factor)),
        Change::NicMemory(factor) => format!("{} × the NIC's memory", figure(factor)),
        Change::Skew(factor) => format!("{} × the skew", figure(factor)),
        Change::Opens(factor) => format!("{} × the first packets", figure(factor)),
    }
}

/// The origin of a number.
pub fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Measured => "measured by running the program",
        Origin::Estimated => "estimated from the source",
    }
}

/// A name in backquotes, several joined: `` `a`, `b` and `c` ``.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => format!("`{one}`"),
        [first @ .., last] => format!("`{}` and `{last}`", first.join("`, `")),
    }
}
