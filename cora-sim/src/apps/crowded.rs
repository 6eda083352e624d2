//! Tables that are always full, on both sides. The first evicts entries that are not assured, the
//! second evicts none, and entries of the third expire as soon as time passes. Packets at the NIC
//! insert entries, too.

use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Keyed, Table};
use cora_core::verdict::{Transmit, Verdict};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

/// A conversation, assured by its third packet.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    packets: u32,
}

impl Plain for Session {
    const SIZE: usize = 4;
    const EVICTS: bool = true;
    fn put(&self, out: &mut [u8]) {
        self.packets.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u32::get(bytes).map(|packets| Self { packets })
    }
    fn is_assured(&self) -> bool {
        self.packets > 2
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.packets.describe(to);
    }
}
keyed!(Session, FiveTuple, 4, true);

plain! {
    struct Further {
        number: u32,
    }
}
keyed!(Further, FiveTuple, 3, true);

plain! {
    struct Glimpse {
        number: u32,
    }
}

impl Keyed for Glimpse {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Glimpse";
    const CAPACITY: u32 = 4;
    const IDLE: u64 = 1;
    const REPLY: bool = false;
}

fn handle(
    packet: &Packet<'_>,
    sessions: &mut Table<Session>,
    further: &mut Table<Further>,
    glimpses: &mut Table<Glimpse>,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let packets = if let Some(session) = sessions.get_mut(&flow) {
        session.packets += 1;
        session.packets
    } else {
        sessions.insert(flow, Session { packets: 1 })?;
        1
    };
    if packets > 1 || op_of(packet) == op::CHURN {
        further.insert(flow, Further { number: packets })?;
    }
    if op_of(packet) != op::CLOSE {
        // Several keys of one flow. No other flow has them: entries that flows share have no owner.
        let protocol = flow.protocol.wrapping_add(100 + packets as u8 % 4);
        glimpses.insert(FiveTuple { protocol, ..flow }, Glimpse { number: packets })?;
    }
    Transmit
}

program! {
    struct Crowded named "crowded" by FiveTuple {
        travels sessions: Wrapped<Session>,
        travels further: Wrapped<Further>,
        travels glimpses: Wrapped<Glimpse>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle(packet, self.sessions.table(), self.further.table(), self.glimpses.table())
    }
}

impl<V: Variant> SimApp for Crowded<V> {
    const WISHES: Wishes =
        Wishes { flows: 24, hosts: 8, ops: &[op::CLOSE, op::CHURN], expires: true, crosses: false };

    fn refuse(&mut self, seed: u64) {
        self.sessions.refuse(seed);
    }
}
