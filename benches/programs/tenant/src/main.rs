//! # tenant: thousands of entries that move together
//!
//! To measure the cost of a large group's move, not to copy. A tenant is a source address; all that
//! is kept of it has one owner, so its entries of 2 KiB move with it.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A tenant.
#[state(key = SourceAddress, capacity = 8_192, idle = "5m")]
struct Tenant {
    packets: u64,
    connections: u64,
}

/// One of its connections, with a long memory: an entry is as large as one may be.
#[state(key = FiveTuple, capacity = 32_768, idle = "5m")]
struct Connection {
    packets: u64,
    lengths: [u64; 244],
}

/// Notes the lengths of a connection's latest packets.
#[flow_handler]
fn note(
    packet: &mut Packet,
    tenants: &mut Table<Tenant>,
    connections: &mut Table<Connection>,
) -> Verdict {
    let (flow, length) = (packet.five_tuple()?, packet.len() as u64);
    let key = SourceAddress(flow.source);
    match tenants.get_mut(&key) {
        Some(tenant) => tenant.packets += 1,
        None => tenants.insert(key, Tenant { packets: 1, connections: 0 })?,
    }
    if let Some(connection) = connections.get_mut(&flow) {
        connection.lengths[(connection.packets % 244) as usize] = length;
        connection.packets += 1;
        return Transmit;
    }
    connections.insert(flow, Connection { packets: 1, lengths: [length; 244] })?;
    if let Some(tenant) = tenants.get_mut(&key) {
        tenant.connections += 1;
    }
    Transmit
}

cora::app!(note);
