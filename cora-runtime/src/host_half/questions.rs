//! Questions about the host's tables and flows.

use cora_core::app::App;
use cora_core::plain::Plain as _;

use super::{HostHalf, HostOutbox};
use crate::link::message::group::{encoded, room};
use crate::link::message::{Answer, GroupKey, Message, Questions};
use crate::ownership::Order;
use crate::ownership::host::HostSide;
use crate::questions;

impl<A: App> HostHalf<A> {
    /// Tells the entries in these places of a table: calls `tell` with
    /// [`Listed`](Questions::Listed) for each, and returns the next place, or
    /// [`NO_PLACE`](crate::link::message::NO_PLACE).
    pub fn list(
        &mut self,
        state: u16,
        places: (u32, u32),
        tell: &mut dyn FnMut(&Message<'_>),
    ) -> u32 {
        let Self { engine, ownership, clock, .. } = self;
        let strays = ownership.strays(engine.app());
        questions::list(engine.app(), state, places, clock.now, &mut |place, flow, piece| {
            let stay = ownership.stay(flow, clock.now, strays);
            let (group, mut room) = (ownership.flows().group(flow), room());
            let group = group.as_ref().map_or(&[][..], |group| encoded(group, &mut room));
            let group = GroupKey(group);
            tell(&Questions::Listed { state, place, flow, stay, group, piece }.into());
        })
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
