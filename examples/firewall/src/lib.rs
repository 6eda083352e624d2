//! # firewall: inside may open, outside may only answer
//!
//! Follows each TCP connection, UDP exchange and ping that somebody inside opens, over IPv4 and
//! IPv6. A SYN opens, a datagram, and a question of ICMP. Packets from outside pass only as an
//! answer (or as an ICMP error about one); a TCP segment that the state of its connection does not
//! allow is dropped by name. So is a packet that nobody may forward. Messages that keep the link
//! going pass: ARP, neighbour discovery, group membership, and DHCP for hosts inside.
//!
//! Try it:  `cargo cora run firewall --nic native --in some.pcap --out out.pcap`
//!
//! Expect:  `transmit` for packets of connections, `not-allowed` for others from outside,
//! `bad-tcp-state` for segments out of place, `martian-source`, `routing-header`, … for packets
//! that nobody may forward, `fragment`, `not-ip`, … for packets without a five-tuple.
//!
//! | for programs of several crates | |
//! | --- | --- |
//! | [`firewall`] | the handler |
//! | [`Connection`] | its state |
#![cfg_attr(target_os = "none", no_std)]

use core::time::Duration;

use cora::prelude::*;

/// A connection that somebody inside opened. `idle` is the longest time that one may be silent.
#[state(key = FiveTuple, reply, capacity = 1_000_000, idle = "2h4m", idle_by = Self::idle,
        assured_by = Self::is_assured)]
pub struct Connection {
    tcp: TcpState,
    packets: u64,
}

impl Connection {
    fn open(packet: &Headers) -> Result<Self, Reason> {
        Ok(Self { tcp: TcpState::open(packet)?, packets: 1 })
    }

    fn advance(&mut self, packet: &Headers, direction: Direction) -> Result<(), Reason> {
        self.packets += 1;
        self.tcp.advance(packet, direction)
    }

    fn idle(&self) -> Duration {
        self.tcp.idle()
    }

    /// Whether it stays in a full table.
    fn is_assured(&self) -> bool {
        self.tcp.goes_on() && self.packets > 2
    }
}

/// Inside may open; outside may only answer.
#[flow_handler]
pub fn firewall(packet: &mut Headers, connections: &mut Table<Connection>) -> Verdict {
    if packet.is_link_local_control() || packet.is_dhcp() {
        return Transmit;
    }
    packet.forwardable()?;
    let flow = packet.five_tuple()?;
    match connections.find_mut(&flow) {
        Some((direction, connection)) => connection.advance(packet, direction)?,
        None if packet.from_inside() => connections.insert(flow, Connection::open(packet)?)?,
        None => return Drop(NotAllowed),
    }
    Transmit
}

#[cfg(test)]
mod tests;
