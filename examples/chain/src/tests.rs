//! A connection through all three, and back.

use cora::prelude::*;

use super::balancer::{Backends, Pin, balancer};
use super::firewall::{Connection, firewall};
use super::nat::{PortPool, Session, nat};

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
    connections: Table<Connection>,
    sessions: Table<Session>,
    ports: PortPool,
    pins: Table<Pin>,
    backends: Backends,
}

impl Row {
    fn new() -> Self {
        Self {
            connections: cora::testing::table(),
            sessions: cora::testing::table(),
            ports: PortPool::default(),
            pins: cora::testing::table(),
            backends: Backends::default(),
        }
    }

    /// Sends a packet through the three as the program does; gives how it leaves.
    fn send(&mut self, port: Port, flow: &FiveTuple) -> Result<FiveTuple, Verdict> {
        let mut frame = frame(flow);
        let mut packet = Packet::new(&mut frame, Meta { port, ..Meta::default() });
        let mut order = [0, 1, 2];
        if !packet.from_inside() {
            order.reverse();
        }
        for handler in order {
            let verdict = match handler {
                0 => firewall(&mut packet, &mut self.connections),
                1 => nat(&mut packet, &mut self.sessions, &mut self.ports),
                _ => balancer(&mut packet, &mut self.pins, &self.backends),
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
    assert_eq!((left.source, left.source_port), (PUBLIC, 32_768));
    assert_ne!(left.destination, SERVICE, "a backend's");
    assert_eq!(row.send(Port(0), &asked), Ok(left), "and it stays there");
    assert_eq!(row.send(Port(1), &left.reversed()), Ok(asked.reversed()));
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
        assert_eq!(Row::new().send(Port(1), &asked), Err(Drop(NotAllowed)));
    }
}
