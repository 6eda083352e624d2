//! Frames beside flows: address resolution, neighbour discovery, other protocols.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Queue;
use crate::random::Random;
use crate::wire::{self, ICMPV6, Path, Tags};

/// Makes one or two frames that belong to no flow.
pub(crate) fn noise(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    match random.below(8) {
        0..=2 => resolve(&mut queue, path, random),
        3..=4 => discover(&mut queue, path),
        5 => other_ethernet(&mut queue, path, random),
        6 => other_transport(&mut queue, path, random),
        _ => membership(&mut queue, path),
    }
    queue
}

/// Adds an ARP request and its answer.
fn resolve(queue: &mut Queue, path: &Path, random: &mut Random) {
    let host = Ipv4Addr::new(10, 1, 0, random.between(1, 200) as u8);
    let router = Ipv4Addr::new(10, 0, 0, 1);
    for (operation, from, to, to_mac) in [
        (1_u8, (path.from.mac, host), router, [0xff; 6]),
        (2, (path.to.mac, router), host, path.from.mac),
    ] {
        let mut bytes = Vec::new();
        wire::ethernet(&mut bytes, to_mac, from.0, Tags::None, 0x0806);
        bytes.extend([0, 1, 8, 0, 6, 4, 0, operation]);
        bytes.extend(from.0);
        bytes.extend(from.1.octets());
        bytes.extend(if operation == 1 { [0; 6] } else { to_mac });
        bytes.extend(to.octets());
        bytes.resize(60, 0);
        queue.push(40_000, path, bytes);
    }
}

/// Adds an IPv6 neighbour solicitation and its answer.
fn discover(queue: &mut Queue, path: &Path) {
    let near = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x11));
    let far = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    let group = IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 1));
    let mut ask = Path { hops: 255, tags: Tags::None, options: false, ..*path };
    ask.from.address = near;
    ask.to.address = group;
    ask.to.mac = [0x33, 0x33, 0xff, 0, 0, 1];
    let mut rest = far.octets().to_vec();
    rest.extend([1, 1]);
    rest.extend(path.from.mac);
    let message = wire::icmp(&ask, [135, 0], [0; 4], &rest);
    queue.push(0, &ask, wire::frame(&ask, ICMPV6, &message));

    let mut tell = Path { hops: 255, tags: Tags::None, options: false, ..path.back() };
    tell.from.address = far.into();
    tell.to.address = near;
    let mut rest = far.octets().to_vec();
    rest.extend([2, 1]);
    rest.extend(path.to.mac);
    let message = wire::icmp(&tell, [136, 0], [0xe0, 0, 0, 0], &rest);
    queue.push(300_000, &tell, wire::frame(&tell, ICMPV6, &message));
}

/// Adds a frame of LLDP, spanning tree (a length, not an EtherType), PPPoE, or an unknown type.
fn other_ethernet(queue: &mut Queue, path: &Path, random: &mut Random) {
    let kinds = [0x88cc, 0x0026, 0x8864, 0x9999];
    let mut bytes = Vec::new();
    let group = [1, 0x80, 0xc2, 0, 0, 0];
    wire::ethernet(&mut bytes, group, path.from.mac, Tags::None, kinds[random.below(4) as usize]);
    bytes.extend(super::payload(random, 60));
    queue.push(0, path, bytes);
}

/// Adds an IP packet without ports: GRE, ESP, or the experimental number 253.
fn other_transport(queue: &mut Queue, path: &Path, random: &mut Random) {
    let protocol = [47, 50, 253][random.below(3) as usize];
    let data = super::payload(random, 80);
    queue.push(0, path, wire::frame(path, protocol, &data));
}

/// Adds a report of group membership.
fn membership(queue: &mut Queue, path: &Path) {
    let mut path = Path { hops: 1, options: true, ..*path };
    if path.is_v6() {
        path.to.address = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16).into();
        let message = wire::icmp(&path, [143, 0], [0, 0, 0, 0], &[]);
        queue.push(0, &path, wire::frame(&path, ICMPV6, &message));
    } else {
        path.to.address = Ipv4Addr::new(224, 0, 0, 22).into();
        let mut report = vec![0x16, 0, 0, 0, 224, 0, 0, 251];
        let sum = wire::checksum(&[&report]);
        report[2..4].copy_from_slice(&sum.to_be_bytes());
        queue.push(0, &path, wire::frame(&path, 2, &report));
    }
}
