//! # quotas: the openings of each inside host, by connection and in all
//!
//! For the oracle, not to copy. Packets belong together by the inside host, which is coarser than a
//! connection; one handler counts hosts, one connections, and both add to a commutative state.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const OVER_QUOTA: Reason = Reason::new("over-quota");

/// A connection.
#[state(key = FiveTuple, reply, capacity = 1 << 17, idle = "30s")]
struct Connection {
    packets: u64,
    number: u64,
}

/// All connections of one inside host.
#[state(key = InsideAddress, capacity = 16_384, idle = "1m")]
struct Host {
    connections: u64,
    packets: u64,
}

/// The most that a host may open.
#[state(read_mostly)]
struct Quota {
    connections: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { connections: 40 }
    }
}

impl Configure for Quota {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let connections = text.trim().parse().map_err(|_| "not a number")?;
        Ok(Self { connections })
    }
}

/// The sum of all.
#[state(commutative)]
struct Totals {
    packets: Sum,
    longest: Max,
    busiest: TopK<InsideAddress, 8>,
}

/// Counts the packets of each inside host.
#[flow_handler]
fn hosts(packet: &mut Packet, hosts: &mut Table<Host>, totals: &mut Totals) -> Verdict {
    let key = InsideAddress(packet.inside_address()?);
    totals.packets.add(1);
    let packets = if let Some(host) = hosts.get_mut(&key) {
        host.packets += 1;
        host.packets
    } else {
        hosts.insert(key, Host { connections: 0, packets: 1 })?;
        1
    };
    totals.busiest.raise(key, packets);
    Transmit
}

/// Numbers the connections of each inside host, up to its quota. Numbers depend on the order of
/// their openings.
#[flow_handler]
fn connections(
    packet: &mut Packet,
    connections: &mut Table<Connection>,
    hosts: &mut Table<Host>,
    quota: &Quota,
    totals: &mut Totals,
) -> Verdict {
    let flow = packet.five_tuple()?;
    totals.longest.raise(packet.len() as u64);
    if let Some((_, connection)) = connections.find_mut(&flow) {
        connection.packets += 1;
        return Transmit;
    }
    let key = InsideAddress(packet.inside_address()?);
    let number = match hosts.get_mut(&key) {
        Some(host) if host.connections < quota.connections => {
            host.connections += 1;
            host.connections
        }
        Some(_) => return Drop(OVER_QUOTA),
        None => {
            hosts.insert(key, Host { connections: 1, packets: 0 })?;
            1
        }
    };
    connections.insert(flow, Connection { packets: 1, number })?;
    Transmit
}

cora::app!(hosts, connections);
