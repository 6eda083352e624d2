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
//! [`Merged`]: cora_core::state::commutative::Merged

use cora_core::app::App;
use cora_core::state::commutative::EPOCH;

use crate::channel::{PeerOutbox, ProtocolError};
use crate::link::message::Merges;
use crate::state_hash::{Say, say_words};

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
    /// Whether the other side's part of the merge is still to come.
    lacks: bool,
}

impl Turns {
    /// Before the first packet.
    pub(crate) const BEFORE: Self = Self { until: 0, ends: 0, follows: false, lacks: false };

    /// Whether a packet of this time may run at once.
    #[inline(always)]
    pub(crate) const fn may_run(&self, now: u64) -> bool {
        now < self.until
    }

    /// Whether no epoch may begin: the merge before is not whole.
    pub(crate) const fn lacks(&self) -> bool {
        self.lacks
    }

    /// The epoch of a packet of this time begins, at a side without another one.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_alone<A: App>(&mut self, now: u64, app: &mut A) {
        self.turn(now, app);
        self.complete(app);
    }

    /// The epoch of a packet of this time begins at the NIC. Whether its packets may run.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_at_nic<A: App>(
        &mut self,
        now: u64,
        app: &mut A,
        out: &mut impl PeerOutbox,
    ) -> bool {
        self.turn(now, app);
        self.lacks = true;
        let follows = u16::from(self.follows);
        out.send(&Merges::Turn { ends: self.ends, follows }.into());
        tell(app, out);
        self.follows
    }

    fn turn<A: App>(&mut self, now: u64, app: &mut A) {
        let follows = self.ends > 0 && now < self.ends.saturating_add(EPOCH);
        let ends = (now / EPOCH).saturating_add(1).saturating_mul(EPOCH);
        self.begin(ends, follows, app);
        self.until = if follows { ends } else { 0 };
    }

    fn begin<A: App>(&mut self, ends: u64, follows: bool, app: &mut A) {
        (self.ends, self.follows) = (ends, follows);
        app.each_merged(&mut |_, state| state.cut(follows));
    }

    /// The merge is whole.
    fn complete<A: App>(&mut self, app: &mut A) {
        if !self.follows {
            app.each_merged(&mut |_, state| state.show());
        }
        (self.until, self.lacks) = (self.ends, false);
    }

    /// Handles a message of the other side. Returns whether the merge is whole now.
    ///
    /// # Errors
    /// If it has no place here.
    #[cold]
    #[inline(never)]
    pub(crate) fn message<A: App>(
        &mut self,
        message: Merges<'_>,
        app: &mut A,
        out: &mut impl PeerOutbox,
    ) -> Result<bool, ProtocolError> {
        match message {
            Merges::Turn { ends, follows } if !self.lacks => {
                self.begin(ends, follows != 0, app);
                self.lacks = true;
                tell(app, out);
            }
            Merges::Part { state, piece } if self.lacks => {
                let mut added = Err(ProtocolError::BadPiece(state));
                app.each_merged(&mut |number, merged| {
                    if number == state && merged.add(piece).is_ok() {
                        added = Ok(());
                    }
                });
                added?;
            }
            Merges::Whole {} if self.lacks => self.complete(app),
            _ => return Err(ProtocolError::unexpected(&message.into())),
        }
        Ok(matches!(message, Merges::Whole {}))
    }

    /// Gives the turns to `say`, for an explorer of all schedules.
    pub(crate) fn hash(&self, say: &mut Say<'_>) {
        say_words(say, &[self.until, self.ends, self.follows.into(), self.lacks.into()]);
    }
}

/// Tells the other side this side's replicas.
fn tell<A: App>(app: &mut A, out: &mut impl PeerOutbox) {
    app.each_merged(&mut |state, merged| {
        merged.tell(&mut |piece| out.send(&Merges::Part { state, piece }.into()));
    });
    out.send(&Merges::Whole {}.into());
}
