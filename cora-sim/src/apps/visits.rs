//! Packets counted per flow. Entries live as long as the run, so that only moves and punts change a
//! flow's side.

use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::{Keyed, Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Transmit, Verdict};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

plain! {
    struct Visits {
        packets: u64,
        order: u64,
    }
}

impl Keyed for Visits {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Visits";
    const CAPACITY: u32 = 256;
    const IDLE: u64 = 3_600_000_000_000;
    const REPLY: bool = true;
}

plain! {
    struct Book {
        asked: u64,
        order: u64,
    }
}

impl Default for Book {
    fn default() -> Self {
        Self { asked: 0, order: 1 }
    }
}

impl Singleton for Book {
    const NAME: &'static str = "Book";
}
stored!(Book, Singleton, Pinned);

fn count<R: Reach>(packet: &Packet<'_>, visits: &mut Table<Visits>, book: &mut Book) -> Verdict {
    let flow = packet.five_tuple()?;
    let (length, now) = (packet.len() as u64, packet.now());
    let mut packets = 1;
    if let Some(visits) = visits.get_mut(&flow) {
        visits.packets += 1;
        visits.order = visits.order.wrapping_mul(31) + length + now;
        packets = visits.packets;
    } else {
        visits.insert(flow, Visits { packets, order: now })?;
    }
    if op_of(packet) == op::ASK {
        reach!(R, Book);
        book.asked += 1;
        book.order = book.order.wrapping_mul(31) + packets;
    }
    Transmit
}

program! {
    struct Visiting named "visits" by FiveTuple {
        travels visits: Wrapped<Visits>,
        host book: Pinned<Book>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        count::<R>(packet, self.visits.table(), self.book.value())
    }
}

impl<V: Variant> SimApp for Visiting<V> {
    const WISHES: Wishes =
        Wishes { flows: 96, hosts: 8, ops: &[op::ASK], expires: false, crosses: false };

    fn refuse(&mut self, seed: u64) {
        self.visits.refuse(seed);
    }
}
