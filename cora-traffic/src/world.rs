//! The hosts of the inside network, and the servers outside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::random::Random;
use crate::wire::{End, Path, Tags};

/// IPv4 address of a service that many generated flows use, for load balancers.
pub const SERVICE_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 10);
/// IPv6 address of the same service.
pub const SERVICE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 10);

/// MAC address of the router between inside and outside, at the inside.
const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Returns whether an address is of the inside network: 10.0.0.0/8 or fd00::/8.
pub fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 10,
        IpAddr::V6(address) => address.octets()[0] == 0xfd,
    }
}

/// Assigns pairs of ends to flows, no two alike.
#[derive(Clone, Debug)]
pub(crate) struct World {
    hosts: u64,
    dealt: u64,
}

impl World {
    pub(crate) fn new(flows: u64) -> Self {
        Self { hosts: (flows / 8).clamp(4, 4_000), dealt: 0 }
    }

    /// Returns the path of the next flow, from the inside to the outside.
    pub(crate) fn deal(&mut self, random: &mut Random, server_port: u16) -> Path {
        let number = self.dealt;
        self.dealt += 1;
        let host = number % self.hosts;
        let round = number / self.hosts;
        let v6 = random.percent(33);
        let port = 1_024 + ((round * 7 + host) % 64_000) as u16;
        let to = if random.percent(25) { service(v6) } else { server(random, v6) };
        Path {
            from: End { mac: host_mac(host), address: inside(host, v6), port },
            to: End { mac: ROUTER, address: to, port: server_port },
            tags: tags(random),
            hops: 64,
            id: random.next() as u16,
            options: random.percent(2),
        }
    }

    /// Returns a path from an outside host to an inside host without a request.
    pub(crate) fn intrude(&mut self, random: &mut Random) -> Path {
        let mut path = self.deal(random, 22);
        path.to.port = random.between(1_024, 65_000) as u16;
        path.from.port = random.between(1, 1_023) as u16;
        path.back()
    }

    /// Returns a path of a flood, from one of a few inside hosts to any server.
    pub(crate) fn flooder(&mut self, random: &mut Random) -> Path {
        let mut path = self.deal(random, 80);
        let host = random.below(3);
        path.from.mac = host_mac(host);
        path.from.address = inside(host, path.is_v6());
        path.from.port = random.between(1_024, 65_000) as u16;
        path.to.port = random.between(1, 10_000) as u16;
        path
    }
}

fn tags(random: &mut Random) -> Tags {
    match random.below(100) {
        0..=3 => Tags::One(100),
        4 => Tags::Two(200, 100),
        _ => Tags::None,
    }
}

fn host_mac(host: u64) -> [u8; 6] {
    let [.., a, b] = (host as u16).to_be_bytes();
    [2, 0, 0x0a, 0, a, b]
}

fn inside(host: u64, v6: bool) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, host as u16 + 1).into()
    } else {
        let [.., a, b] = (host as u16 + 1).to_be_bytes();
        Ipv4Addr::new(10, 1, a, b).into()
    }
}

fn service(v6: bool) -> IpAddr {
    if v6 { SERVICE_V6.into() } else { SERVICE_V4.into() }
}

fn server(random: &mut Random, v6: bool) -> IpAddr {
    let number = random.between(1, 250) as u8;
    if v6 {
        Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, u16::from(number)).into()
    } else if random.percent(50) {
        Ipv4Addr::new(198, 51, 100, number).into()
    } else {
        Ipv4Addr::new(203, 0, 113, number).into()
    }
}
