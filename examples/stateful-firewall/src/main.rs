//! # stateful-firewall: connections are forgotten by their state
//!
//! As `firewall`, inside may open and outside only answer; but a connection is remembered as long as its protocol and
//! its state ask for: what is established for more than two hours, what is only opened or about to end for a minute or
//! two, a question by UDP for half a minute. So a flood of openings takes room for two minutes, not for hours.
//!
//! Try it:  `cargo cora run stateful-firewall --nic native --in some.pcap --out out.pcap --state-out state.json`
//!
//! Expect:  `transmit`, `not-allowed` and `bad-tcp-state` as of `firewall`. Times are those of packets, so a capture
//! gives the same result however fast it is fed, and under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

/// A connection that somebody inside opened. `idle` is the longest time that one may be silent.
#[state(key = FiveTuple, reply, capacity = 1_000_000, idle = "2h4m", idle_by = Self::idle)]
struct Connection {
    protocol: u8,
    tcp: TcpState,
    /// Whether outside has answered.
    answered: bool,
    original_packets: u64,
    reply_packets: u64,
}

impl Connection {
    fn open(packet: &Packet, protocol: u8) -> Self {
        let tcp = TcpState::open(packet);
        Self { protocol, tcp, answered: false, original_packets: 1, reply_packets: 0 }
    }

    /// One more packet; those that can't be of the connection change nothing.
    fn advance(&mut self, packet: &Packet, direction: Direction) -> Result<(), Reason> {
        self.tcp.advance(packet, direction)?;
        match direction {
            Direction::Original => self.original_packets += 1,
            Direction::Reply => {
                self.answered = true;
                self.reply_packets += 1;
            }
        }
        Ok(())
    }

    /// How long the connection may be silent: what RFC 5382 (REQ-5) asks for where it is established, else the times of
    /// Linux's connection tracking.
    fn idle(&self) -> Duration {
        let seconds = match self.protocol {
            protocol::TCP => match self.tcp {
                TcpState::Established => 2 * 3600 + 4 * 60,
                TcpState::New | TcpState::SynSent | TcpState::SimultaneousOpen => 120,
                TcpState::SynReceived | TcpState::CloseWait => 60,
                TcpState::FinWait | TcpState::TimeWait => 120,
                TcpState::LastAck => 30,
                TcpState::Closed => 10,
            },
            protocol::UDP if self.answered => 180,
            // A question without an answer, and a ping.
            _ => 30,
        };
        Duration::from_secs(seconds)
    }
}

/// Inside may open; outside may only answer.
#[flow_handler]
fn firewall(packet: &mut Packet, connections: &mut Table<Connection>) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    match connections.find_mut(&flow) {
        Some((direction, connection)) => connection.advance(packet, direction)?,
        None if packet.from_inside() => {
            connections.insert(flow, Connection::open(packet, flow.protocol))?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(firewall);

#[cfg(test)]
mod tests;
