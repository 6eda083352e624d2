//! # sni-filter: refuses TLS connections by the server's name
//!
//! To test, not to copy. The client's first message has the name of its server in the clear (RFC
//! 6066, 3). The program reads the message while its segments pass, wherever they are cut, and
//! keeps only the name and the place in the message. A file has the names to refuse; a name covers
//! all names below it. From the segment that completes such a name on, all packets of the
//! connection are dropped, and both ends get a reset. Each connection becomes a record, with the
//! name if there is one. A connection is judged once: another version of the file is for later
//! ones.
//!
//! Until the name is known, segments that come too early are dropped: the client sends them again.
//! Not caught: an encrypted name (ECH), a connection that began before the run, and a client that
//! sends other bytes when it repeats itself.
//!
//! Try it: `cargo cora run sni-filter --nic native --in some.pcap --ipfix names.ipfix --config
//! Blocked=blocked.csv`, where blocked.csv has the line `name` and below it one domain a line.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

mod domain;
mod hello;
#[cfg(test)]
mod tests;

use domain::{Domain, domains};
use hello::Hello;

const BLOCKED: Reason = Reason::new("blocked-name");
const TOO_EARLY: Reason = Reason::new("too-early");

/// `firewallEvent`: 1 for a flow that was created, 3 for one that was denied.
const FIREWALL_EVENT: Element = Element::iana(233, 1);

/// A domain to refuse, with all names below it.
#[state(map, key = Domain, capacity = 1 << 20)]
struct Blocked {}

/// A TCP connection since its SYN. `idle` is the longest time that one may be silent.
#[state(key = FiveTuple, reply, capacity = 1 << 16, idle = "2h4m", idle_by = Self::idle, recorded)]
struct Connection {
    tcp: TcpState,
    refused: bool,
    /// The sequence number of the client's next byte.
    next: u32,
    hello: Hello,
}

impl Connection {
    fn open(packet: &Headers<'_>, tcp: &TcpHeader) -> Result<Self, Reason> {
        let next = tcp.seq.wrapping_add(1);
        Ok(Self { tcp: TcpState::open(packet)?, refused: false, next, hello: Hello::new() })
    }

    fn idle(&self) -> Duration {
        self.tcp.idle()
    }

    /// Reads the new bytes of a segment that begins with this sequence number.
    fn read(&mut self, seq: u32, payload: &[u8]) -> Result<(), Reason> {
        let known = self.next.wrapping_sub(seq);
        if known > u32::MAX / 2 {
            return Err(TOO_EARLY);
        }
        let new = payload.get(known as usize..).unwrap_or_default();
        for byte in new {
            self.hello.take(*byte);
        }
        self.next = self.next.wrapping_add(new.len() as u32);
        Ok(())
    }
}

impl FlowRecord for Connection {
    fn record(&self, key: &FiveTuple, _end: End, record: &mut Record<'_>) {
        record.five_tuple(key);
        record.number(FIREWALL_EVENT, if self.refused { 3_u8 } else { 1 });
        if let Some(name) = self.hello.name() {
            record.text(element::HTTP_REQUEST_HOST, name);
        }
    }
}

#[flow_handler]
fn filter(
    packet: &mut Packet,
    connections: &mut Table<Connection>,
    blocked: &Map<Blocked>,
    out: &mut Outbox,
) -> Verdict {
    let (flow, tcp) = match (packet.five_tuple(), packet.tcp()) {
        (Ok(flow), Some(tcp)) if !packet.is_icmp_error() => (flow, tcp),
        // A fragment may hide a name.
        (Err(why), _) if why != NotIp && why != NoFlow => return Drop(why),
        _ => return Transmit,
    };
    let Some((direction, connection)) = connections.find_mut(&flow) else {
        if tcp.flags.syn() && !tcp.flags.ack() {
            connections.insert(flow, Connection::open(packet, &tcp)?)?;
        }
        return Transmit;
    };
    if connection.tcp.reopens(packet) {
        connections.remove(&flow);
        connections.insert(flow, Connection::open(packet, &tcp)?)?;
        return Transmit;
    }
    if !connection.refused {
        connection.tcp.advance(packet, direction)?;
        if direction == Direction::Reply || connection.hello.is_over() {
            return Transmit;
        }
        connection.read(tcp.seq, packet.payload())?;
        let name = connection.hello.name().unwrap_or_default();
        connection.refused = domains(name).any(|domain| blocked.get(&domain).is_some());
        if !connection.refused {
            return Transmit;
        }
        // Another SYN begins anew.
        connection.tcp = TcpState::Closed;
    }
    if tcp.flags.ack() {
        out.reset_both(packet)?;
    }
    Drop(BLOCKED)
}

cora::app!(filter);
