//! Messages at the host: those that runs here sent, for flows of this side or of the other.

use cora_core::app::{App, Sides};
use cora_core::message::{ELSEWHERE, SENT};
use cora_core::packet::Packet;
use cora_core::verdict::Reason;

use super::{HostHalf, HostOutbox};
use crate::cascade::{packet_of, packets_of};
use crate::channel::ProtocolError;
use crate::exec::burst::{ALONE, Arrival, Burst};
use crate::link::message::{Kind, Stamp};

/// The message was under way to a NIC half that ended.
const LOST: Reason = Reason::new("lost-with-nic");

impl<A: App> HostHalf<A> {
    /// Handles all messages that wait, with those that they cause.
    #[inline(always)]
    pub(super) fn cascade<const FLOWS: bool>(&mut self, out: &mut impl HostOutbox) {
        if const { A::MESSAGES } {
            self.handle_messages::<FLOWS>(out);
        }
    }

    #[inline(never)]
    fn handle_messages<const FLOWS: bool>(&mut self, out: &mut impl HostOutbox) {
        while let Some(mut piece) = self.cascade.next() {
            let stamp = piece.stamp();
            let mut wanted = None;
            let mut arrival = Arrival::alone(&stamp, packet_of(&stamp, piece.frame()));
            if !self.cascade.home.has::<A>(&arrival.packet) {
                out.leave(&stamp, ELSEWHERE, arrival.packet.frame());
            } else if FLOWS && self.is_for_nic(&stamp, &arrival.packet) {
                self.under_way.goes::<A>(&arrival.packet);
                out.leave(&stamp, SENT, arrival.packet.frame());
            } else {
                wanted = self.by_class::<FLOWS>(&mut arrival, ALONE, false, out);
            }
            match wanted {
                Some((class, to)) => self.cascade.put(piece, class, to),
                None => self.cascade.free(piece),
            }
        }
    }

    /// Whether a message goes to the NIC, which may own its flow.
    fn is_for_nic(&mut self, stamp: &Stamp, packet: &Packet<'_>) -> bool {
        if A::PLAN.sides != Sides::Split || !self.ownership.has_nic() || A::is_anywhere(packet) {
            return false;
        }
        let horizon = self.waits_since(self.clock.horizon);
        self.under_way.has::<A>(packet)
            || self.ownership.may_be_at_nic(
                self.engine.app(),
                packet,
                stamp.meta.now.max(self.clock.now),
                horizon,
            )
    }

    /// This is the shard with this number, of so many, in the run with this seed. `false`: there
    /// can't be one.
    #[must_use]
    pub fn is_shard(&mut self, which: (u16, u16), seed: u64) -> bool {
        self.cascade.is_shard(which, seed)
    }

    /// The NIC ended, and the messages under way with it.
    pub(super) fn messages_lost(&mut self) {
        // Another NIC has time for all, until it says otherwise.
        self.cascade.classes.pushed_to = 0;
        for _ in 0..self.under_way.end() {
            self.engine.outcomes.dropped(LOST);
        }
    }

    /// The NIC has handled so many messages.
    pub(super) fn are_handled(&mut self, messages: u64) -> Result<(), ProtocolError> {
        let is_right = A::MESSAGES && self.under_way.are_handled(messages);
        if is_right { Ok(()) } else { Err(ProtocolError::Unexpected(Kind::Handled)) }
    }

    /// Counts what ran here.
    #[inline(always)]
    pub(super) fn count_packets(&mut self, burst: &Burst<'_>) {
        self.report.packets += packets_of::<A>(burst);
    }
}
