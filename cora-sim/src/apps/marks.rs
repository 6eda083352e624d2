//! Each flow's entry marks the packets that it has seen, so that a lost, doubled or late update is
//! detected. A bell at the host counts the packets that ask for it.

use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Transmit, Verdict};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{number_of, op, op_of};
use crate::traffic::Wishes;

/// Copies that are sent of each packet: more than fit the egress ring beside those of a burst.
pub const COPIES: usize = 6;

/// Number of packets that an entry distinguishes.
pub const MARKS: u32 = 64;

plain! {
    durable struct Marks {
        seen: u64,
        last: u32,
        doubled: u32,
        disordered: u32,
    }
}
keyed!(Marks, FiveTuple, 32, true);

impl Marks {
    const NONE: Self = Self { seen: 0, last: 0, doubled: 0, disordered: 0 };

    fn note(&mut self, number: u32) {
        let bit = 1 << (number % MARKS);
        self.doubled += u32::from(self.seen & bit != 0);
        self.disordered += u32::from(number < self.last);
        self.seen |= bit;
        self.last = number;
    }
}

plain! {
    #[derive(Default)]
    struct Bell {
        rung: u64,
    }
}

impl Singleton for Bell {
    const NAME: &'static str = "Bell";
}
stored!(Bell, Singleton, Pinned);

impl<V: Variant> Marking<V> {
    /// Returns the marks of the flow with this tuple.
    pub fn marks_of(&mut self, flow: &FiveTuple) -> Option<Marks> {
        self.marks.table().get(flow).copied()
    }
}

fn handle<R: Reach>(packet: &Packet<'_>, marks: &mut Table<Marks>, bell: &mut Bell) -> Verdict {
    let flow = packet.five_tuple()?;
    let number = number_of(packet);
    if let Some((_, marks)) = marks.find_mut(&flow) {
        marks.note(number);
    } else {
        let mut first = Marks::NONE;
        first.note(number);
        marks.insert(flow, first)?;
    }
    if op_of(packet) == op::ASK {
        reach!(R, Bell);
        bell.rung += 1;
    } else if op_of(packet) == op::CLOSE {
        marks.remove(&flow);
    }
    Transmit
}

program! {
    struct Marking named "marking" by FiveTuple {
        travels marks: Wrapped<Marks>,
        host bell: Pinned<Bell>,
    }
    ordered false;
    stateless false;
    sends V::COPIES;
    fn chain<R>(self, packet, out) {
        if V::COPIES {
            for _ in 0..COPIES {
                out.send(packet, packet.port())?;
            }
        }
        handle::<R>(packet, self.marks.table(), self.bell.value())
    }
}

impl<V: Variant> SimApp for Marking<V> {
    const WISHES: Wishes =
        Wishes { flows: 6, hosts: 2, ops: &[op::ASK], expires: false, crosses: false };

    fn refuse(&mut self, seed: u64) {
        self.marks.refuse(seed);
    }
}
