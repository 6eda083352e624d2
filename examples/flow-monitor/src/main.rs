//! # flow-monitor: a record of every flow
//!
//! Packets, bytes and times of each flow in both directions, with the TCP flags that were seen and the extremes of
//! length and time to live: what NetFlow and IPFIX records are made of. Everything passes.
//!
//! Try it:  `cargo cora run flow-monitor --nic native --in some.pcap --state-out state.json`
//!
//! Expect:  records travel with their flows, so that most packets are counted at the NIC; totals by protocol are
//! commutative. The state at the end has the records that are alive, the same under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// What went one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Way {
    packets: u64,
    bytes: u64,
    /// All TCP flags that were seen, as in the header.
    tcp_flags: u8,
    least_ttl: u8,
    greatest_ttl: u8,
}

/// A flow, both ways; the original one is that of its first packet.
#[state(key = FiveTuple, reply, capacity = 1 << 19, idle = "5m")]
struct Flow {
    /// Of its first and its last packet (ns).
    first: u64,
    last: u64,
    longest: u16,
    original: Way,
    reply: Way,
}

/// Totals, of flows that are gone too.
#[state(commutative)]
struct Totals {
    flows: Sum,
    bytes: Sum,
    tcp_packets: Sum,
    udp_packets: Sum,
    other_packets: Sum,
    longest_packet: Max,
    largest: TopK<FiveTuple, 16>,
}

impl Way {
    const NOTHING: Self =
        Self { packets: 0, bytes: 0, tcp_flags: 0, least_ttl: u8::MAX, greatest_ttl: 0 };

    fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += packet.len() as u64;
        self.tcp_flags |= packet.tcp_flags().map_or(0, |flags| flags.0);
        if let Ok(ttl) = packet.ttl() {
            self.least_ttl = self.least_ttl.min(ttl);
            self.greatest_ttl = self.greatest_ttl.max(ttl);
        }
    }
}

impl Flow {
    fn new(packet: &Packet) -> Self {
        let now = packet.now();
        let mut flow =
            Self { first: now, last: now, longest: 0, original: Way::NOTHING, reply: Way::NOTHING };
        flow.count(packet, Direction::Original);
        flow
    }

    /// One more packet; gives the flow's bytes, both ways.
    fn count(&mut self, packet: &Packet, direction: Direction) -> u64 {
        self.last = packet.now();
        self.longest = self.longest.max(packet.len() as u16);
        match direction {
            Direction::Original => self.original.count(packet),
            Direction::Reply => self.reply.count(packet),
        }
        self.original.bytes + self.reply.bytes
    }
}

/// Counts, and lets everything pass.
#[flow_handler]
fn monitor(packet: &mut Packet, flows: &mut Table<Flow>, totals: &mut Totals) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let key = packet.five_tuple()?;
    let length = packet.len() as u64;
    match flows.find_mut(&key) {
        Some((direction, flow)) => {
            let bytes = flow.count(packet, direction);
            // Under the flow's own key, whichever way this packet goes.
            let key = if direction == Direction::Reply { key.reversed() } else { key };
            totals.largest.raise(key, bytes);
        }
        None => {
            flows.insert(key, Flow::new(packet))?;
            totals.flows.add(1);
            totals.largest.raise(key, length);
        }
    }
    totals.bytes.add(length);
    totals.longest_packet.raise(length);
    match key.protocol {
        protocol::TCP => totals.tcp_packets.add(1),
        protocol::UDP => totals.udp_packets.add(1),
        _ => totals.other_packets.add(1),
    }
    Transmit
}

cora::app!(monitor);

#[cfg(test)]
mod tests;
