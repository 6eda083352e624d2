//! A firewall: connections found by the reversed tuple, too, and a meter with an entry per
//! direction and without a reply key. Nothing is pinned.

use cora_core::conntrack::TcpState;
use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::Table;
use cora_core::verdict::{Drop, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{IDLE, SimApp, Variant, keyed, plain, program};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

plain! {
    struct Connection {
        tcp: TcpState,
        packets: u64,
    }
}
keyed!(Connection, FiveTuple, 64, true);

plain! {
    struct Meter {
        bytes: u64,
        order: u64,
    }
}
// However busy, a meter begins anew now and then.
keyed!(Meter, FiveTuple, 128, false, life 2 * IDLE);

fn handle(packet: &Packet<'_>, connections: &mut Table<Connection>) -> Verdict {
    let flow = packet.five_tuple()?;
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            connection.packets += 1;
            connection.tcp.advance(packet, direction)?;
            if op_of(packet) == op::CLOSE {
                connections.remove(&flow);
            }
        }
        None if packet.from_inside() => {
            connections.insert(flow, Connection { tcp: TcpState::pick_up(packet)?, packets: 1 })?;
        }
        None => return Drop(reasons::NotAllowed),
    }
    Transmit
}

fn meter(packet: &Packet<'_>, meters: &mut Table<Meter>) -> Verdict {
    let flow = packet.five_tuple()?;
    let (bytes, now) = (packet.len() as u64, packet.now());
    if op_of(packet) == op::CLOSE {
        // No entry of the flow stays.
        meters.remove(&flow);
        meters.remove(&flow.reversed());
        return Transmit;
    }
    match meters.get_mut(&flow) {
        Some(meter) => {
            meter.bytes += bytes;
            meter.order = meter.order.wrapping_mul(31) + now;
        }
        None => meters.insert(flow, Meter { bytes, order: now })?,
    }
    Transmit
}

program! {
    struct Firewall named "firewall" by FiveTuple {
        travels connections: Wrapped<Connection>,
        travels meters: Wrapped<Meter>,
    }
    ordered false;
    stateless false;
    fn chain<R>(self, packet) {
        if packet.from_inside() {
            handle(packet, self.connections.table())?;
            meter(packet, self.meters.table())
        } else {
            meter(packet, self.meters.table())?;
            handle(packet, self.connections.table())
        }
    }
}

impl<V: Variant> SimApp for Firewall<V> {
    const WISHES: Wishes =
        Wishes { flows: 16, hosts: 3, ops: &[op::CLOSE], expires: true, crosses: false };

    fn refuse(&mut self, seed: u64) {
        self.connections.refuse(seed);
        self.meters.refuse(!seed);
    }
}
