//! States that are read as of a merge, at the host.

use cora_core::app::{App, Sides};
use cora_core::state::commutative::epoch_end;

use super::{HostHalf, HostOutbox};
use crate::channel::ProtocolError;
use crate::link::message::Merges;
use crate::merges::{add, epoch_begin};

impl<A: App> HostHalf<A> {
    /// Whether no state of this shard is at a NIC.
    const fn has_all(&self) -> bool {
        self.receives || matches!(A::PLAN.sides, Sides::HostOnly)
    }

    /// A packet of this time is about to run, and no NIC told its epoch.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_alone(&mut self, now: u64, out: &mut impl HostOutbox) {
        let ends = epoch_end(now);
        self.pass_time_before_epoch(ends, out);
        self.turns.turn_alone(ends, self.engine.app());
    }

    /// Runs the hooks and timers that are due before this epoch.
    fn pass_time_before_epoch(&mut self, ends: u64, out: &mut impl HostOutbox) {
        if const { A::TIMED }
            && let Some(now) = self.turns.time_before::<A>(ends)
        {
            self.pass_time_before(&self.last.later(now), out);
        }
    }

    /// A message about a merge.
    pub(super) fn merges_message(
        &mut self,
        message: Merges<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        match message {
            Merges::Turn { ends, .. } if self.receives => self.epoch_begins(ends, out),
            // Timers begin with an epoch, too, but only merges have parts.
            _ if const { !A::MERGED } => return Err(ProtocolError::unexpected(&message.into())),
            Merges::Turn { ends, follows } if !self.turns.lacks() => {
                self.pass_time_before_epoch(ends, out);
                self.turns.turn_at_host(ends, follows != 0, self.engine.app(), out);
                self.tell_changes(out);
            }
            _ => {
                self.turns.message(message, self.engine.app())?;
            }
        }
        Ok(())
    }

    /// Begins the epoch that was told, if that can be.
    fn turn_next(&mut self, out: &mut impl HostOutbox) {
        if let Some(ends) = self.turns.take_due() {
            self.pass_time_before_epoch(ends, out);
            self.turns.turn_among_shards(ends, self.engine.app());
            self.tell_changes(out);
        }
    }
}

/// One of several shards: the exchange of parts of a merge. The caller publishes this shard's part,
/// and passes on those of the others.
impl<A: App> HostHalf<A> {
    /// This is the host of one of several shards: from now on a merge needs the parts of all.
    pub const fn join_shards(&mut self) {
        self.turns.join_shards();
    }

    /// An epoch begins for all shards, at a host that packets come to: when it ends.
    pub fn epoch_begins(&mut self, ends: u64, out: &mut impl HostOutbox) {
        if const { !A::MERGED && A::TIMERS } {
            self.pass_time(epoch_begin(ends), out);
        } else if const { A::MERGED } && self.turns.tell(ends) {
            self.turn_next(out);
        }
    }

    /// Whether no packet from the wire may run: an epoch is to begin, or its merge is not whole.
    #[inline]
    pub const fn must_wait(&self) -> bool {
        A::MERGED && self.receives && self.turns.stops_packets()
    }

    /// The end of the epoch whose part is to be published now.
    pub const fn epoch_to_tell(&self) -> Option<u64> {
        if const { A::MERGED } { self.turns.to_tell() } else { None }
    }

    /// Reports this shard's part, in pieces, each with the number of its state. It is published
    /// then.
    pub fn tell_part(&mut self, piece: &mut dyn FnMut(u16, &[u8])) {
        self.turns.tell_part(self.engine.app(), piece);
    }

    /// The end of the epoch that lacks parts of other shards, once this shard's part is published.
    pub const fn epoch_to_collect(&self) -> Option<u64> {
        if const { A::MERGED } { self.turns.to_collect() } else { None }
    }

    /// Adds a piece of another shard's part.
    ///
    /// # Errors
    /// If no part lacks, or if it is no piece of this state.
    pub fn take_part(
        &mut self,
        state: u16,
        piece: &[u8],
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        let message = Merges::Part { state, piece };
        if self.turns.to_collect().is_none() {
            return Err(ProtocolError::unexpected(&message.into()));
        }
        add(state, piece, self.engine.app())?;
        if !self.has_all() {
            out.send(&message.into());
        }
        Ok(())
    }

    /// The parts of all other shards have come, as far as these have any.
    pub fn has_all_parts(&mut self, out: &mut impl HostOutbox) {
        if self.turns.to_collect().is_none() {
            return;
        }
        self.turns.has_all_parts(self.engine.app());
        if !self.receives {
            out.send(&Merges::Whole {}.into());
        }
        self.turn_next(out);
    }
}
