//! The limited resources of a setting, and their amounts.

use super::{Resource, Setting, Side};
use crate::nic::Port;

/// One limit: the resource, and for the entries of a table its state and the side that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) resource: Resource,
    /// The state and the side of a table.
    pub(crate) table: Option<(usize, Side)>,
}

/// The limits of a setting, in the order of a problem's resources.
pub(crate) fn limits(setting: &Setting<'_>) -> Vec<Limit> {
    let wired = setting.nic.port.is_some();
    let plain = Resource::ALL.into_iter().filter(|resource| match resource {
        Resource::TableEntries => false,
        Resource::Wire | Resource::Switch | Resource::Pcie => wired,
        _ => true,
    });
    let tables = setting.graph.states.iter().enumerate();
    // One whose entries never expire fills at any rate, so its places limit none.
    let tables =
        tables.filter(|(_, state)| state.keyed.as_ref().is_some_and(|keyed| !keyed.stays()));
    // How many keys the messages of a program have is unknown.
    let tables = tables.filter(|_| !setting.graph.takes_messages());
    // A table has its capacity at each side.
    let tables = tables.flat_map(|(state, _)| [(state, Side::Nic), (state, Side::Host)]);
    plain
        .map(|resource| Limit { resource, table: None })
        .chain(tables.map(|table| Limit { resource: Resource::TableEntries, table: Some(table) }))
        .collect()
}

/// Share of a resource that plans leave free, so that a little more traffic than asked for does not
/// need another plan.
pub const HEADROOM: f64 = 0.05;

/// The share of a resource that a plan may use. No traffic exceeds the wire, so nothing is left
/// free there.
pub(crate) fn usable(resource: Resource) -> f64 {
    match resource {
        Resource::Wire | Resource::Switch => 1.0,
        _ => 1.0 - HEADROOM,
    }
}

/// Amount of a resource, in its unit: cores, bytes, millions a second, gigabits a second, entries.
pub(super) fn amount(setting: &Setting<'_>, limit: Limit) -> f64 {
    let nic = setting.nic;
    let table = nic.flow_table.as_ref();
    let port = |of: fn(&Port) -> f64| nic.port.as_ref().map_or(f64::INFINITY, of);
    match limit.resource {
        Resource::NicCores => setting.nic_cores() * nic.nic.busy.value,
        Resource::HostCores => setting.host_cores() * nic.host.busy.value,
        Resource::NicMemory => nic.nic.state_bytes.value,
        Resource::HostMemory => nic.host.state_bytes.value,
        Resource::RingPackets => nic.link.mpps.value,
        Resource::RingBytes => nic.link.gbps.value,
        Resource::Wire => port(|port| port.gbps.value),
        Resource::Switch => port(|port| port.mpps.value),
        Resource::Pcie => port(|port| port.pcie_gbps.value),
        Resource::FlowTable => table.map_or(0.0, |table| table.entries.value),
        Resource::FlowTableInserts => table.map_or(0.0, |table| table.inserts_per_s.value),
        Resource::TableEntries => {
            let keyed =
                limit.table.and_then(|(state, _)| setting.graph.states[state].keyed.as_ref());
            keyed.map_or(0.0, |keyed| keyed.capacity as f64)
        }
    }
}
