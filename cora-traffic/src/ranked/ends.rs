//! The ends of a rank's current conversation, by form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Form, Ranked, neighbours};
use crate::random::mix;
use crate::wire::{End, Path, Tags};

/// Flows of a host inside, whose client ports follow each other.
const FLOWS_PER_HOST: u64 = 8;
const FLOWS_PER_SERVER: u64 = 32;

/// Number of client ports, from 1024 on: a multiple of the flows per host.
const PORTS: u64 = 64_512;

/// The router between inside and outside, as hosts inside see it.
const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Who takes packets for the service on, as the router sees it.
const FRONT: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Number of hosts that are clients.
pub(super) fn hosts(ranked: &Ranked) -> u64 {
    ranked.flows.div_ceil(FLOWS_PER_HOST).min(ranked.form.most_hosts())
}

/// Returns the path of a packet of the conversation number `before` of a rank: from the client, or
/// back.
pub(super) fn path(rank: u64, before: u32, ranked: &Ranked, is_answer: bool) -> Path {
    let hosts = hosts(ranked);
    let (host, server) = (rank % hosts, rank % ranked.flows.div_ceil(FLOWS_PER_SERVER));
    // A host's flows take ports in turn, so none has the port of another.
    let first = if ranked.form.spreads_ports() {
        mix(host) % (PORTS / FLOWS_PER_HOST) * FLOWS_PER_HOST
    } else {
        0
    };
    let port = (first + rank / hosts + u64::from(before) * FLOWS_PER_HOST) % PORTS;
    let port = 1_024 + port as u16;
    let [_, a, b, c] = (host as u32 + 1).to_be_bytes();
    let inside = End { mac: [2, 0, 0x0a, a, b, c], address: inside(host), port };
    let outside = End { mac: ROUTER, address: shared(server), port: 443 };
    let (from, to) = match ranked.form {
        Form::Connections | Form::Outward => (inside, outside),
        Form::Datagrams | Form::Dns => (inside, End { port: 53, ..outside }),
        Form::Tunnelled => (inside, End { port: 4_000, ..outside }),
        Form::Service => {
            (End { mac: ROUTER, address: shared(host), port }, End { mac: FRONT, ..service() })
        }
        Form::InsideService => (inside, service()),
        Form::Ipv6 => {
            let number = host + 1;
            let from = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, (number >> 16) as u16, number as u16);
            let to = public(server).octets().map(u16::from);
            let (high, low) = (to[0] << 8 | to[1], to[2] << 8 | to[3]);
            let to = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            (End { address: from.into(), ..inside }, End { address: to.into(), ..outside })
        }
        Form::Gtp => (
            End { address: shared(host), ..inside },
            End { address: public(server).into(), ..outside },
        ),
        Form::Routed => return neighbours::path(host, server, port, is_answer),
        Form::Stations => (inside, End { mac: station(server), ..outside }),
        Form::Handshakes => {
            let client = End { mac: ROUTER, address: shared(host), port };
            let [_, a, b, c] = (server as u32 + 1).to_be_bytes();
            let mac = [2, 0, 0x0a, a, b, c];
            (client, End { mac, address: self::inside(server), port: 443 })
        }
    };
    let there = Path { from, to, tags: Tags::None, hops: 64, id: 0, options: false };
    if is_answer { there.back() } else { there }
}

fn service() -> End {
    End { mac: ROUTER, address: Form::SERVICE.into(), port: 443 }
}

/// Returns an address of 10.0.0.0/8.
fn inside(host: u64) -> IpAddr {
    let [_, a, b, c] = (host as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c).into()
}

/// Returns an address of 100.64.0.0/10 (RFC 6598), a shared range that is large enough.
pub(super) fn shared(number: u64) -> IpAddr {
    let [_, a, b, c] = (number as u32 + 1).to_be_bytes();
    Ipv4Addr::new(100, 64 | a, b, c).into()
}

/// Returns an address for documentation (RFC 5737), where a shared one would not be taken for a
/// server. There are few, so servers have several numbers.
fn public(number: u64) -> Ipv4Addr {
    let low = (number / 2 % 250 + 1) as u8;
    if number.is_multiple_of(2) {
        Ipv4Addr::new(198, 51, 100, low)
    } else {
        Ipv4Addr::new(203, 0, 113, low)
    }
}

/// Returns the Ethernet address of a server.
fn station(server: u64) -> [u8; 6] {
    let [_, a, b, c] = (server as u32 + 1).to_be_bytes();
    [2, 1, 0x64, a, b, c]
}
