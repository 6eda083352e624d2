//! Questions about the NIC's tables, which the host passes on.

use cora_core::app::{App, Sides};
use cora_core::state::NO_FLOW;

use super::NicHalf;
use crate::channel::PeerOutbox;
use crate::link::message::{Answer, NO_PLACE, Questions, Stamp, Stay};
use crate::questions::{self, listed};
use crate::tap::TapOrder;

impl<A: App> NicHalf<A> {
    /// Answers a question. Returns whether it was one for the NIC.
    #[cold]
    #[inline(never)]
    pub(super) fn question(&mut self, question: Questions<'_>, out: &mut impl PeerOutbox) -> bool {
        match question {
            Questions::List { state, from, places, .. } => {
                self.list(state, (from, places), out);
            }
            Questions::Remove { state, name, .. } => {
                let answer = self.remove(state, name);
                out.send(&Questions::Answered { answer }.into());
            }
            Questions::Find { stamp, frame, .. } => self.find(&stamp, frame, out),
            Questions::Export { state, .. } => {
                let Self { engine, now, .. } = self;
                questions::value(engine.app(), state, *now, &mut |piece| {
                    out.send(&Questions::Exported { state, piece }.into());
                });
                out.send(&Questions::ListEnd { next: NO_PLACE }.into());
            }
            Questions::Tap { .. } => self.tap.begin(TapOrder::of(&question)),
            _ => return false,
        }
        true
    }

    fn list(&mut self, state: u16, places: (u32, u32), out: &mut impl PeerOutbox) {
        let Self { engine, ownership, now, .. } = self;
        let flows = ownership.flows();
        let next = questions::list(engine.app(), state, places, *now, &mut |entry| {
            listed(flows, stay::<A>(), entry, &mut |told| out.tapped(told));
        });
        out.send(&Questions::ListEnd { next }.into());
    }

    fn find(&mut self, stamp: &Stamp, frame: &[u8], out: &mut impl PeerOutbox) {
        let horizon = self.waits_since(self.now);
        let Self { engine, ownership, tap, .. } = self;
        let flows = ownership.flows();
        if let Some(packet) = tap.packet(stamp, frame) {
            let time = (stamp.meta.now, horizon);
            questions::find(engine.app(), &packet, time, &mut |entry| {
                listed(flows, stay::<A>(), entry, &mut |told| out.tapped(told));
            });
        }
        out.send(&Questions::ListEnd { next: NO_PLACE }.into());
    }

    fn remove(&mut self, state: u16, name: &[u8]) -> Answer {
        // Entries that are counted may not vanish before they are sent.
        if self.ownership.is_handing_over() || self.ownership.is_receiving() {
            return Answer::InTransit;
        }
        let time = (self.now, self.waits_since(self.now));
        let Some(flow) = questions::remove(self.engine.app(), state, name, time) else {
            return Answer::NotHere;
        };
        if flow != NO_FLOW && self.ownership.knows(flow) {
            self.ownership.settle(flow, self.engine.app(), &mut self.hold);
        }
        Answer::Done
    }
}

/// Why an entry is at the NIC.
const fn stay<A: App>() -> Stay {
    if matches!(A::PLAN.sides, Sides::Split) { Stay::Taken } else { Stay::Planned }
}
