//! A load balancer: the reply key has another host's address. Only rules are pinned; but a packet
//! that waits at the NIC may make a reply key, so packets of unknown flows stay behind it.

use cora_core::key::{Address, FiveTuple};
use cora_core::packet::Packet;
use cora_core::state::table::Direction;
use cora_core::state::{Configure, Reach, ReadMostly, Table, Versioned};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{address, op, op_of};
use crate::traffic::Wishes;

plain! {
    struct Assigned {
        backend: u16,
        packets: u64,
        sum: u64,
    }
}
keyed!(Assigned, FiveTuple, 64, true);

plain! {
    struct Rules {
        mark: u64,
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self { mark: 77 }
    }
}

impl Configure for Rules {
    fn configure(_: &str) -> Result<Self, &'static str> {
        Ok(Self::default())
    }
}

impl ReadMostly for Rules {
    const NAME: &'static str = "Rules";
}
stored!(Rules, ReadMostly, Versioned);

const fn backend(number: u16) -> Address {
    address([200, (number % 5) as u8], false)
}

/// Returns the tuple of the backend's answers.
fn answer(flow: &FiveTuple, number: u16) -> FiveTuple {
    FiveTuple { source: backend(number), ..flow.reversed() }
}

/// Inserts and removes several entries within the packet.
fn churn(assigned: &mut Table<Assigned>, flow: FiveTuple, times: u16) -> Result<(), Reason> {
    for number in 0..times {
        let other = FiveTuple { destination_port: 100 + number % 3, ..flow };
        assigned.insert_with_reply(
            other,
            answer(&other, number),
            Assigned { backend: number, packets: 0, sum: 0 },
        )?;
        assigned.remove(&other);
    }
    Ok(())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the parameter of a handler")]
fn handle<R: Reach>(
    packet: &mut Packet<'_>,
    assigned: &mut Table<Assigned>,
    rules: &Rules,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let op = op_of(packet);
    let Some((direction, entry)) = assigned.find_mut(&flow) else {
        if !packet.from_inside() {
            return Drop(reasons::NotAllowed);
        }
        let number = flow.source_port;
        let entry = Assigned { backend: number, packets: 1, sum: 0 };
        assigned.insert_with_reply(flow, answer(&flow, number), entry)?;
        packet.set_destination(backend(number))?;
        return Transmit;
    };
    entry.packets += 1;
    entry.sum = entry.sum.wrapping_mul(31) + packet.now();
    let mut entry = *entry;
    match direction {
        Direction::Original => packet.set_destination(backend(entry.backend))?,
        Direction::Reply => packet.set_source(address([100, 0], false))?,
    }
    match op {
        op::CLOSE => drop(assigned.remove(&flow)),
        op::MOVE if direction == Direction::Original => {
            entry.backend += 1;
            assigned.insert_with_reply(flow, answer(&flow, entry.backend), entry)?;
        }
        op::CHURN => churn(assigned, flow, if entry.packets.is_multiple_of(2) { 40 } else { 3 })?,
        op::ASK => {
            churn(assigned, flow, 2)?;
            reach!(R, Rules);
            if let Some(entry) = assigned.get_mut(&flow) {
                entry.sum ^= rules.mark;
            }
        }
        _ => {}
    }
    Transmit
}

program! {
    struct Balancer named "balancer" by FiveTuple {
        travels assigned: Wrapped<Assigned>,
        host rules: Versioned<Rules>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.assigned.table(), self.rules.value())
    }
}

impl<V: Variant> SimApp for Balancer<V> {
    const WISHES: Wishes = Wishes {
        flows: 14,
        hosts: 3,
        ops: &[op::CLOSE, op::ASK, op::MOVE, op::CHURN],
        expires: true,
        crosses: false,
    };

    fn refuse(&mut self, seed: u64) {
        self.assigned.refuse(seed);
    }
}
