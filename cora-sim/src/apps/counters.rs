//! Counters only: no state travels, flows are owned without entries.

use std::marker::PhantomData;

use cora_core::app::{App, ConfigureError, PlanFacts, Sides};
use cora_core::key::{FiveTuple, Key as _, SourceAddress};
use cora_core::packet::{Packet, Port};
use cora_core::plain::Describe;
use cora_core::state::commutative::{CountMin, Max, Sum, TopK};
use cora_core::state::{
    Commutative, Configure, Described, Home, Malformed, Memory, OutOfMemory, Place, Reach,
    ReadMostly, Replica, Replicated, Stored, Versioned,
};
use cora_core::verdict::{Redirect, Transmit, Verdict};

use super::{SimApp, Variant, plain, reach, stored};
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
    fn commit(&mut self) {
        self.bytes.commit();
        self.longest.commit();
        self.sketch.commit();
        self.talkers.commit();
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

#[derive(Debug)]
pub struct Counting<V> {
    counters: Replicated<Counters>,
    routes: Versioned<Routes>,
    variant: PhantomData<V>,
}

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

impl<V: Variant> App for Counting<V> {
    const NAME: &'static str = "counters";
    const PLAN: PlanFacts = PlanFacts {
        name: "split",
        hash: 1,
        sides: Sides::Split,
        host_ordered: false,
        stateless_flows: true,
        nic_share: V::SHARE,
        offer_after: V::OFFER_AFTER,
        one_pair: &[],
    };
    const PLACES: &'static [(&'static str, Place)] =
        &[("Counters", Place::Replica), ("Routes", Place::Host)];
    const MEMORY: usize = Counters::BYTES + Routes::BYTES;
    type Group = FiveTuple;

    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            counters: Counters::create(memory)?,
            routes: Routes::create(memory)?,
            variant: PhantomData,
        })
    }

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>) -> Verdict {
        handle::<R>(packet, self.counters.value(), self.routes.value())
    }

    const STATES: usize = 2;

    fn state(&mut self, number: usize) -> &mut dyn Home {
        match number {
            0 => &mut self.counters,
            _ => &mut self.routes,
        }
    }

    fn described(&mut self, number: usize) -> &mut dyn Described {
        match number {
            0 => &mut self.counters,
            _ => &mut self.routes,
        }
    }

    fn configure(&mut self, _: &str, _: &str) -> Result<(), ConfigureError> {
        Ok(())
    }
}

impl<V: Variant> SimApp for Counting<V> {
    /// More flows than offers may be under way.
    const WISHES: Wishes = Wishes { flows: 60, hosts: 7, ops: &[op::ASK], expires: true };

    fn refuse(&mut self, _: u64) {}
}
