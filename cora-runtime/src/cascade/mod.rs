//! Cascades: what an arrival brings about by messages that handlers send.
//!
//! A sent message is a frame at the port [`SENT`]. Behind each arrival a half takes the messages
//! that its run sent, first in, first out, until none is left: so at one side a flow gets what an
//! arrival caused before what later arrivals bring. A message for a flow at the other side goes
//! there on the ring, behind what went there before.
//!
//! The host does not know which flows are at the NIC. It handles messages of its own flows, and
//! sends those of others to the NIC, which handles them or passes them on as it does with packets.
//! A flow may become the host's own while a message of it is [under way](UnderWay): later messages
//! go the same way until the NIC has handled that one, or they would overtake it. While messages
//! wait at the NIC for flows that move, all go there.

mod under_way;

use cora_core::app::App;
use cora_core::bucket::Mark;
use cora_core::message::SENT;
use cora_core::packet::{MAX_FRAME, Meta, ROOM, Roomy};
use cora_core::state::{Memory, OutOfMemory};
use cora_core::verdict::Reason;
use zerocopy::IntoBytes as _;

use crate::exec::engine::Engine;
use crate::link::message::{Report, Stamp};
use crate::link::payload::Parked;
use crate::ownership::hold::HoldQueue;
pub(crate) use under_way::UnderWay;

/// More messages wait at this side than there is room for: the program sends more than it handles.
const TOO_MANY_MESSAGES: Reason = Reason::new("too-many-messages");

/// Bytes of the messages that may wait at a side.
const BYTES: usize = 1 << 20;
/// Words of the message that is handled, with its tailroom.
const WORDS: usize = (MAX_FRAME + ROOM).div_ceil(8);

/// The messages that wait at this side; empty between two arrivals.
#[derive(Debug)]
pub(crate) struct Cascade {
    waiting: HoldQueue,
    /// The message that is handled.
    handled: &'static mut [u64],
}

impl Cascade {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) const fn bytes<A: App>() -> usize {
        if A::MESSAGES { BYTES + WORDS * 8 + 128 } else { 0 }
    }

    /// An empty one; without room if the program takes no messages.
    pub(crate) fn create<A: App>(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let (bytes, words) = if A::MESSAGES { (BYTES, WORDS) } else { (0, 0) };
        Ok(Self { waiting: HoldQueue::create(memory, bytes)?, handled: memory.take_u64(words)? })
    }

    /// Takes in what the last run sent, which the stamp is of.
    #[inline]
    pub(crate) fn take_in<A: App>(
        &mut self,
        engine: &mut Engine<A>,
        stamp: &Stamp,
        report: &mut Report,
    ) {
        let mut sent = SentHere::default();
        engine.messages(|frame| sent.note(self.push(&of_message(stamp), frame)));
        engine.sent_messages(sent.all);
        sent.count(engine, report);
    }

    /// Takes a frame in if a hook or a timer sent it as a message. `false`: it is a packet.
    #[inline(always)]
    pub(crate) fn takes<A: App>(
        &mut self,
        stamp: &Stamp,
        frame: &[u8],
        sent: &mut SentHere,
    ) -> bool {
        let is_message = A::MESSAGES && stamp.leaves_at() == SENT;
        if is_message {
            sent.note(self.push(&of_message(stamp), frame));
        }
        is_message
    }

    /// Adds a message. `false`: there is no room.
    pub(crate) fn push(&mut self, stamp: &Stamp, frame: &[u8]) -> bool {
        let has_room = self.waiting.has_room(HoldQueue::bytes_for(1, frame.len()));
        if has_room {
            self.waiting.push(stamp, frame);
        }
        has_room
    }

    /// The buffer for the message that is handled; [`Self::put_back`] returns it.
    pub(crate) fn buffer(&mut self) -> &'static mut [u64] {
        core::mem::take(&mut self.handled)
    }

    /// Puts the buffer back.
    pub(crate) fn put_back(&mut self, buffer: &'static mut [u64]) {
        self.handled = buffer;
    }

    /// The next message, in the buffer.
    #[inline]
    pub(crate) fn next<'a>(&mut self, buffer: &'a mut [u64]) -> Option<(Stamp, Roomy<'a>)> {
        let bytes = buffer.as_mut_bytes();
        let (stamp, length) = self.waiting.peek(bytes)?;
        self.waiting.pop();
        Some((of_message(&stamp), Roomy::new(bytes, length)))
    }
}

/// How many messages were sent, and how many of them found no room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentHere {
    all: u64,
    refused: u64,
}

impl SentHere {
    #[inline]
    fn note(&mut self, had_room: bool) {
        self.all += 1;
        self.refused += u64::from(!had_room);
    }

    /// Counts those of hooks and timers.
    #[inline(always)]
    pub(crate) fn account<A: App>(self, engine: &mut Engine<A>, report: &mut Report) {
        if const { A::MESSAGES } {
            engine.sent_besides(self.all);
            self.count(engine, report);
        }
    }

    /// Counts them: each has an outcome, sooner or later.
    #[inline(always)]
    fn count<A: App>(self, engine: &mut Engine<A>, report: &mut Report) {
        report.messages += self.all;
        for _ in 0..self.refused {
            refuse(engine);
        }
    }
}

/// A message that finds no room is dropped, and counted.
pub(crate) fn refuse<A: App>(engine: &mut Engine<A>) {
    engine.refused(TOO_MANY_MESSAGES);
}

/// Whether a stamp is that of a message.
#[inline(always)]
pub(crate) fn is_message<A: App>(stamp: &Stamp) -> bool {
    A::MESSAGES && stamp.meta.port == SENT
}

/// The stamp of a message that a run with this stamp sent.
#[inline]
fn of_message(stamp: &Stamp) -> Stamp {
    let meta = Meta { port: SENT, mark: Mark::UNMARKED, ..stamp.meta };
    Stamp { meta, egress: SENT, parked: Parked::NONE, missing: 0, ..*stamp }
}
