//! Handover of flows to the other side. A flow with many entries goes in parts, so that others need
//! not wait for it.
//!
//! The number of entries is sent first. A placeholder is sent for each entry that expires
//! meanwhile, so that the number holds.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::table::Moved;

use crate::channel::{Outbox, ProtocolError};
use crate::exec::Wire;
use crate::host_half::HostHalf;
use crate::link::message::{Durability, Kind, Ownership};
use crate::nic_half::NicHalf;
use crate::ownership::encode::{encoded, room};
use crate::ownership::records::{Flows, Stage};

/// Entries that a run loop lets a half send in a row: some tens of microseconds.
pub const AT_ONCE: u32 = 32;

/// A flow with at most this many entries goes at once.
pub(crate) const SMALL: u32 = 4;

/// The flow in handover, and the part of it that is still here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) flow: u32,
    /// Entries promised and not sent yet.
    pub(crate) left: u32,
    /// Entries expired by this time are not sent.
    pub(crate) now: u64,
}

impl Leaving {
    /// Sends the next entries, at most `most`. Returns their bytes.
    #[inline(never)]
    pub(crate) fn send<A: App>(&mut self, app: &mut A, most: u32, out: &mut impl Outbox) -> u64 {
        let mut bytes = 0;
        let most = most.min(self.left);
        let sent = Flows::take_out(app, self.flow, self.now, most, &mut |state, piece| {
            bytes += piece.len() as u64;
            out.send(&Ownership::Entry { state, piece }.into());
        });
        for _ in sent..most {
            out.send(&Ownership::Vanished {}.into());
        }
        self.left -= most;
        bytes
    }
}

impl<A: App> HostHalf<A> {
    /// Sends the next entries of the leaving flow, at most `most`.
    pub(crate) fn send_entries(&mut self, mut leaving: Leaving, most: u32, out: &mut impl Outbox) {
        self.report.moved_bytes += leaving.send(self.engine.app(), most, out);
        self.leaving = (leaving.left > 0).then_some(leaving);
        if leaving.left == 0 {
            self.flows.remove(self.engine.app(), leaving.flow);
        }
    }

    /// Sends the next entries of the leaving flow, at most `most`. The run loop calls it whenever
    /// the ring to the NIC has room.
    pub fn hand_over(&mut self, most: u32, out: &mut impl Outbox) -> Result<(), ProtocolError> {
        if let Some(leaving) = self.leaving {
            self.send_entries(leaving, most, out);
        }
        while self.leaving.is_none() && self.fenced != 0 {
            let ticket = self.fenced.trailing_zeros();
            self.fenced &= self.fenced - 1;
            self.fence(ticket, out)?;
        }
        Ok(())
    }
}

impl<A: App> NicHalf<A> {
    /// Handles a recall; ignored unless the flow is owned here.
    #[inline(never)]
    pub(crate) fn recall(
        &mut self,
        group: &[u8],
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Recall))?;
        // Only one flow leaves at a time.
        self.hand_over(u32::MAX, io);
        let left = self.hold.left();
        // The key of a flow that was idle for long may belong to another flow at the host by now,
        // so the lookup checks the time.
        let found = self.flows.find(self.engine.app(), &group, self.now, left);
        let Some(flow) = found else { return Ok(()) };
        self.send_back(flow, io);
        Ok(())
    }

    /// Hands the flow over to the host, if it is owned here.
    pub(crate) fn send_back(&mut self, flow: u32, io: &mut (impl Outbox + Wire)) {
        // If handlers make keys that find others' packets, entries must not reach the host before
        // earlier packets that are held on their way there: one of these could find an entry that a
        // later packet made. So the flow stays, and the host may ask again.
        if A::PLAN.host_ordered && !self.hold.is_empty() {
            return;
        }
        // Its held packets may be much older than the latest packet, and must still find the
        // entries alive.
        let oldest = self.hold.oldest().filter(|_| self.must_queue(flow));
        let now = oldest.unwrap_or(self.now);
        let owned = self.flows.record(flow).map(|record| (record.stage, record.punts));
        if let Some((Stage::Owned, punts)) = owned {
            if const { A::DURABLE } || !self.announce_all(flow) {
                self.give_back(flow, punts, now, 0, io);
                self.forget(flow);
            } else {
                let left = self.say_release(flow, punts, now, 0, io);
                if let Some(record) = self.flows.record(flow) {
                    record.stage = Stage::Leaving;
                }
                self.flows.pin(flow);
                self.leaving = Some(Leaving { flow, left, now });
                self.hand_over(SMALL, io);
            }
        }
    }

    /// Announces all keys of a flow, so that they find it without its entries. `false`: there are
    /// too many.
    #[inline(never)]
    fn announce_all(&mut self, flow: u32) -> bool {
        let keys = self.flows.keys(self.engine.app(), flow);
        let Some(keys) = keys.filter(|keys| self.announced.has_room(keys.len())) else {
            return false;
        };
        for words in keys {
            self.announced.add(words, flow);
        }
        true
    }

    /// Sends the next entries of the leaving flow to the host, at most `most`. After the last one,
    /// its held packets go on. The run loop calls it between bursts.
    #[inline(never)]
    pub fn hand_over(&mut self, most: u32, io: &mut (impl Outbox + Wire)) {
        let Some(mut leaving) = self.leaving.filter(|_| const { !A::DURABLE }) else { return };
        self.report.moved_bytes += leaving.send(self.engine.app(), most, io);
        self.leaving = (leaving.left > 0).then_some(leaving);
        if leaving.left == 0 {
            self.arrived(leaving.flow);
            self.forget(leaving.flow);
            self.drain(io);
        }
    }

    /// Sends the flow's entries that are alive at `now` to the host; `more` further entries will
    /// follow. The caller forgets the flow afterwards.
    pub(crate) fn give_back(
        &mut self,
        flow: u32,
        punts: u32,
        now: u64,
        more: u32,
        io: &mut (impl Outbox + Wire),
    ) {
        // Only one flow leaves at a time.
        self.hand_over(u32::MAX, io);
        self.say_release(flow, punts, now, more, io);
        Flows::hand_back(self.engine.app(), flow, now, &mut |state, moved| match moved {
            Moved::Whole(piece) => {
                self.report.moved_bytes += piece.len() as u64;
                io.send(&Ownership::Entry { state, piece }.into());
            }
            Moved::Same(key, used) => {
                self.report.moved_bytes += key.len() as u64 + 8;
                io.send(&Durability::Same { state, used, key }.into());
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
        io: &mut impl Outbox,
    ) -> u32 {
        let Some(group) = self.flows.group(flow) else { return 0 };
        let mut bytes = room();
        let group = encoded(&group, &mut bytes);
        let left = Flows::entries(self.engine.app(), flow, now);
        io.send(&Ownership::Release { punts, entries: left + more, group }.into());
        self.report.released += 1;
        left
    }
}
