//! Inside may open, outside may only answer.

use core::time::Duration;

use cora::prelude::*;

/// A connection that somebody inside opened, by the addresses of inside.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable)]
pub(crate) struct Connection {
    tcp: TcpState,
    packets: u64,
}

impl Connection {
    fn idle(&self) -> Duration {
        self.tcp.idle()
    }
}

/// Inside may open; outside may only answer.
#[flow_handler]
pub(crate) fn firewall(packet: &mut Headers, connections: &mut Table<Connection>) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    packet.forwardable()?;
    let flow = packet.five_tuple()?;
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            connection.tcp.advance(packet, direction)?;
            connection.packets += 1;
        }
        None if packet.from_inside() => {
            connections.insert(flow, Connection { tcp: TcpState::open(packet)?, packets: 1 })?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}
