//! Connections per inside host, limited: two tables that travel together, by the coarser key.

use std::marker::PhantomData;

use cora_core::app::{App, ConfigureError, PlanFacts, Sides};
use cora_core::key::{FiveTuple, InsideAddress, Key as _};
use cora_core::packet::Packet;
use cora_core::state::{
    Described, Home, Memory, OutOfMemory, Pinned, Place, Reach, Singleton, Stored, Table,
};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

const LIMIT: u32 = 5;
const TOO_MANY: Reason = Reason::new("too-many-connections");

plain! {
    struct Connection {
        number: u32,
        packets: u64,
    }
}
keyed!(Connection, FiveTuple, 48, true);

plain! {
    struct Customer {
        open: u32,
        opened: u32,
    }
}
keyed!(Customer, InsideAddress, 16, false);

plain! {
    struct Ledger {
        closed: u64,
        order: u64,
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self { closed: 0, order: 1 }
    }
}

impl Singleton for Ledger {
    const NAME: &'static str = "Ledger";
}
stored!(Ledger, Singleton, Pinned);

#[derive(Debug)]
pub struct Inside<V> {
    connections: Wrapped<Connection>,
    customers: Wrapped<Customer>,
    ledger: Pinned<Ledger>,
    variant: PhantomData<V>,
}

fn open(
    flow: FiveTuple,
    customer: InsideAddress,
    connections: &mut Table<Connection>,
    customers: &mut Table<Customer>,
) -> Verdict {
    let number = match customers.get_mut(&customer) {
        Some(customer) if customer.open >= LIMIT => return Drop(TOO_MANY),
        Some(customer) => {
            customer.open += 1;
            customer.opened += 1;
            customer.opened
        }
        None => {
            customers.insert(customer, Customer { open: 1, opened: 1 })?;
            1
        }
    };
    connections.insert(flow, Connection { number, packets: 1 })?;
    Transmit
}

fn handle<R: Reach>(
    packet: &Packet<'_>,
    connections: &mut Table<Connection>,
    customers: &mut Table<Customer>,
    ledger: &mut Ledger,
) -> Verdict {
    let (flow, inside) = (packet.five_tuple()?, InsideAddress::of(packet)?);
    let Some((_, connection)) = connections.find_mut(&flow) else {
        if !packet.from_inside() {
            return Drop(reasons::NotAllowed);
        }
        return open(flow, inside, connections, customers);
    };
    connection.packets += 1;
    let number = connection.number;
    match op_of(packet) {
        op::CLOSE => {
            connections.remove(&flow);
            if let Some(customer) = customers.get_mut(&inside) {
                customer.open = customer.open.saturating_sub(1);
                if customer.open == 0 {
                    customers.remove(&inside);
                }
            }
        }
        op::ASK => {
            if let Some(customer) = customers.get_mut(&inside) {
                customer.open = customer.open.saturating_sub(1);
            }
            connections.remove(&flow);
            reach!(R, Ledger);
            ledger.closed += 1;
            ledger.order = ledger.order.wrapping_mul(31) + u64::from(number);
        }
        _ => {}
    }
    Transmit
}

impl<V: Variant> App for Inside<V> {
    const NAME: &'static str = "inside";
    const PLAN: PlanFacts = PlanFacts {
        name: "split",
        hash: 1,
        sides: Sides::Split,
        host_ordered: V::ORDERED,
        stateless_flows: false,
        nic_share: V::SHARE,
        offer_after: V::OFFER_AFTER,
        one_pair: &[],
    };
    const PLACES: &'static [(&'static str, Place)] =
        &[("Connection", Place::Travels), ("Customer", Place::Travels), ("Ledger", Place::Host)];
    const MEMORY: usize = Table::<Connection>::BYTES + Table::<Customer>::BYTES + Ledger::BYTES;
    type Group = InsideAddress;

    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            connections: Wrapped::create(memory, V::ROLLS_BACK)?,
            customers: Wrapped::create(memory, V::ROLLS_BACK)?,
            ledger: Ledger::create(memory)?,
            variant: PhantomData,
        })
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>) -> Verdict {
        handle::<R>(packet, self.connections.table(), self.customers.table(), self.ledger.value())
    }

    const STATES: usize = 3;

    fn state(&mut self, number: usize) -> &mut dyn Home {
        match number {
            0 => &mut self.connections,
            1 => &mut self.customers,
            _ => &mut self.ledger,
        }
    }

    fn described(&mut self, number: usize) -> &mut dyn Described {
        match number {
            0 => &mut self.connections,
            1 => &mut self.customers,
            _ => &mut self.ledger,
        }
    }

    fn configure(&mut self, _: &str, _: &str) -> Result<(), ConfigureError> {
        Err(ConfigureError::NoSuchState)
    }
}

impl<V: Variant> SimApp for Inside<V> {
    const WISHES: Wishes =
        Wishes { flows: 20, hosts: 8, ops: &[op::CLOSE, op::ASK], expires: true };

    fn refuse(&mut self, seed: u64) {
        self.connections.refuse(seed);
        self.customers.refuse(!seed);
    }
}
