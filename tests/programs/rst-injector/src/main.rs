//! # rst-injector: refuses connections at both ends
//!
//! To test, not to copy. A file gives the TCP connections and UDP flows to refuse, by addresses and
//! ports. The first rule that fits decides; connections without a rule pass. A rule is about the
//! packet that opens a connection, and so holds for both directions. Each packet of a refused TCP
//! connection is dropped, and both ends get a reset for it. The sender of a refused datagram gets
//! an ICMP error in the name of its destination, at most one a second and flow. Each refused
//! connection becomes a record. Another version of the file judges connections anew.
//!
//! ICMP and all that is no IP pass. Fragments are dropped, since they have no ports.
//!
//! Try it: `cargo cora run rst-injector --nic native --in some.pcap --ipfix refused.ipfix --config
//! Rule=rules.csv`, where rules.csv has the line `destination, protocol, destination_port, number,
//! allow` and below it `any, tcp, 23, 1, false`.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[cfg(test)]
mod tests;

const REFUSED: Reason = Reason::new("refused");
const CONNECTIONS: u32 = 1 << 17;
/// The least time between two ICMP errors about a flow (ns).
const PAUSE: u64 = 1_000_000_000;

/// `firewallEvent` and its value for a flow that was denied.
const FIREWALL_EVENT: Element = Element::iana(233, 1);
const DENIED: u8 = 3;
/// `selectorId`: the number of the rule.
const SELECTOR: Element = Element::iana(302, 4);

#[state(acl, capacity = 1_000)]
struct Rule {
    number: u32,
    allow: bool,
}

/// A connection, refused or not. Its key is that of the first packet that was seen of it.
#[state(key = FiveTuple, reply, capacity = CONNECTIONS, idle = "5m")]
struct Connection {
    judged: Generation,
}

/// A refused connection. The other ones have no record.
#[state(key = FiveTuple, reply, capacity = CONNECTIONS, idle = "5m", recorded)]
struct Refusal {
    /// The rule that refuses it.
    rule: u32,
    packets: u64,
    first: u64,
    last: u64,
    /// No ICMP error before this time.
    silent_until: u64,
}

impl Refusal {
    /// Before its first packet.
    const fn new(rule: u32, now: u64) -> Self {
        Self { rule, packets: 0, first: now, last: now, silent_until: now }
    }

    /// Whether its sender gets another ICMP error.
    const fn is_due(&mut self, now: u64) -> bool {
        let is_due = now >= self.silent_until;
        if is_due {
            self.silent_until = now + PAUSE;
        }
        is_due
    }
}

impl FlowRecord for Refusal {
    fn record(&self, key: &FiveTuple, _end: End, record: &mut Record<'_>) {
        record.five_tuple(key);
        record.milliseconds(element::START_MILLISECONDS, self.first);
        record.milliseconds(element::END_MILLISECONDS, self.last);
        record.number(element::PACKETS, self.packets);
        record.number(FIREWALL_EVENT, DENIED);
        record.number(SELECTOR, self.rule);
    }
}

#[flow_handler]
fn inject(
    packet: &mut Packet,
    connections: &mut Table<Connection>,
    refusals: &mut Table<Refusal>,
    rules: &Acl<Rule>,
    out: &mut Outbox,
) -> Verdict {
    let flow = match packet.five_tuple() {
        Ok(flow) if matches!(flow.protocol, protocol::TCP | protocol::UDP) => flow,
        Err(why) if why != NotIp && why != NoFlow => return Drop(why),
        _ => return Transmit,
    };
    if packet.is_icmp_error() {
        return Transmit;
    }
    let (opened, is_known) = match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            let is_original = direction == Direction::Original;
            let opened = if is_original { flow } else { flow.reversed() };
            (opened, connection.judged == rules.generation())
        }
        None => (flow, false),
    };
    let now = packet.now();
    if !is_known {
        connections.insert(opened, Connection { judged: rules.generation() })?;
        // A refusal by the rules before is a record of its own.
        refusals.remove(&opened);
        if let Some(rule) = rules.first(&opened).filter(|rule| !rule.allow) {
            refusals.insert(opened, Refusal::new(rule.number, now))?;
        }
    }
    let Some(refusal) = refusals.get_mut(&opened) else { return Transmit };
    refusal.packets += 1;
    refusal.last = now;
    if packet.tcp().is_some() {
        out.reset_both(packet)?;
    } else if refusal.is_due(now) {
        let (port, asked) = (packet.port(), packet.destination()?);
        // Some packets must not be answered: those to groups, for example.
        if packet.turn_to_error(asked, IcmpError::PortUnreachable).is_ok() {
            out.send(packet, port)?;
        }
    }
    Drop(REFUSED)
}

cora::app!(inject);
