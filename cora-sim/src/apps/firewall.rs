//! A firewall: connections found by the reversed tuple, and a meter with an entry per direction,
//! which has no reply key at all. Nothing is pinned.

use std::marker::PhantomData;

use cora_core::app::{App, ConfigureError, PlanFacts, Sides};
use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::Stored as _;
use cora_core::state::{Described, Home, Memory, OutOfMemory, Place, Reach, Table};
use cora_core::tcp::TcpState;
use cora_core::verdict::{Drop, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain};
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
keyed!(Meter, FiveTuple, 128, false);

#[derive(Debug)]
pub struct Firewall<V> {
    connections: Wrapped<Connection>,
    meters: Wrapped<Meter>,
    variant: PhantomData<V>,
}

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
            connections.insert(flow, Connection { tcp: TcpState::open(packet), packets: 1 })?;
        }
        None => return Drop(reasons::NotAllowed),
    }
    Transmit
}

fn meter(packet: &Packet<'_>, meters: &mut Table<Meter>) -> Verdict {
    let flow = packet.five_tuple()?;
    let (bytes, now) = (packet.len() as u64, packet.now());
    if op_of(packet) == op::CLOSE {
        // Nothing is left of the flow.
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

impl<V: Variant> App for Firewall<V> {
    const NAME: &'static str = "firewall";
    const PLAN: PlanFacts = PlanFacts {
        name: "split",
        hash: 1,
        sides: Sides::Split,
        host_ordered: false,
        stateless_flows: false,
        nic_share: V::SHARE,
        offer_after: V::OFFER_AFTER,
        one_pair: &[],
    };
    const PLACES: &'static [(&'static str, Place)] =
        &[("Connection", Place::Travels), ("Meter", Place::Travels)];
    const MEMORY: usize = Table::<Connection>::BYTES + Table::<Meter>::BYTES;
    type Group = FiveTuple;

    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            connections: Wrapped::create(memory, V::ROLLS_BACK)?,
            meters: Wrapped::create(memory, V::ROLLS_BACK)?,
            variant: PhantomData,
        })
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>) -> Verdict {
        if packet.from_inside() {
            handle(packet, self.connections.table())?;
            meter(packet, self.meters.table())
        } else {
            meter(packet, self.meters.table())?;
            handle(packet, self.connections.table())
        }
    }

    const STATES: usize = 2;

    fn state(&mut self, number: usize) -> &mut dyn Home {
        match number {
            0 => &mut self.connections,
            _ => &mut self.meters,
        }
    }

    fn described(&mut self, number: usize) -> &mut dyn Described {
        match number {
            0 => &mut self.connections,
            _ => &mut self.meters,
        }
    }

    fn configure(&mut self, _: &str, _: &str) -> Result<(), ConfigureError> {
        Err(ConfigureError::NoSuchState)
    }
}

impl<V: Variant> SimApp for Firewall<V> {
    const WISHES: Wishes = Wishes { flows: 16, hosts: 3, ops: &[op::CLOSE], expires: true };

    fn refuse(&mut self, seed: u64) {
        self.connections.refuse(seed);
        self.meters.refuse(!seed);
    }
}
