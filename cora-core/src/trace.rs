//! A trace of a packet's run, to measure which paths packets take, or to show the way of one.
//!
//! There are two kinds of it. With the feature `trace`, which a production build never has, [`ON`]
//! notes every step of every packet, and a program does the same, slower. In any build, a chain
//! that runs with a traced reach (`app::Traced`) notes its handlers and the states that they
//! name; its copy of the handlers is apart from the one that runs packets. Elsewhere every
//! function here is empty, and its calls leave no instruction. (`tests/golden/instructions.txt`
//! would show one.)
//!
//! The whole process has one buffer of notes. They are meaningful while a single thread runs
//! handlers that are traced, and [`take`] is called after each packet.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::verdict::{Forward, Verdict, fnv1a};

/// Whether this build traces.
pub const ON: bool = cfg!(feature = "trace");

/// Maximum number of notes per packet, with all messages that it causes. Further ones are lost,
/// which [`take`] reports.
pub const ROOM: usize = if ON { 16_384 } else { 256 };

/// A run of handlers, which may be traced.
pub trait Run {
    /// Whether it is.
    const IS_TRACED: bool;
}

/// One action of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A handler began; its number in the chain.
    Enter(u8),
    /// A statement of the handler that names the state of this parameter, counted after the packet,
    /// is about to run. Its effect on the state is unknown. In a build with the feature, tables
    /// report theirs themselves instead.
    Names(u8),
    /// A table was accessed: the [`id`] of its state's name, and the kind of access.
    Asked(u32, Asked),
    /// A message was put into an outbox: the [`id`] of its type's name, and where it goes.
    Sent(u32, Sending),
    /// The handler ended.
    Leave(Ending),
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sending {
    /// To the handler that takes it, at once.
    Send,
    /// In a datagram to whoever asks.
    Reply,
    /// In a datagram to someone else.
    SendTo,
    /// To the handler that takes it, later.
    After,
}

/// The kind of access to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// Reads an entry.
    Read,
    /// Changes an entry.
    Write,
    /// Inserts an entry.
    Insert,
    /// Removes an entry.
    Remove,
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// The packet is transmitted.
    Transmit,
    /// The packet goes to the local stack.
    Pass,
    /// The packet leaves at a port that the handler chose.
    Redirect,
    /// The packet, or the message, ends here.
    Done,
    /// The packet is dropped.
    Drop,
    /// The packet goes to the other side; never at a host.
    Punt,
}

static NOTES: [AtomicU64; ROOM] = [const { AtomicU64::new(0) }; ROOM];

/// Number of notes so far; beyond [`ROOM`] they are only counted.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The identifier of a state in notes.
#[inline]
pub const fn id(state: &str) -> u32 {
    fnv1a(state.as_bytes())
}

/// Notes that a handler begins.
#[inline(always)]
pub fn enter<R: Run>(handler: u8) {
    if const { ON || R::IS_TRACED } {
        note(Note::Enter(handler));
    }
}

/// Notes that a statement that names a state other than a table is about to run.
#[inline(always)]
pub fn names<R: Run>(parameter: u8) {
    if const { ON || R::IS_TRACED } {
        note(Note::Names(parameter));
    }
}

/// The same where a build with the feature notes nothing, or something else: of a table, and of a
/// state that is out of reach.
#[inline(always)]
pub fn shows<R: Run>(parameter: u8) {
    if const { !ON && R::IS_TRACED } {
        note(Note::Names(parameter));
    }
}

/// Notes an access to the table of `state`.
#[inline(always)]
pub(crate) fn asked(state: &'static str, what: Asked) {
    if ON {
        note(Note::Asked(id(state), what));
    }
}

/// Notes that a message of this type was put into an outbox, if it was.
#[inline(always)]
pub(crate) fn sent<E>(message: u32, how: Sending, result: Result<(), E>) -> Result<(), E> {
    if ON && result.is_ok() {
        note(Note::Sent(message, how));
    }
    result
}

/// Notes that the handler ends with this verdict, and returns it.
#[inline(always)]
pub fn leave<R: Run>(verdict: Verdict) -> Verdict {
    if const { ON || R::IS_TRACED } {
        note(Note::Leave(Ending::of(verdict)));
    }
    verdict
}

/// Reports the notes since the last call, in order. Equal consecutive notes are stored once, but
/// for messages.
/// `false` if some were lost.
pub fn take(mut each: impl FnMut(Note)) -> bool {
    let count = COUNT.swap(0, Ordering::Relaxed);
    for place in &NOTES[..count.min(ROOM)] {
        if let Some(note) = Note::unpack(place.load(Ordering::Relaxed)) {
            each(note);
        }
    }
    count <= ROOM
}

#[cold]
#[inline(never)]
fn note(note: Note) {
    let (count, packed) = (COUNT.load(Ordering::Relaxed), note.pack());
    let last = count.checked_sub(1).and_then(|last| NOTES.get(last));
    let counts = matches!(note, Note::Sent(..));
    if !counts && last.is_some_and(|last| last.load(Ordering::Relaxed) == packed) {
        return;
    }
    if let Some(place) = NOTES.get(count) {
        place.store(packed, Ordering::Relaxed);
    }
    COUNT.store(count + 1, Ordering::Relaxed);
}

impl Note {
    /// Packs a note into one word: its kind in the upper half, its operand in the lower. Never 0.
    const fn pack(self) -> u64 {
        let (what, of) = match self {
            Self::Enter(handler) => (1, handler as u64),
            Self::Names(parameter) => (2, parameter as u64),
            Self::Leave(ending) => (3, ending as u64),
            Self::Asked(state, what) => (4 + what as u64, state as u64),
            Self::Sent(message, how) => (8 + how as u64, message as u64),
        };
        what << 32 | of
    }

    fn unpack(word: u64) -> Option<Self> {
        const ASKED: [Asked; 4] = [Asked::Read, Asked::Write, Asked::Insert, Asked::Remove];
        const SENT: [Sending; 4] = [Sending::Send, Sending::Reply, Sending::SendTo, Sending::After];
        let of = word as u32;
        Some(match word >> 32 {
            how @ 8.. => Self::Sent(of, *SENT.get(how.checked_sub(8)? as usize)?),
            1 => Self::Enter(of as u8),
            2 => Self::Names(of as u8),
            3 => Self::Leave(*Ending::ALL.get(of as usize)?),
            what => Self::Asked(of, *ASKED.get(what.checked_sub(4)? as usize)?),
        })
    }
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 6] =
        [Self::Transmit, Self::Pass, Self::Redirect, Self::Done, Self::Drop, Self::Punt];

    /// The ending for this verdict of a handler.
    pub const fn of(verdict: Verdict) -> Self {
        match verdict {
            Ok(Forward::Transmit) => Self::Transmit,
            Ok(Forward::Pass) => Self::Pass,
            Ok(Forward::Redirect(_)) => Self::Redirect,
            Ok(Forward::Done) => Self::Done,
            Err(stop) if stop.reason().is_some() => Self::Drop,
            Err(_) => Self::Punt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Port;
    use crate::verdict::{Drop, Redirect, Transmit, reasons};

    #[test]
    fn a_note_is_what_it_was() {
        let asked = [Asked::Read, Asked::Write, Asked::Insert, Asked::Remove];
        let notes = [Note::Enter(0), Note::Enter(7), Note::Names(0), Note::Names(255)]
            .into_iter()
            .chain(Ending::ALL.map(Note::Leave))
            .chain(asked.map(|what| Note::Asked(id("Session"), what)))
            .chain(
                [Sending::Send, Sending::Reply, Sending::SendTo, Sending::After]
                    .map(|how| Note::Sent(id("Vote"), how)),
            );
        for note in notes {
            assert_ne!(note.pack(), 0);
            assert_eq!(Note::unpack(note.pack()), Some(note));
        }
        assert_eq!(Note::unpack(0), None);
        assert_eq!(Note::unpack(3 << 32 | 9), None);
    }

    #[test]
    fn what_is_noted_is_handed_out_once_and_in_order() {
        // Other tests of this process run no handlers through `enter`, so nothing else writes
        // notes. This test calls `note` directly, which works without the feature.
        let mut seen = Vec::new();
        take(|_| {});
        note(Note::Enter(1));
        note(Note::Names(0));
        note(Note::Names(0));
        note(Note::Names(1));
        note(Note::Names(0));
        assert!(take(|note| seen.push(note)));
        assert_eq!(seen, [Note::Enter(1), Note::Names(0), Note::Names(1), Note::Names(0)]);
        for number in 0..=ROOM {
            note(Note::Names(number as u8));
        }
        let mut count = 0;
        assert!(!take(|_| count += 1), "one too many");
        assert_eq!(count, ROOM);
        assert!(take(|_| panic!("all is handed out")));
    }

    #[test]
    fn verdicts_end_handlers() {
        assert_eq!(Ending::of(Transmit), Ending::Transmit);
        assert_eq!(Ending::of(Redirect(Port(3))), Ending::Redirect);
        assert_eq!(Ending::of(Drop(reasons::NotIp)), Ending::Drop);
        assert_eq!(Ending::of(Err(crate::verdict::Stop::punt())), Ending::Punt);
    }
}
