//! Connections per inside host, limited: two tables that travel together, by the coarser key.

use cora_core::key::{FiveTuple, HeaderKey as _, InsideAddress};
use cora_core::packet::Packet;
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
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

program! {
    struct Inside named "inside" by InsideAddress, grouped true {
        travels connections: Wrapped<Connection>,
        travels customers: Wrapped<Customer>,
        host ledger: Pinned<Ledger>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.connections.table(), self.customers.table(), self.ledger.value())
    }
}

impl<V: Variant> SimApp for Inside<V> {
    const WISHES: Wishes =
        Wishes { flows: 20, hosts: 8, ops: &[op::CLOSE, op::ASK], expires: true, crosses: false };

    fn refuse(&mut self, seed: u64) {
        self.connections.refuse(seed);
        self.customers.refuse(!seed);
    }
}
