//! # stateful-firewall: connections are forgotten by their state
//!
//! As `firewall`, inside may open and outside only answer; but a connection is remembered as long
//! as its protocol and its state ask for: an established one for more than two hours, one that is
//! only opened or about to end for a minute or two, a question by UDP for half a minute. So a flood
//! of openings takes room for two minutes, not for hours. The times are configured.
//!
//! Which addresses outside nobody may talk to is configured, and may change while packets come: a
//! connection that was judged under other rules is judged again at its next packet, in either
//! direction.
//!
//! Try it:  `cargo cora run stateful-firewall --nic native --in some.pcap --out out.pcap
//! --state-out state.json` With rules: `--config Rules=rules.txt`, where a line is `deny PREFIX` or
//! `deny PREFIX PORT`; with other
//! times: `--config Times=times.txt`, where a line is `established 7440`.
//!
//! Expect:  `transmit`, `not-allowed` and `bad-tcp-state` as of `firewall`. Times are those of
//! packets, so a capture gives the same result however fast it is fed, and under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

mod rules;

use rules::Rules;

/// The longest time that a connection may be silent (s), as its table has it.
const LONGEST: u16 = 2 * 3600 + 4 * 60;

/// A connection that somebody inside opened. `idle` is the longest time that one may be silent.
#[state(
    key = FiveTuple,
    reply,
    capacity = 1_000_000,
    idle = "2h4m",
    idle_by = Self::idle,
    assured_by = Self::is_assured
)]
struct Connection {
    /// By which rules it was allowed.
    judged: Generation,
    /// How long it may be silent (s).
    idle: u16,
    tcp: TcpState,
    /// Whether outside has answered.
    answered: bool,
    original_packets: u64,
    reply_packets: u64,
}

impl Connection {
    fn open(
        packet: &Headers,
        protocol: u8,
        judged: Generation,
        times: &Timeouts,
    ) -> Result<Self, Reason> {
        let tcp = TcpState::open(packet)?;
        let idle = times.seconds(protocol, tcp, false);
        Ok(Self { judged, idle, tcp, answered: false, original_packets: 1, reply_packets: 0 })
    }

    /// One more packet; those that can't be of the connection change nothing.
    fn advance(
        &mut self,
        packet: &Headers,
        protocol: u8,
        direction: Direction,
        times: &Timeouts,
    ) -> Result<(), Reason> {
        let before = (self.tcp, self.answered);
        self.tcp.advance(packet, direction)?;
        match direction {
            Direction::Original => self.original_packets += 1,
            Direction::Reply => {
                self.answered = true;
                self.reply_packets += 1;
            }
        }
        // An entry knows its own time: it is asked for by both sides, and by no packet.
        if before != (self.tcp, self.answered) {
            self.idle = times.seconds(protocol, self.tcp, self.answered);
        }
        Ok(())
    }

    fn idle(&self) -> Duration {
        Duration::from_secs(self.idle.into())
    }

    /// Whether it stays where a full table needs room: connections that outside answered and that
    /// still go on, not those that a flood opens.
    fn is_assured(&self) -> bool {
        self.tcp.goes_on() && self.answered
    }
}

/// How long connections may be silent.
#[state(read_mostly)]
struct Times {
    idle: Timeouts,
}

impl Default for Times {
    fn default() -> Self {
        Self { idle: Timeouts::TRACKING }
    }
}

impl Configure for Times {
    fn configure(text: &str) -> Result<Self, &'static str> {
        Ok(Self { idle: Timeouts::TRACKING.with(text, LONGEST)? })
    }
}

/// Inside may open as the rules allow; outside may only answer.
#[flow_handler]
fn firewall(
    packet: &mut Headers,
    connections: &mut Table<Connection>,
    rules: &Rules,
    times: &Times,
) -> Verdict {
    if packet.is_link_local_control() || packet.is_dhcp() {
        return Transmit;
    }
    packet.forwardable()?;
    let flow = packet.five_tuple()?;
    let outside = if packet.from_inside() { flow } else { flow.reversed() };
    let port = outside.has_ports().then_some(outside.destination_port);
    let allowed = || rules.allow(outside.destination, port);
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            if connection.judged != rules.generation {
                if !allowed() {
                    connections.remove(&flow);
                    return Drop(NotAllowed);
                }
                connection.judged = rules.generation;
            }
            connection.advance(packet, flow.protocol, direction, &times.idle)?;
        }
        None if packet.from_inside() && allowed() => {
            let connection =
                Connection::open(packet, flow.protocol, rules.generation, &times.idle)?;
            connections.insert(flow, connection)?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(firewall);

#[cfg(test)]
mod tests;
