//! # flow-monitor: a record of every flow
//!
//! Packets, bytes and times of each flow in both directions, with the TCP flags that were seen and
//! the extremes of length and time to live: the content of NetFlow and IPFIX records. Everything
//! passes; packets without a five-tuple are counted in the totals alone.
//!
//! A flow ends when nothing came for a while, when its end was seen (FIN both ways, or RST), or
//! after a minute, when another one begins in its place; and with the run. Each becomes one record,
//! which `--ipfix` exports.
//!
//! Try it:  `cargo cora run flow-monitor --nic native --in some.pcap --ipfix records.ipfix`
//!
//! Expect:  entries travel with their flows, so that most packets are counted at the NIC; totals by
//! protocol are commutative. Records and the state at the end are the same under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

/// How long a flow that goes on is counted in one record (ns).
const ACTIVE: u64 = 60_000_000_000;
/// How long a flow is kept after its end was seen, for packets on their way.
const LINGER: Duration = Duration::from_secs(5);

/// The packets of one direction.
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
#[state(key = FiveTuple, reply, capacity = 1 << 19, idle = "30s", idle_by = Self::idle, recorded)]
struct Flow {
    /// Of its first and its last packet (ns).
    first: u64,
    last: u64,
    longest: u16,
    /// Type and code of its first packet, if that is of ICMP.
    icmp: u16,
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

    fn count(&mut self, packet: &Headers) {
        self.packets += 1;
        self.bytes += packet.len() as u64;
        self.tcp_flags |= packet.tcp_flags().map_or(0, |flags| flags.0);
        if let Ok(ttl) = packet.ttl() {
            self.least_ttl = self.least_ttl.min(ttl);
            self.greatest_ttl = self.greatest_ttl.max(ttl);
        }
    }

    /// Its part of a record, in the elements of its direction. Of no packets there are no extremes,
    /// and of other protocols no flags of TCP.
    fn record(&self, record: &mut Record<'_>, protocol: u8, of: impl Fn(Element) -> Element) {
        record.number(of(element::PACKETS), self.packets);
        record.number(of(element::LAYER2_OCTETS), self.bytes);
        if protocol == protocol::TCP {
            record.number(of(element::TCP_FLAGS), self.tcp_flags);
        }
        if self.packets > 0 {
            record.number(of(element::LEAST_TTL), self.least_ttl);
            record.number(of(element::GREATEST_TTL), self.greatest_ttl);
        }
    }
}

impl Flow {
    /// A flow that begins with this packet.
    fn begin(packet: &Headers, direction: Direction) -> Self {
        let now = packet.now();
        let mut flow = Self {
            first: now,
            last: now,
            longest: 0,
            icmp: packet.icmp_type_and_code().unwrap_or(0),
            original: Way::NOTHING,
            reply: Way::NOTHING,
        };
        flow.count(packet, direction);
        flow
    }

    /// Whether its end was seen: a FIN both ways, or an RST.
    fn is_over(&self) -> bool {
        let (one, two) = (TcpFlags(self.original.tcp_flags), TcpFlags(self.reply.tcp_flags));
        (one.fin() && two.fin()) || one.rst() || two.rst()
    }

    /// Whether the packet is one of another flow with the same key: another connection, or the same
    /// one in another record.
    fn ends_before(&self, packet: &Headers) -> bool {
        packet.now().saturating_sub(self.first) >= ACTIVE || self.is_reopened_by(packet)
    }

    fn is_reopened_by(&self, packet: &Headers) -> bool {
        self.is_over() && packet.tcp_flags().is_some_and(|flags| flags.syn() && !flags.ack())
    }

    fn idle(&self) -> Duration {
        if self.is_over() { LINGER } else { Duration::from_secs(30) }
    }

    /// One more packet; gives the flow's bytes, both ways.
    fn count(&mut self, packet: &Headers, direction: Direction) -> u64 {
        self.last = packet.now();
        self.longest = self.longest.max(packet.len() as u16);
        match direction {
            Direction::Original => self.original.count(packet),
            Direction::Reply => self.reply.count(packet),
        }
        self.original.bytes + self.reply.bytes
    }
}

impl FlowRecord for Flow {
    fn record(&self, key: &FiveTuple, end: End, record: &mut Record<'_>) {
        record.five_tuple(key);
        record.icmp(key, self.icmp);
        record.milliseconds(element::START_MILLISECONDS, self.first);
        record.milliseconds(element::END_MILLISECONDS, self.last);
        self.original.record(record, key.protocol, |element| element);
        // Where nothing came back there is no way back (RFC 5103).
        if self.reply.packets > 0 {
            self.reply.record(record, key.protocol, Element::reverse);
        }
        record.number(element::LONGEST_FRAME, self.longest);
        let reason: u8 = match end {
            _ if self.is_over() => 3,
            End::Idle => 1,
            End::LifeOver => 2,
            End::Removed => 2,
            End::RunOver => 4,
            End::Evicted => 5,
        };
        record.number(element::END_REASON, reason);
    }
}

/// Counts, and lets everything pass.
#[flow_handler(transparent)]
fn monitor(packet: &mut Headers, flows: &mut Table<Flow>, totals: &mut Totals) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let length = packet.len() as u64;
    totals.bytes.add(length);
    totals.longest_packet.raise(length);
    let Ok(key) = packet.five_tuple() else {
        totals.other_packets.add(1);
        return Transmit;
    };
    match flows.find_mut(&key) {
        Some((direction, flow)) if flow.ends_before(packet) => {
            // The counts so far are a record of their own. A new connection goes from its first
            // packet's sender.
            let same_way = direction == Direction::Original || flow.is_reopened_by(packet);
            let (key, direction) =
                if same_way { (key, Direction::Original) } else { (key.reversed(), direction) };
            flows.remove(&key);
            // Its entry was just given back.
            let _is_kept = flows.insert(key, Flow::begin(packet, direction));
            totals.flows.add(1);
            totals.largest.raise(key, length);
        }
        Some((direction, flow)) => {
            let bytes = flow.count(packet, direction);
            // Under the flow's own key, whichever way this packet goes.
            let key = if direction == Direction::Reply { key.reversed() } else { key };
            totals.largest.raise(key, bytes);
        }
        None => {
            // Without room for it, the totals alone count it, each packet as a flow.
            let _is_kept = flows.insert(key, Flow::begin(packet, Direction::Original));
            totals.flows.add(1);
            totals.largest.raise(key, length);
        }
    }
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
