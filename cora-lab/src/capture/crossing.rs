//! Each packet that came out, matched with one that went in by the fields that no translation
//! changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use cora_traffic::view::Tuple;

use super::packet::Packet;
use crate::checks::{INSIDE, PROBES};
use crate::function::Function;
use crate::verdict::Observed;

/// The outcome of all packets.
#[derive(Debug, Default)]
pub(super) struct Crossing {
    until: u64,
    /// Packets that passed.
    passed: u64,
    /// Clients' packets that did not come out.
    pub(super) lost: BTreeMap<String, u64>,
    /// Packets from outside that did not come out.
    kept_out: BTreeMap<String, u64>,
    /// Packets that came out and never went in.
    invented: BTreeMap<String, u64>,
    /// Packets with right checksums that came out with wrong ones. A packet with other bytes
    /// changed counts as lost and as invented.
    unsound: u64,
    /// Packets that came out before one of the same flow that had gone in earlier.
    overtaken: u64,
    hops: BTreeSet<u8>,
    /// Each flow from a client with its translation, and the number of flows of each service.
    flows: BTreeMap<Tuple, Tuple>,
    services: BTreeMap<String, u64>,
    /// Packets that differ from their flow's translation, and flows with another's translation.
    mixed: u64,
    /// Flows with a translation that is not the function's.
    mistranslated: u64,
}

const fn reversed(tuple: Tuple) -> Tuple {
    let (protocol, from, source, to, destination) = tuple;
    (protocol, to, destination, from, source)
}

/// Returns the tuple as the client's packets have it, for a packet of either direction.
const fn from_client(packet: &Packet) -> Tuple {
    if packet.outward { packet.tuple } else { reversed(packet.tuple) }
}

/// Packets that came out and have no match yet, by mark: each with its place in the order.
type Waiting<'a> = BTreeMap<u64, VecDeque<(usize, &'a Packet)>>;

fn waiting<'a>(packets: impl Iterator<Item = &'a Packet>) -> Waiting<'a> {
    let mut waiting = Waiting::new();
    for (at, packet) in packets.enumerate() {
        waiting.entry(packet.mark).or_default().push_back((at, packet));
    }
    waiting
}

impl Crossing {
    /// Follows packets from clients to the router, and back. A packet seen after `until` on one
    /// side (nanoseconds since 1970) may lack on the other.
    pub(super) fn of(
        clients: &[Packet],
        router: &[Packet],
        until: u64,
        function: Function,
    ) -> Self {
        let mut crossing = Self { until, ..Self::default() };
        // Outward first: this direction defines each flow's translation.
        crossing.follow(clients, router, true);
        crossing.follow(router, clients, false);
        crossing.judge(function);
        crossing
    }

    fn follow(&mut self, before: &[Packet], behind: &[Packet], outward: bool) {
        let mut came = waiting(behind.iter().filter(|packet| packet.outward == outward));
        let mut last = BTreeMap::<Tuple, usize>::new();
        for packet in before.iter().filter(|packet| packet.outward == outward) {
            let found = came.get_mut(&packet.mark).and_then(|queue| {
                let expected = |(_, it): &(usize, &Packet)| self.fits(packet, it);
                let at = queue.iter().position(expected).unwrap_or(0);
                queue.remove(at)
            });
            match found {
                Some((at, out)) => {
                    self.pass(packet, out);
                    let before = last.insert(packet.tuple, at);
                    self.overtaken += u64::from(before.is_some_and(|before| before > at));
                }
                None if self.is_of_no_account(packet) => {}
                None if outward => *self.lost.entry(what(packet)).or_default() += 1,
                None => *self.kept_out.entry(what(packet)).or_default() += 1,
            }
        }
        for (_, packet) in came.values().flatten() {
            if self.is_of_no_account(packet) {
                continue;
            }
            *self.invented.entry(what(packet)).or_default() += 1;
        }
    }

    fn is_of_no_account(&self, packet: &Packet) -> bool {
        packet.time >= self.until || is_probe(packet)
    }

    /// Returns whether `out` agrees with the known translation of the packet's flow.
    fn fits(&self, packet: &Packet, out: &Packet) -> bool {
        let (inside, outside) = if packet.outward { (packet, out) } else { (out, packet) };
        match self.flows.get(&from_client(inside)) {
            Some(known) => *known == from_client(outside),
            None => true,
        }
    }

    fn pass(&mut self, packet: &Packet, out: &Packet) {
        self.passed += 1;
        self.unsound += u64::from(packet.sound && !out.sound);
        self.hops.insert(packet.hops.wrapping_sub(out.hops));
        let (inside, outside) = if packet.outward { (packet, out) } else { (out, packet) };
        let known = self.flows.entry(from_client(inside)).or_insert(from_client(outside));
        self.mixed += u64::from(*known != from_client(outside));
    }

    fn judge(&mut self, function: Function) {
        let mut became = BTreeSet::new();
        for (flow, other) in &self.flows {
            self.mixed += u64::from(!became.insert(other));
            if !is_of_probe(flow) {
                *self.services.entry(service(flow)).or_default() += 1;
            }
            self.mistranslated += u64::from(!is_right(function, flow, other));
        }
    }

    /// Returns the results of all packets.
    pub(super) fn told(&self) -> Vec<Observed> {
        let services = list(&self.services);
        let hops: Vec<String> = self.hops.iter().map(ToString::to_string).collect();
        let compared = [
            ("captures: flows that passed, by service", services),
            ("captures: packets changed or made up", list(&self.invented)),
            ("captures: checksums made wrong", self.unsound.to_string()),
            ("captures: flows translated wrongly", self.mistranslated.to_string()),
            ("captures: flows mixed up", self.mixed.to_string()),
            ("captures: hops taken off TTL", hops.join(", ")),
        ];
        let compared = compared.into_iter().map(|(what, result)| Observed::compared(what, result));
        let told = [
            ("captures: packets that passed", self.passed.to_string()),
            // Two processors may send packets of one flow, and capture them in another order than
            // they send them in.
            ("captures: packets overtaken in their flow", self.overtaken.to_string()),
            ("captures: packets kept out", list(&self.kept_out)),
        ];
        let told = told.into_iter().map(|(what, result)| Observed::told(what, result));
        compared.chain(told).collect()
    }
}

/// Returns whether it is traceroute's: the reach of its probes depends on the number of hops.
fn is_of_probe(flow: &Tuple) -> bool {
    flow.0 == 17 && PROBES.contains(&flow.4)
}

fn is_probe(packet: &Packet) -> bool {
    is_of_probe(&from_client(packet))
}

/// Returns `tcp/80 3, udp/53 1`, or `none`.
pub(crate) fn list(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let words: Vec<String> = counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    words.join(", ")
}

/// Returns `tcp/80`, `udp6/53` or `icmp`.
fn service(flow: &Tuple) -> String {
    let version = if flow.3.is_ipv4() { "" } else { "6" };
    if INSIDE.contains(&flow.2) {
        return format!("from outside {}", if flow.0 == 6 { "tcp" } else { "udp" }) + version;
    }
    match flow.0 {
        6 => format!("tcp{version}/{}", flow.4),
        17 => format!("udp{version}/{}", flow.4),
        _ => format!("icmp{version}"),
    }
}

fn what(packet: &Packet) -> String {
    let flags = packet
        .segment
        .as_ref()
        .map(|(_, flags, data)| format!(" flags {flags:#04x}, {} bytes", data.len()));
    let error = if packet.is_error { "error of " } else { "" };
    format!("{error}{}{}", service(&from_client(packet)), flags.unwrap_or_default())
}

/// Returns whether `other` is the function's translation of a client's flow.
fn is_right(function: Function, flow: &Tuple, other: &Tuple) -> bool {
    let (protocol, from, source, to, destination) = *flow;
    match (function.public(), from) {
        (Some(public), IpAddr::V4(_)) => {
            let ping = matches!(protocol, 1 | 58);
            let same_service = ping || other.4 == destination;
            other.1 == IpAddr::from(public)
                && (ping || other.2 >= 32_768)
                && other.3 == to
                && same_service
        }
        _ if function == Function::Balancer && to == function.servers()[0] => {
            let is_backend = matches!(other.3, IpAddr::V4(it) if it.octets()[..3] == [10, 1, 0]);
            is_backend && (other.1, other.2, other.4) == (from, source, destination)
        }
        _ => other == flow,
    }
}
