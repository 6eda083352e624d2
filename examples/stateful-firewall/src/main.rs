//! # stateful-firewall: connections are forgotten by their state
//!
//! As `firewall`, inside may open and outside only answer; but a connection is remembered as long
//! as its protocol and its state ask for: an established one for more than two hours, one that is
//! only opened or about to end for a minute or two, a question by UDP for half a minute. So a flood
//! of openings takes room for two minutes, not for hours. The times are configured.
//!
//! Who inside may open what is configured by ordered rules, and may change while packets come: a
//! connection that was judged under other rules is judged again at its next packet, in either
//! direction.
//!
//! Try it:  `cargo cora run stateful-firewall --nic native --in some.pcap --out out.pcap
//! --state-out state.json` With rules: `--config Rule=rules.csv`; with other times: `--config
//! Times=times.txt`, where a line is `established 7440`.
//!
//! Expect:  `transmit`, `not-allowed` and `bad-tcp-state` as of `firewall`. Times are those of
//! packets, so a capture gives the same result at any speed, and under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

/// The longest time that a connection may be silent (s), as the table has it.
const LONGEST: u16 = 2 * 3600 + 4 * 60;

/// A connection that somebody inside opened. `idle` is the longest time that any may be silent.
#[state(
    key = FiveTuple,
    reply,
    capacity = 1_000_000,
    idle = "2h4m",
    idle_by = Self::idle,
    assured_by = Self::is_assured
)]
struct Connection {
    /// The version of the rules that allowed the connection.
    judged: Generation,
    /// How long the connection may be silent (s).
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
        // An entry knows its own time: both sides ask for that time, and no packet does.
        if before != (self.tcp, self.answered) {
            self.idle = times.seconds(protocol, self.tcp, self.answered);
        }
        Ok(())
    }

    fn idle(&self) -> Duration {
        Duration::from_secs(self.idle.into())
    }

    /// Whether the connection stays where a full table needs room: after an answer from outside,
    /// until the end of the conversation. A flood's connections do not stay.
    fn is_assured(&self) -> bool {
        self.tcp.goes_on() && self.answered
    }
}

/// Whether inside may open such connections. A connection that no rule fits is allowed.
#[state(acl, capacity = 10_000)]
struct Rule {
    allow: bool,
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
    rules: &Acl<Rule>,
    times: &Times,
) -> Verdict {
    if packet.is_link_local_control() || packet.is_dhcp() {
        return Transmit;
    }
    packet.forwardable()?;
    let flow = packet.five_tuple()?;
    let outside = if packet.from_inside() { flow } else { flow.reversed() };
    let allowed = || rules.first(&outside).is_none_or(|rule| rule.allow);
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            if connection.judged != rules.generation() {
                if !allowed() {
                    connections.remove(&flow);
                    return Drop(NotAllowed);
                }
                connection.judged = rules.generation();
            }
            connection.advance(packet, flow.protocol, direction, &times.idle)?;
        }
        None if packet.from_inside() && allowed() => {
            let connection =
                Connection::open(packet, flow.protocol, rules.generation(), &times.idle)?;
            connections.insert(flow, connection)?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(firewall);

#[cfg(test)]
mod tests;
