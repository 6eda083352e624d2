//! Groups of packets that leave in their order of arrival, for programs with groups other than the
//! two directions of a connection.
//!
//! Only packets that share a group have an order: under a source's key the two directions of a
//! connection are two flows, and each may be at another side.

use std::collections::BTreeMap;
use std::path::Path;

use cora::prelude::{Address, Packet};
use cora_tests::captures;
use cora_traffic::is_inside;

use crate::input::ip;

/// The group of a program's packets, if it is coarser than a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Group {
    Source,
    Inside,
    /// A pair of stations.
    Link,
    /// Packets of a flow in one direction: the other direction is in a tunnel.
    OneWay,
    /// The same, and apart from them the ICMP errors about it, by the router that sent them. Errors
    /// of this router are of another bucket than those that it forwards.
    Routed,
}

/// The packets of each group; those without an address are one more group.
type Groups = BTreeMap<Option<[Address; 2]>, Vec<Vec<u8>>>;

impl Group {
    /// Returns the group of the program with this name; `None` for connections.
    pub(crate) fn of(program: &str) -> Option<Self> {
        match program {
            "policer" | "port-scan" => Some(Self::Source),
            "connection-limiter" | "dns-guard" | "fragments" | "tenants" => Some(Self::Inside),
            "bridge" => Some(Self::Link),
            "vxlan" => Some(Self::OneWay),
            "gateway" => Some(Self::Routed),
            _ => None,
        }
    }

    /// Returns the key of a packet's group. The port is unknown here, so the addresses show the
    /// inside end. If both ends are inside, both form the key.
    fn ends(self, packet: &Packet<'_>) -> Option<[Address; 2]> {
        if matches!(self, Self::Link) {
            let mut ends = [packet.mac_source().ok()?, packet.mac_destination().ok()?].map(station);
            ends.sort_unstable();
            return Some(ends);
        }
        let (source, destination) = match packet.five_tuple() {
            // Independent of the router that sent it.
            Ok(flow) if packet.is_icmp_error() && matches!(self, Self::Inside) => {
                (flow.source, flow.destination)
            }
            _ => (packet.source().ok()?, packet.destination().ok()?),
        };
        match (self, is_inside(ip(source)), is_inside(ip(destination))) {
            (Self::Source, ..) | (Self::Inside, true, false) => Some([source; 2]),
            (Self::Inside, false, true) => Some([destination; 2]),
            (Self::Routed, ..) if packet.is_icmp_error() => {
                let [from, to] = one_way(packet, [source, destination]);
                let router = router(packet)?.bits().rotate_left(64);
                Some([Address::v6((from.bits() ^ router).to_be_bytes()), to])
            }
            (Self::OneWay | Self::Routed, ..) => Some(one_way(packet, [source, destination])),
            (Self::Inside | Self::Link, ..) => {
                Some([source.min(destination), source.max(destination)])
            }
        }
    }

    fn packets(self, capture: &Path) -> Groups {
        let mut groups = Groups::new();
        captures::each(capture, |_, packet| {
            groups.entry(self.ends(packet)).or_default().push(packet.frame().to_vec());
        });
        groups
    }

    /// Asserts that each group has the same packets in the same order.
    #[track_caller]
    pub(crate) fn compare(self, of: &str, expected: &Path, found: &Path) {
        let (expected, found) = (self.packets(expected), self.packets(found));
        let none = Vec::new();
        for group in expected.keys().chain(found.keys()) {
            let packets = [&expected, &found].map(|side| side.get(group).unwrap_or(&none));
            let differs = packets[0].iter().zip(packets[1]).position(|(a, b)| a != b);
            let lengths = packets.map(Vec::len);
            assert!(
                differs.is_none() && lengths[0] == lengths[1],
                "{of}: the packets of {group:?} differ from number {differs:?} on: {lengths:?}"
            );
        }
    }
}

/// Returns an Ethernet address as an IP address.
fn station(mac: [u8; 6]) -> Address {
    Address::v6(mac.iter().fold(0_u128, |bits, octet| bits << 8 | u128::from(*octet)).to_be_bytes())
}

/// Returns the address that an ICMP error comes from. Its flow is that of the packet that it is
/// about.
fn router(packet: &Packet<'_>) -> Option<Address> {
    let ip = packet.frame().get(packet.offsets()?.ip..)?;
    if packet.is_ipv4() {
        return Some(Address::v4(*ip.get(12..)?.first_chunk()?));
    }
    Some(Address::v6(*ip.get(8..)?.first_chunk()?))
}

/// Returns the ends, changed by the ports and the protocol, if there are any.
fn one_way(packet: &Packet<'_>, [source, destination]: [Address; 2]) -> [Address; 2] {
    let Ok(flow) = packet.five_tuple() else { return [source, destination] };
    let with = |address: Address, port: u16| {
        let apart = u128::from(port) << 104 | u128::from(flow.protocol) << 96;
        Address::v6((address.bits() ^ apart).to_be_bytes())
    };
    [with(flow.source, flow.source_port), with(flow.destination, flow.destination_port)]
}
