//! Traffic by way of a router: hosts on its link inside, and servers behind a router outside.
//! Addresses are those of the files of the example `gateway`.
//!
//! All of it is IPv6. A capture of one interface tells by the source's IP address which side a
//! packet is from, and ARP has none.

use std::net::{IpAddr, Ipv6Addr};

use crate::wire::{self, End, ICMPV6, Path, Tags};

/// How often neighbours tell their addresses (ns): more often than a router forgets them.
pub(super) const EVERY: u64 = 30 * crate::flow::SECOND;
/// Time (ns) after which a router knows what it was told on any of its cores.
pub(super) const KNOWN_AFTER: u64 = 300 * crate::flow::MILLISECOND;

const ADVERTISEMENT: [u8; 2] = [136, 0];
/// Of a solicitation that nobody sees here, and replacing what was known (RFC 4861, 4.4).
const FLAGS: [u8; 4] = [0x60, 0, 0, 0];
/// Option of the target's Ethernet address; its length in units of eight octets.
const TARGET: [u8; 2] = [2, 1];

/// The router inside and outside, and its neighbour outside.
const INSIDE: End = router(0, Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 0xfe));
const OUTSIDE: End = router(1, Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2));
const NEXT: End = End {
    mac: [2, 0, 0, 0, 0, 2],
    address: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1)),
    port: 0,
};

const fn router(port: u8, address: Ipv6Addr) -> End {
    End { mac: [2, 0, 0x5e, 0, 0x53, port], address: IpAddr::V6(address), port: 0 }
}

fn host(number: u64) -> End {
    let address = Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 1, number as u16 + 1);
    End { mac: [2, 0, 0x0a, 0, 0, number as u8 + 1], address: address.into(), port: 0 }
}

/// Returns the path to the router of a packet between a host and a server, in this direction.
pub(super) fn path(number: u64, server: u64, port: u16, is_answer: bool) -> Path {
    let host = host(number);
    let [high, low] = [(server >> 16) as u16, server as u16];
    let server = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, high, low).into();
    let (mut from, mut to) = (End { port, ..host }, End { address: server, port: 443, ..INSIDE });
    if is_answer {
        (from, to) = (End { mac: NEXT.mac, ..to }, End { mac: OUTSIDE.mac, ..from });
    }
    to_router(from, to, 64)
}

/// Returns what all neighbours tell the router.
pub(super) fn advertisements(hosts: u64) -> Vec<Vec<u8>> {
    let inside = (0..hosts).map(|number| advertisement(host(number), INSIDE));
    inside.chain([advertisement(NEXT, OUTSIDE)]).collect()
}

/// Makes a neighbour's advertisement of its own address.
fn advertisement(neighbour: End, router: End) -> Vec<u8> {
    let mut body = Vec::new();
    wire::put_address(&mut body, neighbour.address);
    body.extend(TARGET);
    body.extend(neighbour.mac);
    // From this link, and not by way of another router (RFC 4861, 7.1.2).
    let path = to_router(neighbour, router, 255);
    wire::frame(&path, ICMPV6, &wire::icmp(&path, ADVERTISEMENT, FLAGS, &body))
}

const fn to_router(from: End, to: End, hops: u8) -> Path {
    Path { from, to, tags: Tags::None, hops, id: 0, options: false }
}
