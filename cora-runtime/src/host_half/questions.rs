//! Questions about the host's tables and flows.

use cora_core::app::App;
use cora_core::plain::Plain as _;

use super::{HostHalf, HostOutbox};
use crate::link::message::{Answer, Message, Stamp};
use crate::ownership::Order;
use crate::ownership::host::HostSide;
use crate::questions::{self, listed};

impl<A: App> HostHalf<A> {
    /// Tells the entries in these places of a table: calls `tell` with
    /// [`Listed`](crate::link::message::Questions::Listed) for each, and returns the next place, or
    /// [`NO_PLACE`](crate::link::message::NO_PLACE).
    pub fn list(
        &mut self,
        state: u16,
        places: (u32, u32),
        tell: &mut dyn FnMut(&Message<'_>),
    ) -> u32 {
        let Self { engine, ownership, clock, .. } = self;
        let strays = ownership.strays(engine.app());
        questions::list(engine.app(), state, places, clock.now, &mut |entry| {
            let stay = ownership.stay(entry.flow, clock.now, strays);
            listed(ownership.flows(), stay, entry, tell);
        })
    }

    /// Tells the entries that a packet would find, and those of its flow, as [`Self::list`] does.
    pub fn find(&mut self, stamp: &Stamp, frame: &[u8], tell: &mut dyn FnMut(&Message<'_>)) {
        let Self { engine, ownership, clock, tap, .. } = self;
        let strays = ownership.strays(engine.app());
        let Some(packet) = tap.packet(stamp, frame) else { return };
        let time = (stamp.meta.now, clock.horizon);
        questions::find(engine.app(), &packet, time, &mut |entry| {
            let stay = ownership.stay(entry.flow, clock.now, strays);
            listed(ownership.flows(), stay, entry, tell);
        });
    }

    /// Calls `piece` with each piece of the value of a state that has no keys.
    pub fn value(&mut self, state: u16, piece: &mut dyn FnMut(&[u8])) {
        questions::value(self.engine.app(), state, self.clock.now, piece);
    }

    /// Removes the entry with this name, as a handler does.
    pub fn remove(&mut self, state: u16, name: &[u8], out: &mut impl HostOutbox) -> Answer {
        // Entries that are counted may not vanish before they are sent.
        if self.ownership.is_in_transit() {
            return Answer::InTransit;
        }
        let time = (self.clock.now, self.clock.horizon);
        let Some(flow) = questions::remove(self.engine.app(), state, name, time) else {
            return Answer::NotHere;
        };
        self.ownership.lost_entry(self.engine.app(), flow);
        self.tell_changes(out);
        Answer::Done
    }

    /// Offers the flow with this encoded group key to the NIC, or recalls it.
    pub fn move_flow(&mut self, to_nic: bool, group: &[u8], out: &mut impl HostOutbox) -> Answer {
        let Some(group) = A::Group::get(group) else { return Answer::NotHere };
        let order = if to_nic { Order::Offer(group) } else { Order::Recall(group) };
        let Self { engine, ownership, report, clock, .. } = self;
        let side = &mut HostSide { app: engine.app(), report, clock: *clock };
        ownership.follow(&order, side, out)
    }
}
