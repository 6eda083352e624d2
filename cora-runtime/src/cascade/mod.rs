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
//! wait at the NIC for flows that move, or behind a flow that left amid a cascade, all go there.
//!
//! With several shards, messages for flows of [another shard](home) leave by the wire's end.
//!
//! A message that is due later waits at the side that sent it. When its time comes it is handled as
//! one that is sent then, before arrivals of that time. The NIC does not know what waits at the
//! host, which so tells it when it wants to hear the time.

mod delayed;
mod home;
mod under_way;

use cora_core::app::App;
use cora_core::bucket::Mark;
use cora_core::message::{SENT, delay_of};
use cora_core::packet::{Meta, Packet, Roomy};
use cora_core::state::{Memory, OutOfMemory};
use cora_core::verdict::Reason;

use crate::classes::{Classes, PLACES, Piece, Pieces, Queue, Wanted};
use crate::exec::burst::{BURST, Burst};
use crate::exec::engine::Engine;
use crate::link::message::{Report, Stamp};
use crate::link::payload::Parked;
use crate::state_hash::Say;
use delayed::Delayed;
use home::Home;
pub(crate) use under_way::UnderWay;

/// More messages wait at this side than there is room for: the program sends more than it handles.
pub const TOO_MANY_MESSAGES: Reason = Reason::new("too-many-messages");

/// The message was not due before the run ended.
const NOT_YET_DUE: Reason = Reason::new("not-yet-due");

/// Messages that a run may send: so many find room before the wire is read.
const RUN: u32 = 256;

/// The messages that wait at this side: those that are handled next, none between two arrivals,
/// those in mailboxes, and those that are not due yet.
#[derive(Debug)]
pub(crate) struct Cascade {
    pieces: Pieces,
    waiting: Queue,
    delayed: Delayed,
    pub(crate) classes: Classes,
    pub(crate) home: Home,
}

impl Cascade {
    /// Bytes of [`Memory`] that [`Self::create`] takes, for flows with so many places.
    pub(crate) const fn bytes<A: App>(places: usize) -> usize {
        let places = if places > PLACES { places } else { PLACES };
        let delayed = if A::DELAYS { Delayed::BYTES } else { 0 };
        delayed + if A::MESSAGES { Pieces::BYTES + Classes::bytes(places) } else { 0 }
    }

    /// An empty one; without room if the program takes no messages.
    pub(crate) fn create<A: App>(memory: &mut Memory, places: usize) -> Result<Self, OutOfMemory> {
        let delayed =
            if const { A::DELAYS } { Delayed::create(memory)? } else { Delayed::without_room() };
        if const { !A::MESSAGES } {
            let (pieces, classes) = (Pieces::none(), Classes::none());
            return Ok(Self { pieces, waiting: Queue::EMPTY, delayed, classes, home: Home::ALL });
        }
        let (pieces, classes) =
            (Pieces::create(memory)?, Classes::create(memory, places.max(PLACES))?);
        Ok(Self { pieces, waiting: Queue::EMPTY, delayed, classes, home: Home::ALL })
    }

    /// This is the shard with this number, of so many, in the run with this seed. `false`: there
    /// can't be one.
    pub(crate) fn is_shard(&mut self, which: (u16, u16), seed: u64) -> bool {
        let home = Home::of(which, seed);
        let is_one = home.is_some();
        self.home = home.unwrap_or(Home::ALL);
        is_one
    }

    /// Sends what the last run sent, which the stamp is of: packets leave, messages are taken in.
    #[inline(always)]
    pub(crate) fn send<A: App>(
        &mut self,
        engine: &mut Engine<A>,
        stamp: &Stamp,
        report: &mut Report,
        leave: impl FnMut(&Stamp, &[u8]),
    ) {
        let mut sent = SentHere::default();
        let made = engine.send(stamp, leave, |frame| sent.note(self.take(stamp, frame)));
        report.made += made;
        if A::MESSAGES && sent.all + made > 0 {
            engine.sent(sent.all, made);
            sent.count(engine, report);
        }
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
            sent.note(self.take(stamp, frame));
        }
        is_message
    }

    /// Takes in a message that a run with this stamp sent. `false`: there is no room.
    #[inline]
    fn take(&mut self, stamp: &Stamp, frame: &[u8]) -> bool {
        match delay_of(frame) {
            0 => self.push(stamp, frame),
            delay => self.delayed.push(stamp.meta.now.saturating_add(delay), frame),
        }
    }

    /// When the next delayed message is due (ns); never if none waits.
    #[inline(always)]
    pub(crate) fn next_due(&self) -> u64 {
        self.delayed.next_due()
    }

    /// Takes the next delayed message to those that are handled now, if it is due by the stamp's
    /// time; the stamp is that of its run. `false`: there was no room for it.
    pub(crate) fn comes_due(&mut self, stamp: &Stamp) -> bool {
        let Self { pieces, waiting, delayed, .. } = self;
        let due = delayed.pop(stamp.meta.now);
        due.is_none_or(|frame| add(pieces, waiting, stamp, frame))
    }

    /// The run ends: delayed messages don't come due any more, and are counted.
    #[cold]
    pub(crate) fn end<A: App>(&mut self, engine: &mut Engine<A>) {
        for _ in 0..self.delayed.len() {
            engine.refused(NOT_YET_DUE);
        }
        self.delayed.clear();
    }

    /// Gives the messages that wait to `say`, for an explorer of all schedules.
    pub(crate) fn hash(&self, say: &mut Say<'_>) {
        self.delayed.hash(say);
    }

    /// Adds a message. `false`: there is no room.
    #[inline]
    pub(crate) fn push(&mut self, stamp: &Stamp, frame: &[u8]) -> bool {
        add(&mut self.pieces, &mut self.waiting, stamp, frame)
    }

    /// The next message. The caller gives it back: it is [free](Self::free), or it
    /// [waits](Self::put).
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Piece> {
        self.pieces.pop(&mut self.waiting)
    }

    /// Whether messages wait that are handled next.
    #[inline(always)]
    pub(crate) const fn is_amid(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The message was handled.
    #[inline]
    pub(crate) fn free(&mut self, piece: Piece) {
        self.pieces.free(piece);
    }

    /// The message waits in a mailbox.
    pub(crate) fn put(&mut self, piece: Piece, class: u8, to: Wanted) {
        self.classes.put(&mut self.pieces, piece, class, to);
    }

    /// A message from a ring waits in a mailbox. `false`: there is no room.
    pub(crate) fn keep(&mut self, stamp: &Stamp, frame: &[u8], class: u8, to: Wanted) -> bool {
        let piece = self.pieces.of(stamp, frame);
        let has_room = piece.is_some();
        if let Some(piece) = piece {
            self.put(piece, class, to);
        }
        has_room
    }

    /// The next message of the round that waited, its flow's place, its class, and whether it is
    /// timed.
    #[inline]
    pub(crate) fn next_of_round(&mut self) -> Option<(Piece, u32, u8, bool)> {
        self.classes.next(&mut self.pieces)
    }

    /// Takes the messages that wait for the flow at this place, or all, out of the mailboxes.
    pub(crate) fn take_out(&mut self, place: Option<u32>) -> Queue {
        match place {
            Some(place) => self.classes.take_out(&mut self.pieces, place),
            None => self.classes.take_all(&mut self.pieces),
        }
    }

    /// The next of those.
    pub(crate) fn next_of(&mut self, taken: &mut Queue) -> Option<Piece> {
        self.pieces.pop(taken)
    }

    /// Whether a burst, and the messages of one of its runs, find room. Meanwhile the wire waits.
    #[inline(always)]
    pub(crate) const fn takes_bursts<A: App>(&self) -> bool {
        !A::MESSAGES || self.classes.is_empty() || self.pieces.has_room(RUN + BURST as u32)
    }
}

/// Adds a message to those that are handled next. `false`: there is no room.
#[inline]
fn add(pieces: &mut Pieces, waiting: &mut Queue, stamp: &Stamp, frame: &[u8]) -> bool {
    let piece = pieces.of(&of_message(stamp), frame);
    let has_room = piece.is_some();
    if let Some(piece) = piece {
        pieces.push(waiting, piece);
    }
    has_room
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
#[cold]
pub(crate) fn refuse<A: App>(engine: &mut Engine<A>) {
    engine.refused(TOO_MANY_MESSAGES);
}

/// The packet of a message, or of a datagram that waited. A message has no headers to parse.
#[inline(always)]
pub(crate) fn packet_of<'a>(stamp: &Stamp, frame: Roomy<'a>) -> Packet<'a> {
    if stamp.meta.port == SENT {
        Packet::unparsed(frame, stamp.meta)
    } else {
        Packet::in_room(frame, stamp.meta)
    }
}

/// Whether a stamp is that of a message.
#[inline(always)]
pub(crate) fn is_message<A: App>(stamp: &Stamp) -> bool {
    A::MESSAGES && stamp.meta.port == SENT
}

/// The packets of a burst; the rest of it are messages.
#[inline(always)]
pub(crate) fn packets_of<A: App>(burst: &Burst<'_>) -> u64 {
    let packets = burst.arrivals().iter().filter(|it| !is_message::<A>(&it.stamp())).count();
    (if A::MESSAGES { packets } else { burst.len() }) as u64
}

/// The stamp of a message that a run with this stamp sent.
#[inline]
fn of_message(stamp: &Stamp) -> Stamp {
    let meta = Meta { port: SENT, mark: Mark::UNMARKED, ..stamp.meta };
    Stamp { meta, egress: SENT, parked: Parked::NONE, missing: 0, ..*stamp }
}
