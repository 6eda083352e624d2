//! Inside may open, outside may only answer.

use cora::prelude::*;

/// A connection that somebody inside opened, by the addresses of inside.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
pub(crate) struct Connection {
    tcp: TcpState,
    packets: u64,
}

/// Inside may open; outside may only answer.
#[flow_handler]
pub(crate) fn firewall(packet: &mut Headers, connections: &mut Table<Connection>) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            connection.tcp.advance(packet, direction)?;
            connection.packets += 1;
        }
        None if packet.from_inside() => {
            connections.insert(flow, Connection { tcp: TcpState::open(packet), packets: 1 })?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}
