//! A program that counts packets by flow, for tests of the halves and of their parts.

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::Packet;
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Keyed, Place, Reach, Table};
use cora_core::verdict::{Stop, Transmit, Verdict};

use super::halves_support::memory;

/// Idle time-out of a flow (ns).
pub(crate) const IDLE: u64 = 1_000;
/// Packets of the flow with this port punt, once the flow is known.
pub(crate) const PUNTS: u16 = 7;
/// The second packet of a flow with one of these ports opens another flow, with the next port: both
/// are one flow from then on.
pub(crate) const OPENS: std::ops::Range<u16> = 8..10;

/// Number of a flow's packets, durable or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count<const DURABLE: bool = false>(pub(crate) u64);

impl<const DURABLE: bool> Plain for Count<DURABLE> {
    const SIZE: usize = 8;
    const DURABLE: bool = DURABLE;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u64::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl<const DURABLE: bool> Keyed for Count<DURABLE> {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Count";
    const CAPACITY: u32 = 16;
    const IDLE: u64 = IDLE;
    const REPLY: bool = false;
}

#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) counts: Table<Count>,
}

by_hand!([] Counts, by FiveTuple, { Place::Travels => counts: Table<Count>, });

impl App for Counts {
    const NAME: &'static str = "counts";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Split);

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        let flow = packet.five_tuple()?;
        let port = flow.source_port;
        let packets = match self.counts.get_mut(&flow) {
            Some(_) if port == PUNTS && R::PLACES.is_some() => return Err(Stop::punt()),
            Some(count) => {
                count.0 += 1;
                count.0
            }
            None => {
                self.counts.insert(flow, Count(1))?;
                1
            }
        };
        if OPENS.contains(&port) && packets == 2 {
            self.counts.insert(FiveTuple { source_port: port + 1, ..flow }, Count(1))?;
        }
        Transmit
    }
}

/// The program, with memory of its own.
pub(crate) fn app() -> Counts {
    Counts::new(&mut memory(Counts::MEMORY)).expect("there is memory")
}
