//! Flows that go to the other side: those with many entries bit by bit, so that others need not
//! wait for them.
//!
//! How many entries follow is said first. Those that expire meanwhile are sent as nothing, so that
//! the count holds.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::table::Moved;

use crate::channel::{Outbox, ProtocolError};
use crate::exec::Wire;
use crate::host_half::HostHalf;
use crate::link::message::Message;
use crate::nic_half::NicHalf;
use crate::ownership::encode::{encoded, room};
use crate::ownership::records::{Flows, Stage};

/// Entries that whoever runs a half lets it send in a row: some tens of microseconds.
pub const AT_ONCE: u32 = 32;

/// A flow with no more entries goes in one piece.
pub(crate) const SMALL: u32 = 4;

/// The flow, and how much of it is still here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) flow: u32,
    /// Entries promised and not sent yet.
    pub(crate) left: u32,
    /// Entries that had expired by then are not sent.
    pub(crate) now: u64,
}

impl Leaving {
    /// Sends the next entries, `most` at most; gives their bytes.
    #[inline(never)]
    pub(crate) fn send<A: App>(&mut self, app: &mut A, most: u32, out: &mut impl Outbox) -> u64 {
        let mut bytes = 0;
        let most = most.min(self.left);
        let sent = Flows::take_out(app, self.flow, self.now, most, &mut |state, piece| {
            bytes += piece.len() as u64;
            out.send(&Message::Entry(state, piece));
        });
        for _ in sent..most {
            out.send(&Message::Entry(0, &[]));
        }
        self.left -= most;
        bytes
    }
}

impl<A: App> HostHalf<A> {
    /// Sends the next entries of the flow that leaves, `most` at most.
    pub(crate) fn send_entries(&mut self, mut leaving: Leaving, most: u32, out: &mut impl Outbox) {
        self.report.moved_bytes += leaving.send(self.engine.app(), most, out);
        self.leaving = (leaving.left > 0).then_some(leaving);
        if leaving.left == 0 {
            self.flows.remove(self.engine.app(), leaving.flow);
        }
    }

    /// Sends the next entries of a flow with many, `most` at most. Whoever runs this half calls it
    /// whenever there is room on the way to the NIC.
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
    /// The host wants the flow back. If it is on its way here, or not here, it is not for now.
    #[inline(never)]
    pub(crate) fn recall(
        &mut self,
        group: &[u8],
        io: &mut (impl Outbox + Wire),
    ) -> Result<(), ProtocolError> {
        let group = A::Group::get(group).ok_or(ProtocolError::Undecodable(17))?;
        // One flow leaves after the other.
        self.hand_over(u32::MAX, io);
        let left = self.hold.left();
        // One that nobody used for long may be another flow's key at the host by now.
        let found = self.flows.find(self.engine.app(), &group, self.now, left);
        let Some(flow) = found else { return Ok(()) };
        self.send_back(flow, io);
        Ok(())
    }

    /// A flow goes to the host, if it is owned here.
    pub(crate) fn send_back(&mut self, flow: u32, io: &mut (impl Outbox + Wire)) {
        // Where keys are made that find others' packets, entries are not to be at the host before
        // packets that came earlier and wait on their way there: one of these may find what a later
        // one has made. It stays, then; who wants it asks again.
        if A::PLAN.host_ordered && !self.hold.is_empty() {
            return;
        }
        // Its packets that wait may be much older than what came last, and have yet to find the
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

    /// Lets the keys of a flow find it that its entries will be gone from; `false`: there are too
    /// many.
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

    /// Sends the next entries of a flow with many that goes to the host, `most` at most; with the
    /// last one, what waited for it goes on. Whoever runs this half calls it between bursts.
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

    /// Sends a flow's entries to the host, those that are alive at `now`; `more` further entries
    /// will follow. The flow is to be forgotten then.
    pub(crate) fn give_back(
        &mut self,
        flow: u32,
        punts: u32,
        now: u64,
        more: u32,
        io: &mut (impl Outbox + Wire),
    ) {
        // One flow leaves after the other.
        self.hand_over(u32::MAX, io);
        self.say_release(flow, punts, now, more, io);
        Flows::hand_back(self.engine.app(), flow, now, &mut |state, moved| match moved {
            Moved::Whole(piece) => {
                self.report.moved_bytes += piece.len() as u64;
                io.send(&Message::Entry(state, piece));
            }
            Moved::Same(key, used) => {
                self.report.moved_bytes += key.len() as u64 + 8;
                io.send(&Message::Same { state, used, key });
            }
        });
    }

    /// Says that the flow's entries follow, and `more` others; gives how many of its own.
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
        io.send(&Message::Release { punts, entries: left + more, group });
        self.report.released += 1;
        left
    }
}
