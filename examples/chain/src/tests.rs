//! A connection through all of the chain, and back.

use balancer::{Backends, Pin, balancer};
use cora::prelude::*;
use firewall::{Connection, firewall};
use nat::{Forward, Hosts, PortPool, Public, Session, Times, nat};

use super::clients;

const INSIDE: Address = Address::v4([10, 0, 0, 1]);
const SERVICE: Address = Address::v4([192, 0, 2, 80]);
const PUBLIC: Address = Address::v4([192, 0, 2, 1]);

/// An Ethernet frame with an empty UDP datagram.
fn frame(flow: &FiveTuple) -> Vec<u8> {
    let [from, to] = [flow.source, flow.destination].map(|address| address.as_v4().unwrap());
    let ports = [flow.source_port, flow.destination_port].map(u16::to_be_bytes);
    let datagram = [ports.as_flattened(), &[0, 8, 0, 0]].concat();
    cora::testing::ipv4(from, to, 64, protocol::UDP, &datagram)
}

struct Row {
    connections: cora::testing::TestTable<Connection>,
    sessions: cora::testing::TestTable<Session>,
    ports: cora::testing::TestBuckets<PortPool>,
    hosts: cora::testing::TestMerged<Hosts>,
    times: Times,
    public: Public,
    forwards: cora::testing::TestRows<Forward>,
    pins: cora::testing::TestTable<Pin>,
    backends: Backends,
}

impl Row {
    fn new() -> Self {
        Self {
            connections: cora::testing::table(),
            sessions: cora::testing::table(),
            ports: cora::testing::per_bucket(),
            hosts: cora::testing::merged(),
            times: Times::default(),
            public: Public::default(),
            forwards: cora::testing::configured("address,protocol,port,inside,inside_port\n"),
            pins: cora::testing::table(),
            backends: Backends::default(),
        }
    }

    /// Sends a packet through all as the program does; gives how it leaves.
    fn send(&mut self, port: Port, flow: &FiveTuple) -> Result<FiveTuple, Verdict> {
        self.carry(port, frame(flow))
    }

    fn carry(&mut self, port: Port, mut frame: Vec<u8>) -> Result<FiveTuple, Verdict> {
        let mut packet = Packet::new(&mut frame, Meta { port, ..Meta::default() });
        let mut order = [0, 1, 2, 3];
        if !packet.from_inside() {
            order.reverse();
        }
        for handler in order {
            let verdict = match handler {
                0 => firewall(&mut packet, &mut self.connections),
                1 => {
                    let Self { sessions, ports, hosts, times, public, forwards, .. } = self;
                    let flow = packet.flow().unwrap();
                    let from_inside = packet.from_inside();
                    let inside = if from_inside { flow.source_port } else { flow.destination_port };
                    let ports = &mut ports[Bucket::of_port(inside)];
                    nat(&mut packet, sessions, ports, hosts, times, public, forwards)
                }
                2 => balancer(&mut packet, &mut self.pins, &self.backends),
                _ => clients(&mut packet, &self.backends),
            };
            if verdict != Transmit {
                return Err(verdict);
            }
        }
        Ok(packet.flow().unwrap())
    }
}

#[test]
fn what_goes_out_through_all_three_comes_back_through_them() {
    let asked = FiveTuple {
        source: INSIDE,
        destination: SERVICE,
        source_port: 999,
        destination_port: 53,
        protocol: protocol::UDP,
    };
    let mut row = Row::new();
    let left = row.send(Port(0), &asked).unwrap();
    // The first port with the bits 1 to 8 of 999.
    assert_eq!((left.source, left.source_port), (PUBLIC, 33_254));
    assert_ne!(left.destination, SERVICE, "a backend's");
    assert_eq!(row.send(Port(0), &asked), Ok(left), "and it stays there");
    assert_eq!(row.send(Port(1), &left.reversed()), Ok(asked.reversed()));
}

/// A frame with a segment.
fn segment(flow: &FiveTuple, flags: u8) -> Vec<u8> {
    let [from, to] = [flow.source, flow.destination].map(|address| address.as_v4().unwrap());
    let segment = TcpSegment { flags: TcpFlags(flags), ..TcpSegment::default() };
    cora::testing::tcp((from, flow.source_port), (to, flow.destination_port), &segment)
}

#[test]
fn a_connection_that_is_over_binds_no_new_one() {
    let mut row = Row::new();
    let ask = FiveTuple {
        source: INSIDE,
        destination: SERVICE,
        source_port: 999,
        destination_port: 443,
        protocol: protocol::TCP,
    };
    let first = row.carry(Port::INSIDE, segment(&ask, 2)).unwrap();
    let backend = first.destination.as_v4().unwrap();
    let others: String = (1..=4)
        .filter(|host| *host != backend[3])
        .map(|host| format!("backend 10.1.0.{host}\n"))
        .collect();
    row.backends = Backends::configure(&format!("service 192.0.2.80\n{others}")).unwrap();
    assert_eq!(row.carry(Port::INSIDE, segment(&ask, 2)), Ok(first), "it is opening");
    assert_eq!(row.carry(Port::OUTSIDE, segment(&first.reversed(), 0x14)), Ok(ask.reversed()));
    let next = row.carry(Port::INSIDE, segment(&ask, 2)).unwrap();
    assert_ne!(next.destination, first.destination);
    assert_eq!((next.source, next.source_port), (first.source, first.source_port));
    assert_eq!(row.carry(Port::OUTSIDE, segment(&next.reversed(), 0x12)), Ok(ask.reversed()));
}

#[test]
fn what_opens_nothing_or_leads_nowhere_takes_no_port() {
    let mut row = Row::new();
    let flow = |source: [u8; 4], destination: [u8; 4]| FiveTuple {
        source: Address::v4(source),
        destination: Address::v4(destination),
        source_port: 999,
        destination_port: 443,
        protocol: protocol::TCP,
    };
    let server = [198, 51, 100, 1];
    for (from, to, flags, reason) in [
        ([10, 0, 0, 1], server, 0x10, BadTcpState),
        ([10, 0, 0, 1], server, 0x12, BadTcpState),
        ([10, 0, 0, 1], server, 0, BadTcpState),
        ([127, 0, 0, 1], server, 2, MartianSource),
        ([192, 0, 2, 1], server, 2, MartianSource),
        ([10, 0, 0, 1], [169, 254, 1, 1], 2, MartianDestination),
        ([10, 0, 0, 1], [192, 0, 2, 1], 2, Hairpin),
        ([10, 0, 0, 1], [10, 0, 0, 1], 2, Land),
    ] {
        let sent = row.carry(Port::INSIDE, segment(&flow(from, to), flags));
        assert_eq!(sent, Err(Drop(reason)), "{from:?} {to:?} {flags:#x}");
    }
    let first = row.carry(Port::INSIDE, segment(&flow([10, 0, 0, 1], server), 2)).unwrap();
    assert_eq!(first.source_port, 33_254, "the first of its bucket");
}

#[test]
fn backends_that_cannot_be_are_refused() {
    for (text, why) in [
        ("service 192.0.2.80\nservice 192.0.2.81", "two `service` lines"),
        ("service 192.0.2.80\nbackend 10.1.0.1\nbackend 10.1.0.1", "a backend stands there twice"),
        ("backend 10.1.0.1", "no `service ADDRESS`"),
    ] {
        assert_eq!(Backends::configure(text).err(), Some(why));
    }
}

#[test]
fn nobody_outside_opens_anything() {
    for destination in [PUBLIC, SERVICE, INSIDE] {
        let asked = FiveTuple {
            source: Address::v4([198, 51, 100, 1]),
            destination,
            source_port: 53,
            destination_port: 32_768,
            protocol: protocol::UDP,
        };
        let mut row = Row::new();
        assert_eq!(row.send(Port(1), &asked), Err(Drop(NotAllowed)));
        assert!(!row.pins.contains(&asked), "and it takes no entry");
    }
}
