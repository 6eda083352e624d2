//! States that are read as of a merge, at the NIC.

use cora_core::app::{App, Sides};
use cora_core::state::commutative::epoch_end;

use super::NicHalf;
use crate::channel::{PeerOutbox, ProtocolError};
use crate::exec::egress::Wire;
use crate::link::message::Merges;
use crate::merges::{before_epoch, epoch_begin};

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
        A::MERGED && !self.turns.may_run(now) && !self.turn(epoch_end(now), is_first, out)
    }

    /// Begins the epoch that ends then, if that can be. Returns whether its packets may run.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, ends: u64, is_first: bool, out: &mut impl PeerOutbox) -> bool {
        // Hooks that are due before the epoch run before it, at the host: each end must be known
        // there.
        let before = before_epoch(ends);
        if !is_first || self.turns.lacks() || self.ownership.is_late(before) {
            return false;
        }
        self.tell_ends(before, out);
        self.turns.turn_at_nic(ends, self.engine.app(), out)
    }

    /// The epoch of a packet of this time begins at a NIC with all states.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_alone(&mut self, now: u64, wire: &mut impl Wire) {
        let ends = epoch_end(now);
        self.pass_time_before_epoch(ends, wire);
        self.turns.turn_alone(ends, self.engine.app());
    }

    /// Runs the hooks and timers that are due before this epoch, at a NIC with all states.
    fn pass_time_before_epoch(&mut self, ends: u64, wire: &mut impl Wire) {
        if const { Self::RUNS_TIMED }
            && let Some(now) = self.turns.time_before::<A>(ends)
        {
            self.pass_time_before(&self.last.later(now), wire);
        }
    }

    /// The wire tells that an epoch begins for all shards: when it ends.
    #[cold]
    #[inline(never)]
    pub fn epoch_begins(&mut self, ends: u64, io: &mut (impl PeerOutbox + Wire)) {
        if const { !A::MERGED && A::TIMERS } {
            self.silence(epoch_begin(ends), io);
        } else if const { A::MERGED } && self.turns.tell(ends) {
            self.turn_next(io);
        }
    }

    /// Begins the epoch that the wire told, if that can be.
    #[inline]
    pub(super) fn turn_next(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        if const { A::MERGED } && self.turns.is_due() && self.hold.is_empty() {
            self.turn_to_told(io);
        }
    }

    #[cold]
    #[inline(never)]
    fn turn_to_told(&mut self, io: &mut (impl PeerOutbox + Wire)) {
        if self.ownership.is_late(before_epoch(self.turns.due())) {
            return;
        }
        let Some(ends) = self.turns.take_due() else { return };
        match A::PLAN.sides {
            Sides::HostOnly => {}
            Sides::NicOnly | Sides::Dealt => self.pass_time_before_epoch(ends, io),
            Sides::Split => self.tell_ends(before_epoch(ends), io),
        }
        self.turns.turn_at_nic(ends, self.engine.app(), io);
    }

    /// Whether the wire must wait for an epoch that it told, or for its merge.
    #[inline]
    pub(super) const fn waits_for_epoch(&self) -> bool {
        match A::PLAN.sides {
            Sides::NicOnly | Sides::HostOnly | Sides::Dealt => self.turns.stops_packets(),
            // Packets of the epoch are held.
            Sides::Split => self.turns.is_due(),
        }
    }

    /// A message about a merge. When it is whole, held packets go on.
    pub(super) fn merges(
        &mut self,
        message: Merges<'_>,
        io: &mut (impl PeerOutbox + Wire),
    ) -> Result<(), ProtocolError> {
        if self.turns.message(message, self.engine.app())? {
            self.hold.move_on();
            self.go_on(io);
        }
        Ok(())
    }

    /// The latest time that the host may be told, so that no hook runs before its epoch.
    #[inline]
    pub(super) const fn hooks_until(&self) -> u64 {
        if const { A::MERGED && Self::TELLS_ENDS } {
            self.turns.hooks_until(!self.hold.is_empty())
        } else {
            u64::MAX
        }
    }
}
