//! Buckets of its own: the host's half where each side receives its own buckets.

use cora_core::app::{App, Sides};
use cora_core::packet::{MAX_FRAME, ROOM, Roomy};
use cora_core::state::{Memory, OutOfMemory};

use super::{HostHalf, HostOutbox};
use crate::channel::ProtocolError;
use crate::dealing::{Then, Whose, begins};
use crate::exec::Burst;
use crate::link::message::{Deals, Stamp};
use crate::ownership::hold::HoldQueue;

/// Packets of buckets that come, and room for one of them. Without dealt buckets it takes no
/// memory.
#[derive(Debug)]
pub(super) struct Held {
    queue: HoldQueue,
    running: &'static mut [u64],
}

impl Held {
    const WORDS: usize = (MAX_FRAME + ROOM).div_ceil(8);

    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(super) const fn bytes<A: App>() -> usize {
        if matches!(A::PLAN.sides, Sides::Dealt) {
            HoldQueue::BYTES + 8 * Self::WORDS + 64
        } else {
            0
        }
    }

    pub(super) fn create<A: App>(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let (bytes, words) = match A::PLAN.sides {
            Sides::Dealt => (HoldQueue::BYTES, Self::WORDS),
            Sides::HostOnly | Sides::NicOnly | Sides::Split => (0, 0),
        };
        Ok(Self { queue: HoldQueue::create(memory, bytes)?, running: memory.take_u64(words)? })
    }
}

impl<A: App> HostHalf<A> {
    /// Whether each side receives its own buckets.
    pub(super) const IS_DEALT: bool = matches!(A::PLAN.sides, Sides::Dealt);

    /// From now on packets come straight from the wire, and no NIC half has a state. The wire is in
    /// the NIC's place: it passes packets on, tells its time and epochs, and takes what leaves.
    pub const fn receive(&mut self) {
        (self.receives, self.has_all) = (true, true);
    }

    /// Whether a packet runs here and now. One of a bucket that comes is held, and any other goes
    /// back to the wire.
    #[inline(always)]
    pub(super) fn is_own(
        &mut self,
        stamp: &Stamp,
        frame: &[u8],
        out: &mut impl HostOutbox,
    ) -> bool {
        let whose = self.dealing.whose(stamp.meta.mark.bucket);
        if whose == Whose::Own {
            self.report.packets += 1;
            return true;
        }
        self.not_own(whose, stamp, frame, out);
        false
    }

    #[cold]
    #[inline(never)]
    fn not_own(&mut self, whose: Whose, stamp: &Stamp, frame: &[u8], out: &mut impl HostOutbox) {
        let bytes = HoldQueue::bytes_for(1, frame.len());
        if whose == Whose::Expected && self.held.queue.has_room(bytes) {
            self.held.queue.push(stamp, frame);
            self.report.held += 1;
        } else {
            self.report.passed_on += 1;
            out.send(&Deals::Stray { stamp: *stamp, frame }.into());
        }
    }

    /// A record of the wire about buckets that move.
    pub(super) fn deal(
        &mut self,
        message: Deals<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        if let Some(now) = begins(&message) {
            self.pass_time(now, out);
        }
        let then = self.dealing.message(message, self.engine.app())?;
        self.report.refused += self.dealing.take_refused();
        match then {
            Then::Nothing => Ok(()),
            Then::Drain => {
                // Whoever takes this half's place has what came, and nothing more will tell it.
                self.tell_changes(out);
                self.run_held(out)
            }
        }
    }

    /// Gives some entries of the buckets that go.
    pub(super) fn give(&mut self, out: &mut impl HostOutbox) {
        self.dealing.give(self.engine.app(), &mut |message| out.send(message));
        self.tell_changes(out);
    }

    /// The move is over: runs held packets. Those of a bucket that stays elsewhere go there.
    fn run_held(&mut self, out: &mut impl HostOutbox) -> Result<(), ProtocolError> {
        let buffer = core::mem::take(&mut self.held.running);
        let bytes = zerocopy::IntoBytes::as_mut_bytes(buffer);
        let mut ran = Ok(());
        while let Some((stamp, length)) = self.held.queue.peek(bytes).filter(|_| ran.is_ok()) {
            self.held.queue.pop();
            let mut burst = Burst::new();
            burst.push_roomy(stamp, Roomy::new(bytes, length));
            ran = self.burst(&mut burst, out);
        }
        self.held.running = buffer;
        self.dealing.settle();
        ran
    }
}
