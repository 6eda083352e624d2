//! Commutative states that handlers read as of the last merge ([`Merged`]).
//!
//! Packet time is divided into epochs. A packet of epoch e reads the merge that was made when epoch
//! e − 1 began; if no packet came in e − 1, the one made when e began. Under a split plan:
//!
//! - Every packet enters at the NIC, so the NIC says when an epoch begins. Each earlier packet has
//!   run there or is on its way to the host: the first packet of an epoch waits for those that are
//!   held.
//! - The NIC tells the epoch (`Turn`), then its replica (`Part`…, `Whole`). Both are in front of
//!   the epoch's packets, so the host merges at the same place among them, and sends its own
//!   replica back.
//! - The NIC has it before it needs it, unless packet time runs faster than messages: then packets
//!   wait. After a pause, too, the first packet waits for it.
//!
//! Without another side, the merge is this side's replica.
//!
//! # Several shards
//!
//! An epoch begins for all shards at the first packet of any shard in it. So the wire tells each
//! shard the epoch (`Turn`), in front of that packet. The NIC begins it there, once no earlier
//! packet is held and the merge before is whole. Until then it takes nothing more from the wire.
//!
//! A merge has the replicas of both sides of all shards. When a host has its NIC's replica, it
//! publishes the merge of both: its shard's part ([`Stage::Tell`]). Then it adds the parts of the
//! other shards, and passes each on to its NIC ([`Stage::Collect`]). Behind the last one it sends
//! `Whole`. The state machine does no I/O: its caller publishes a part, and gives it the others.
//!
//! A shard publishes the part of epoch e + 1 after it has the merge of e, and so the parts of all
//! others. So no part is read any more when the second one after it is published: two places for
//! parts, used by turns, are enough.
//!
//! Under a plan with one side, the shards exchange their parts in the same way. The side without
//! states has no replica of its own. The NIC holds no packets then: it leaves them on the wire
//! while they must wait.
//!
//! # Hooks and timers
//!
//! They may take a merged state, too. A hook belongs to the epoch of its own time: those that are
//! due before an epoch run before its replicas are merged, and later ones after that. No hook runs
//! before the merge that it reads is whole. So what it reads and where it counts depends on times
//! alone.
//!
//! [`Merged`]: cora_core::state::commutative::Merged

#[cfg(test)]
mod tests;

use cora_core::app::{App, Sides};
use cora_core::state::commutative::EPOCH;

use crate::channel::{PeerOutbox, ProtocolError};
use crate::link::message::Merges;
use crate::state_hash::{Say, say_words};

/// What the merge of the current epoch lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing: it is whole.
    Whole,
    /// The other side's replica.
    Peer,
    /// This shard's part is to be published, and those of the others are to come.
    Tell,
    /// The parts of the other shards.
    Collect,
}

/// Where a side is among the epochs.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Packets before this time (ns) may run: the end of the current epoch, or 0 while the merge
    /// that its packets read is not whole.
    until: u64,
    /// The end of the current epoch (ns); 0 before the first one.
    ends: u64,
    /// Whether packets were running in the epoch before, so that its merge is read now.
    follows: bool,
    /// What the merge lacks.
    stage: Stage,
    /// The end of an epoch that was told, and has not begun here yet; 0 if there is none.
    due: u64,
    /// The end of the latest epoch that the wire told; 0 if it tells none: there is one shard.
    told: u64,
    /// At a host of several shards: a merge has parts of the others.
    shards: bool,
}

/// The last moment before the epoch that ends then.
pub(crate) const fn before_epoch(ends: u64) -> u64 {
    ends.saturating_sub(EPOCH).saturating_sub(1)
}

/// The moment when the epoch begins that ends then.
pub(crate) const fn epoch_begin(ends: u64) -> u64 {
    ends.saturating_sub(EPOCH)
}

impl Turns {
    /// Before the first packet.
    pub(crate) const BEFORE: Self = Self {
        until: 0,
        ends: 0,
        follows: false,
        stage: Stage::Whole,
        due: 0,
        told: 0,
        shards: false,
    };

    /// Whether a packet of this time may run at once.
    #[inline(always)]
    pub(crate) const fn may_run(&self, now: u64) -> bool {
        now < self.until
    }

    /// Whether no epoch may begin: the merge before is not whole.
    pub(crate) const fn lacks(&self) -> bool {
        !matches!(self.stage, Stage::Whole)
    }

    /// The time that has passed before the epoch that ends then. Timers begin with the first one,
    /// whose begin has passed; hooks wait for its first packet.
    pub(crate) const fn time_before<A: App>(&self, ends: u64) -> Option<u64> {
        if self.ends > 0 {
            Some(before_epoch(ends))
        } else if A::TIMERS {
            Some(epoch_begin(ends))
        } else {
            None
        }
    }

    /// Whether an epoch was told that has not begun here.
    #[inline]
    pub(crate) const fn is_due(&self) -> bool {
        self.due > 0
    }

    /// The end of that epoch; 0 if there is none.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }

    /// Whether no packet may come in that can't be held: an epoch is to begin, or its packets wait
    /// for its merge.
    pub(crate) const fn stops_packets(&self) -> bool {
        self.due > 0 || self.waits()
    }

    /// Whether packets and hooks of this epoch wait for its merge.
    const fn waits(&self) -> bool {
        self.lacks() && !self.follows
    }

    /// The latest time whose hooks may run now. `holds`: packets are held, maybe of an epoch that
    /// has not begun.
    pub(crate) const fn hooks_until(&self, holds: bool) -> u64 {
        if self.waits() {
            before_epoch(self.ends)
        } else if holds {
            self.ends.saturating_sub(1)
        } else {
            u64::MAX
        }
    }

    /// Another process follows at the other side, which knows of no epoch. What the wire told is
    /// to begin anew.
    pub(crate) const fn begin_anew(&mut self) {
        let (told, shards) = (self.told, self.shards);
        *self = Self { due: told, told, shards, ..Self::BEFORE };
    }

    /// The NIC's process ended: another one knows of no epoch.
    pub(crate) const fn forget(&mut self) {
        *self = Self { shards: self.shards, ..Self::BEFORE };
    }

    /// This is the host of one of several shards.
    pub(crate) const fn join_shards(&mut self) {
        self.shards = true;
    }

    /// The wire told an epoch. Whether it is a later one than any before.
    pub(crate) const fn tell(&mut self, ends: u64) -> bool {
        if ends <= self.ends || ends <= self.told {
            return false;
        }
        (self.told, self.due) = (ends, ends);
        true
    }

    /// Takes the epoch that was told and may begin now.
    pub(crate) const fn take_due(&mut self) -> Option<u64> {
        if self.due == 0 || self.lacks() {
            return None;
        }
        let due = core::mem::replace(&mut self.due, 0);
        // A packet may have begun it.
        if due > self.ends { Some(due) } else { None }
    }

    /// An epoch begins at a side without another one, and of one shard.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_alone<A: App>(&mut self, ends: u64, app: &mut A) {
        self.begin(ends, self.follows_on(ends), app);
        self.complete(app);
        if self.shards {
            // Nobody told this epoch, so its packets don't wait for the other shards.
            self.stage = Stage::Tell;
        }
    }

    /// An epoch begins at the NIC, which tells the host. Whether its packets may run.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_at_nic<A: App>(
        &mut self,
        ends: u64,
        app: &mut A,
        out: &mut impl PeerOutbox,
    ) -> bool {
        self.begin(ends, self.follows_on(ends), app);
        self.stage = Stage::Peer;
        let follows = u16::from(self.follows);
        out.send(&Merges::Turn { ends: self.ends, follows }.into());
        if !matches!(A::PLAN.sides, Sides::HostOnly) {
            tell(app, out);
        }
        out.send(&Merges::Whole {}.into());
        self.follows
    }

    /// The NIC told an epoch: it begins at the host.
    pub(crate) fn turn_at_host<A: App>(
        &mut self,
        ends: u64,
        follows: bool,
        app: &mut A,
        out: &mut impl PeerOutbox,
    ) {
        self.begin(ends, follows, app);
        self.stage = Stage::Peer;
        if matches!(A::PLAN.sides, Sides::Split) {
            tell(app, out);
        }
        if !self.shards {
            out.send(&Merges::Whole {}.into());
        }
    }

    /// An epoch begins for all shards, at a host without a NIC.
    pub(crate) fn turn_among_shards<A: App>(&mut self, ends: u64, app: &mut A) {
        self.begin(ends, self.follows_on(ends), app);
        self.stage = Stage::Tell;
    }

    /// Whether the epoch that ends then is the next one.
    const fn follows_on(&self, ends: u64) -> bool {
        self.ends > 0 && ends == self.ends.saturating_add(EPOCH)
    }

    fn begin<A: App>(&mut self, ends: u64, follows: bool, app: &mut A) {
        (self.ends, self.follows) = (ends, follows);
        self.until = if follows { ends } else { 0 };
        app.each_merged(&mut |_, state| state.cut(follows));
    }

    /// The merge is whole.
    fn complete<A: App>(&mut self, app: &mut A) {
        if !self.follows {
            app.each_merged(&mut |_, state| state.show());
        }
        (self.until, self.stage) = (self.ends, Stage::Whole);
    }

    /// Handles a message of the other side about its replica. Returns whether the merge is whole
    /// now.
    ///
    /// # Errors
    /// If it has no place here.
    #[cold]
    #[inline(never)]
    pub(crate) fn message<A: App>(
        &mut self,
        message: Merges<'_>,
        app: &mut A,
    ) -> Result<bool, ProtocolError> {
        match message {
            Merges::Part { state, piece } if self.stage == Stage::Peer => add(state, piece, app)?,
            Merges::Whole {} if self.stage == Stage::Peer && self.shards => {
                self.stage = Stage::Tell;
            }
            Merges::Whole {} if self.stage == Stage::Peer => self.complete(app),
            _ => return Err(ProtocolError::unexpected(&message.into())),
        }
        Ok(!self.lacks())
    }

    /// Gives the turns to `say`, for an explorer of all schedules.
    pub(crate) fn hash(&self, say: &mut Say<'_>) {
        let flags = u64::from(self.follows) | u64::from(self.shards) << 1;
        say_words(say, &[self.until, self.ends, flags, self.stage as u64, self.due, self.told]);
    }
}

/// The exchange of parts between shards.
impl Turns {
    /// The end of the epoch whose part is to be published.
    pub(crate) const fn to_tell(&self) -> Option<u64> {
        if matches!(self.stage, Stage::Tell) { Some(self.ends) } else { None }
    }

    /// The end of the epoch that lacks parts of other shards.
    pub(crate) const fn to_collect(&self) -> Option<u64> {
        if matches!(self.stage, Stage::Collect) { Some(self.ends) } else { None }
    }

    /// Reports this shard's part, which is published then.
    pub(crate) fn tell_part<A: App>(&mut self, app: &mut A, piece: &mut dyn FnMut(u16, &[u8])) {
        app.each_merged(&mut |state, merged| merged.tell_merge(&mut |bytes| piece(state, bytes)));
        self.stage = Stage::Collect;
    }

    /// All parts have come.
    pub(crate) fn has_all_parts<A: App>(&mut self, app: &mut A) {
        if self.stage == Stage::Collect {
            self.complete(app);
        }
    }
}

/// Adds a piece of another replica, or of another shard's part, to the merge.
pub(crate) fn add<A: App>(state: u16, piece: &[u8], app: &mut A) -> Result<(), ProtocolError> {
    let mut added = Err(ProtocolError::BadPiece(state));
    app.each_merged(&mut |number, merged| {
        if number == state && merged.add(piece).is_ok() {
            added = Ok(());
        }
    });
    added
}

/// Tells the other side this side's replicas.
fn tell<A: App>(app: &mut A, out: &mut impl PeerOutbox) {
    app.each_merged(&mut |state, merged| {
        merged.tell(&mut |piece| out.send(&Merges::Part { state, piece }.into()));
    });
}
