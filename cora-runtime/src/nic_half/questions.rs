//! Questions about the NIC's tables, which the host passes on.

use cora_core::app::{App, Sides};
use cora_core::state::NO_FLOW;

use super::NicHalf;
use crate::channel::PeerOutbox;
use crate::link::message::group::{encoded, room};
use crate::link::message::{Answer, GroupKey, Questions, Stay};
use crate::questions;
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
            Questions::Tap { .. } => self.tap.begin(TapOrder::of(&question)),
            _ => return false,
        }
        true
    }

    fn list(&mut self, state: u16, places: (u32, u32), out: &mut impl PeerOutbox) {
        let Self { engine, ownership, now, .. } = self;
        let flows = ownership.flows();
        let stay = if A::PLAN.sides == Sides::Split { Stay::Taken } else { Stay::Planned };
        let next = questions::list(engine.app(), state, places, *now, &mut |place, flow, piece| {
            let (group, mut room) = (flows.group(flow), room());
            let group = group.as_ref().map_or(&[][..], |group| encoded(group, &mut room));
            let group = GroupKey(group);
            out.send(&Questions::Listed { state, place, flow, stay, group, piece }.into());
        });
        out.send(&Questions::ListEnd { next }.into());
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
