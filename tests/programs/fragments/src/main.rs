//! A firewall that lets fragments of its connections through, which docs/packets.md has as a
//! pattern: their first fragment is kept by the inside host's address, so that it has the same
//! owner as the host's connections.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// An inside host's packets under way in fragments, either way.
#[state(key = InsideAddress, capacity = 65_536, idle = "30s")]
struct UnderWay {
    datagrams: Datagrams<4>,
}

/// A connection that somebody inside opened.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
struct Connection {
    tcp: TcpState,
    packets: u64,
    fragments: u64,
}

/// Of a fragment, that of the packet it is a part of.
fn flow_of(packet: &Packet<'_>, under_way: &mut Table<UnderWay>) -> Result<FiveTuple, Reason> {
    if !packet.is_fragment() {
        return packet.five_tuple();
    }
    let host = InsideAddress::of(packet)?;
    if let Some(known) = under_way.get_mut(&host) {
        return known.datagrams.five_tuple(packet);
    }
    let mut datagrams = Datagrams::default();
    let flow = datagrams.five_tuple(packet)?;
    under_way.insert(host, UnderWay { datagrams })?;
    Ok(flow)
}

/// Inside may open; outside may only answer.
#[flow_handler]
fn firewall(
    packet: &mut Packet,
    under_way: &mut Table<UnderWay>,
    connections: &mut Table<Connection>,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = flow_of(packet, under_way)?;
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            connection.tcp.advance(packet, direction)?;
            connection.packets += 1;
            connection.fragments += u64::from(packet.is_fragment());
        }
        None if packet.from_inside() => {
            let tcp = TcpState::open(packet)?;
            connections.insert(flow, Connection { tcp, packets: 1, fragments: 0 })?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(firewall);
