//! Handover of flows to the host.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::table::Moved;

use super::{NicOwnership, NicRecord, NicSide, Stage};
use crate::channel::{PeerOutbox, ProtocolError};
use crate::hooks;
use crate::link::message::group::{encoded, room};
use crate::link::message::{Durability, Kind, Ownership};
use crate::ownership::entries;
use crate::ownership::leaving::{Leaving, SMALL};

impl<A: App> NicOwnership<A> {
    /// Handles a recall; ignored unless the flow is owned here.
    #[inline(never)]
    pub(super) fn recall(
        &mut self,
        group: &[u8],
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> Result<(), ProtocolError> {
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Recall))?;
        // Only one flow leaves at a time.
        self.hand_over(u32::MAX, side, out);
        // The key of a flow that was idle for long may belong to another flow at the host by now,
        // so the lookup checks the time.
        let found = self.find(side.app, &group, side.now, side.hold.left());
        if let Some(found) = found {
            self.send_back(found.flow, side, out);
        }
        Ok(())
    }

    /// Hands the flow over to the host, if it is owned here.
    pub(crate) fn send_back(
        &mut self,
        flow: u32,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        // If handlers make keys that find others' packets, entries must not reach the host before
        // earlier packets that are held on their way there: one of these could find an entry that a
        // later packet made. So the flow stays, and the host may ask again.
        if A::PLAN.host_ordered && !side.hold.is_empty() {
            return;
        }
        // What waits for it would come behind its entries.
        if A::MESSAGES && self.flows.record(flow).is_some_and(NicRecord::is_in_mailbox) {
            return;
        }
        let Some((Stage::Owned, punts)) =
            self.flows.record(flow).map(|record| (record.stage, record.punts))
        else {
            return;
        };
        // Its held packets may be much older than the latest packet, and must still find the
        // entries alive.
        let oldest = side.hold.oldest().filter(|_| self.must_queue(flow, side.hold));
        let now = oldest.unwrap_or(side.now);
        if const { A::DURABLE } || !self.announce_all(flow, side.app) {
            self.give_back(flow, punts, now, 0, side, out);
            self.forget(flow, side.app, side.hold);
        } else {
            let left = self.say_release(flow, punts, now, 0, side, out);
            if let Some(record) = self.flows.record(flow) {
                record.stage = Stage::Leaving;
            }
            self.flows.pin(flow);
            self.leaving = Some(Leaving { flow, left, now });
            self.hand_over(SMALL, side, out);
        }
    }

    /// Announces all keys of a flow, so that they find it without its entries. `false`: there are
    /// too many.
    #[inline(never)]
    fn announce_all(&mut self, flow: u32, app: &mut A) -> bool {
        let keys = self.flows.group(flow).and_then(|group| entries::keys(app, flow, &group));
        let Some(keys) = keys.filter(|keys| self.pending.has_room(keys.len())) else {
            return false;
        };
        for words in keys {
            self.pending.add(words, flow);
        }
        true
    }

    /// Sends the next entries of the leaving flow to the host, at most `most`. After the last one,
    /// its held packets can go on.
    #[inline(never)]
    pub(crate) fn hand_over(
        &mut self,
        most: u32,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        let Some(mut leaving) = self.leaving.filter(|_| const { !A::DURABLE }) else { return };
        side.report.moved_bytes += leaving.send(side.app, most, out);
        self.leaving = (leaving.left > 0).then_some(leaving);
        if leaving.left == 0 {
            self.arrived_at_host(leaving.flow, side.app, side.hold);
        }
    }

    /// Sends the flow to the host because of a punt, with its entries alive at `now`. The caller
    /// sends the packet, and then [forgets](Self::forget) the flow.
    pub(crate) fn release(
        &mut self,
        flow: u32,
        now: u64,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        let punts = self.punts(flow).saturating_add(1);
        self.give_back(flow, punts, now, 0, side, out);
    }

    /// Punts of the flow so far.
    pub(super) fn punts(&mut self, flow: u32) -> u32 {
        self.flows.record(flow).map_or(0, |record| record.punts)
    }

    /// Sends the flow's entries that are alive at `now` to the host; `more` further entries will
    /// follow. The caller forgets the flow afterwards.
    pub(super) fn give_back(
        &mut self,
        flow: u32,
        punts: u32,
        now: u64,
        more: u32,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        // Only one flow leaves at a time.
        self.hand_over(u32::MAX, side, out);
        self.say_release(flow, punts, now, more, side, out);
        let NicSide { app, report, .. } = side;
        entries::hand_back(*app, flow, now, &mut |state, moved| match moved {
            Moved::Whole(piece) => {
                report.moved_bytes += piece.len() as u64;
                out.send(&Ownership::Entry { state, piece }.into());
            }
            Moved::Same(key, used) => {
                report.moved_bytes += key.len() as u64 + 8;
                out.send(&Durability::Same { state, used, key }.into());
            }
        });
    }

    /// Announces the flow's entries, and `more` others. Returns the number of its own.
    #[inline(never)]
    fn say_release(
        &mut self,
        flow: u32,
        punts: u32,
        now: u64,
        more: u32,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) -> u32 {
        let Some(group) = self.flows.group(flow) else { return 0 };
        let mut bytes = room();
        let group = encoded(&group, &mut bytes);
        if const { !A::HOOKED.is_empty() } {
            // The host drops the flow's other replicas when it came back.
            hooks::end_of_flow(side.app, flow, now);
            hooks::tell_noticed(side.app, out);
        }
        let left = entries::count(side.app, flow, now);
        out.send(&Ownership::Release { punts, entries: left + more, group }.into());
        side.report.released += 1;
        left
    }
}
