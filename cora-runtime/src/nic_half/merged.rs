//! States that are read as of a merge, at the NIC of a split plan.

use cora_core::app::App;

use super::NicHalf;
use crate::channel::{PeerOutbox, ProtocolError};
use crate::exec::egress::Wire;
use crate::link::message::Merges;
use crate::merges::Turns;

impl<A: App> NicHalf<A> {
    /// Whether a packet of this time must wait: for the merge that it reads, or, as the first of
    /// its epoch, for all packets before it. `is_first` says that none of those is held.
    #[inline(always)]
    pub(super) fn must_wait_for_merge(
        &mut self,
        now: u64,
        is_first: bool,
        out: &mut impl PeerOutbox,
    ) -> bool {
        A::MERGED && !self.turns.may_run(now) && !self.turn(now, is_first, out)
    }

    /// Begins the epoch of a packet of this time, if that can be. Returns whether the packet may
    /// run.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, now: u64, is_first: bool, out: &mut impl PeerOutbox) -> bool {
        let may_turn = is_first && !self.turns.lacks();
        may_turn && self.turns.turn_at_nic(now, self.engine.app(), out)
    }

    /// A message about a merge. When it is whole, held packets go on.
    pub(super) fn merges(
        &mut self,
        message: Merges<'_>,
        io: &mut (impl PeerOutbox + Wire),
    ) -> Result<(), ProtocolError> {
        if self.turns.message(message, self.engine.app(), io)? {
            self.hold.move_on();
            self.go_on(io);
        }
        Ok(())
    }

    /// Another host follows, which knows of no epoch.
    pub(super) const fn begin_turns_anew(&mut self) {
        self.turns = Turns::BEFORE;
    }
}
