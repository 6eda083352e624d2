//! Counters only: no state travels, flows are owned without entries.

use cora_core::key::{FiveTuple, HeaderKey as _, SourceAddress};
use cora_core::packet::{Packet, Port};
use cora_core::plain::Describe;
use cora_core::state::commutative::{CountMin, Max, Sum, TopK};
use cora_core::state::{
    Commutative, Configure, Malformed, Reach, ReadMostly, Replica, Replicated, Versioned,
};
use cora_core::verdict::{Redirect, Transmit, Verdict};

use super::{SimApp, Variant, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

#[derive(Debug)]
pub struct Counters {
    bytes: Sum,
    longest: Max,
    sketch: CountMin<2, 16>,
    talkers: TopK<SourceAddress, 4>,
}

impl Replica for Counters {
    const EMPTY: Self = Self {
        bytes: Sum::EMPTY,
        longest: Max::EMPTY,
        sketch: CountMin::EMPTY,
        talkers: TopK::EMPTY,
    };
    const UNITS: u32 = 2 + CountMin::<2, 16>::UNITS + TopK::<SourceAddress, 4>::UNITS;
    fn clear(&mut self) {
        self.talkers.clear();
    }
    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        match unit {
            0 => self.bytes.put_unit(0, out),
            1 => self.longest.put_unit(0, out),
            2..35 => self.sketch.put_unit(unit - 2, out),
            _ => self.talkers.put_unit(unit - 35, out),
        }
    }
    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        match unit {
            0 => self.bytes.merge_unit(0, bytes),
            1 => self.longest.merge_unit(0, bytes),
            2..35 => self.sketch.merge_unit(unit - 2, bytes),
            _ => self.talkers.merge_unit(unit - 35, bytes),
        }
    }
    fn key(&mut self, seed: u64) {
        self.sketch.key(seed);
    }
    fn begin(&mut self, undo: bool) {
        self.bytes.begin(undo);
        self.longest.begin(undo);
        self.sketch.begin(undo);
        self.talkers.begin(undo);
    }
    fn rollback(&mut self) {
        self.bytes.rollback();
        self.longest.rollback();
        self.sketch.rollback();
        self.talkers.rollback();
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.open_list();
        self.bytes.describe(to);
        self.longest.describe(to);
        self.sketch.describe(to);
        self.talkers.describe(to);
        to.close_list();
    }
}

impl Commutative for Counters {
    const NAME: &'static str = "Counters";
}
stored!(Counters, Commutative, Replicated);

plain! {
    struct Routes {
        port: u8,
    }
}

impl Default for Routes {
    fn default() -> Self {
        Self { port: 3 }
    }
}

impl Configure for Routes {
    fn configure(_: &str) -> Result<Self, &'static str> {
        Ok(Self::default())
    }
}

impl ReadMostly for Routes {
    const NAME: &'static str = "Routes";
}
stored!(Routes, ReadMostly, Versioned);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the parameter of a handler")]
fn handle<R: Reach>(packet: &Packet<'_>, counters: &mut Counters, routes: &Routes) -> Verdict {
    counters.bytes.add(packet.len() as u64);
    counters.longest.raise(packet.len() as u64 + packet.now() % 100);
    if let Ok(source) = SourceAddress::of(packet) {
        counters.talkers.raise(source, packet.now() % 1000);
        for _ in 0..packet.now() % 20 {
            counters.sketch.add(&source, 3);
        }
    }
    if op_of(packet) == op::ASK {
        reach!(R, Routes);
        return Redirect(Port(routes.port));
    }
    Transmit
}

program! {
    struct Counting named "counters" by FiveTuple {
        replica counters: Replicated<Counters>,
        host routes: Versioned<Routes>,
    }
    ordered false;
    stateless true;
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.counters.value(), self.routes.value())
    }
}

impl<V: Variant> SimApp for Counting<V> {
    /// More flows than offers that may be pending.
    const WISHES: Wishes =
        Wishes { flows: 60, hosts: 7, ops: &[op::ASK], expires: true, crosses: false };

    fn refuse(&mut self, _: u64) {}
}
