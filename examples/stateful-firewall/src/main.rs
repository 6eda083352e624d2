//! # stateful-firewall: connections are forgotten by their state
//!
//! As `firewall`, inside may open and outside only answer; but a connection is remembered as long
//! as its protocol and its state ask for: an established one for more than two hours, one that is
//! only opened or about to end for a minute or two, a question by UDP for half a minute. So a flood
//! of openings takes room for two minutes, not for hours.
//!
//! Which addresses outside nobody may talk to is configured, and may change while packets come: a
//! connection that was judged under other rules is judged again at its next packet, in either
//! direction.
//!
//! Try it:  `cargo cora run stateful-firewall --nic native --in some.pcap --out out.pcap
//! --state-out state.json` With rules: `--config Rules=rules.txt`, where a line is `deny PREFIX` or
//! `deny PREFIX PORT`.
//!
//! Expect:  `transmit`, `not-allowed` and `bad-tcp-state` as of `firewall`. Times are those of
//! packets, so a capture gives the same result however fast it is fed, and under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

mod rules;

use rules::Rules;

/// A connection that somebody inside opened. `idle` is the longest time that one may be silent.
#[state(key = FiveTuple, reply, capacity = 1_000_000, idle = "2h4m", idle_by = Self::idle)]
struct Connection {
    /// By which rules it was allowed.
    judged: Generation,
    protocol: u8,
    tcp: TcpState,
    /// Whether outside has answered.
    answered: bool,
    original_packets: u64,
    reply_packets: u64,
}

impl Connection {
    fn open(packet: &Headers, protocol: u8, judged: Generation) -> Self {
        let tcp = TcpState::open(packet);
        Self { judged, protocol, tcp, answered: false, original_packets: 1, reply_packets: 0 }
    }

    /// One more packet; those that can't be of the connection change nothing.
    fn advance(&mut self, packet: &Headers, direction: Direction) -> Result<(), Reason> {
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

    /// How long the connection may be silent: as RFC 5382 (REQ-5) asks where it is established,
    /// else the times of Linux's connection tracking.
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

/// Inside may open as the rules allow; outside may only answer.
#[flow_handler]
fn firewall(packet: &mut Headers, connections: &mut Table<Connection>, rules: &Rules) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let outside = if packet.from_inside() { flow } else { flow.reversed() };
    let allowed = || rules.allow(outside.destination, outside.destination_port);
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            if connection.judged != rules.generation {
                if !allowed() {
                    connections.remove(&flow);
                    return Drop(NotAllowed);
                }
                connection.judged = rules.generation;
            }
            connection.advance(packet, direction)?;
        }
        None if packet.from_inside() && allowed() => {
            let connection = Connection::open(packet, flow.protocol, rules.generation);
            connections.insert(flow, connection)?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(firewall);

#[cfg(test)]
mod tests;
