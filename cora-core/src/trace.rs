//! What a packet does, noted while it runs, for whoever measures which ways packets take.
//!
//! Only with the feature `trace`, which a production build never has: without it [`ON`] is `false`,
//! every function here is empty, and no instruction is left of its calls.
//! (`tests/golden/instructions.txt` would show one.) With it a program does the same, slower.
//!
//! Notes stand in one place for the whole process: they mean something while a single thread runs
//! handlers, and
//! [`take`] is called after each packet.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::verdict::{Forward, Verdict, fnv1a};

/// Whether this build notes.
pub const ON: bool = cfg!(feature = "trace");

/// Most notes of one packet; further ones are lost, which [`take`] says.
pub const ROOM: usize = 512;

/// One thing that a packet did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A handler began: its number in the chain.
    Enter(u8),
    /// A statement of the handler is about to run that names the state behind this parameter,
    /// counted after the packet. What it does to the state can't be seen. Tables tell that
    /// themselves.
    Names(u8),
    /// A table was asked: the [`id`] of its state's name, and for what.
    Asked(u32, Asked),
    /// The handler ended.
    Leave(Ending),
}

/// What a table was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// An entry, to read.
    Read,
    /// An entry, to change.
    Write,
    /// To make an entry.
    Insert,
    /// To take one out.
    Remove,
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// The packet goes on.
    Transmit,
    /// It goes to the local stack.
    Pass,
    /// It leaves at a port of the handler's choice.
    Redirect,
    /// It ends here.
    Drop,
    /// It goes to the other side; never at a host.
    Punt,
}

static NOTES: [AtomicU64; ROOM] = [const { AtomicU64::new(0) }; ROOM];

/// Notes so far; beyond [`ROOM`] they are counted only.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Says which state a note is about.
#[inline]
pub const fn id(state: &str) -> u32 {
    fnv1a(state.as_bytes())
}

/// A handler begins.
#[inline(always)]
pub fn enter(handler: u8) {
    if ON {
        note(Note::Enter(handler));
    }
}

/// A statement that names a state that is no table is about to run.
#[inline(always)]
pub fn names(parameter: u8) {
    if ON {
        note(Note::Names(parameter));
    }
}

/// The table of `state` is asked.
#[inline(always)]
pub(crate) fn asked(state: &'static str, what: Asked) {
    if ON {
        note(Note::Asked(id(state), what));
    }
}

/// The handler ends with this verdict, which is given back.
#[inline(always)]
pub fn leave(verdict: Verdict) -> Verdict {
    if ON {
        note(Note::Leave(Ending::of(verdict)));
    }
    verdict
}

/// Hands out the notes since the last call, in order; the same twice in a row was noted once.
/// `false` when some were lost.
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
    if last.is_some_and(|last| last.load(Ordering::Relaxed) == packed) {
        return;
    }
    if let Some(place) = NOTES.get(count) {
        place.store(packed, Ordering::Relaxed);
    }
    COUNT.store(count + 1, Ordering::Relaxed);
}

impl Note {
    /// As one word: what it is in the upper half, of what in the lower. Never 0.
    const fn pack(self) -> u64 {
        let (what, of) = match self {
            Self::Enter(handler) => (1, handler as u64),
            Self::Names(parameter) => (2, parameter as u64),
            Self::Leave(ending) => (3, ending as u64),
            Self::Asked(state, what) => (4 + what as u64, state as u64),
        };
        what << 32 | of
    }

    fn unpack(word: u64) -> Option<Self> {
        const ASKED: [Asked; 4] = [Asked::Read, Asked::Write, Asked::Insert, Asked::Remove];
        let of = word as u32;
        Some(match word >> 32 {
            1 => Self::Enter(of as u8),
            2 => Self::Names(of as u8),
            3 => Self::Leave(*Ending::ALL.get(of as usize)?),
            what => Self::Asked(of, *ASKED.get(what.checked_sub(4)? as usize)?),
        })
    }
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 5] = [Self::Transmit, Self::Pass, Self::Redirect, Self::Drop, Self::Punt];

    /// How a handler with this verdict ended.
    pub const fn of(verdict: Verdict) -> Self {
        match verdict {
            Ok(Forward::Transmit) => Self::Transmit,
            Ok(Forward::Pass) => Self::Pass,
            Ok(Forward::Redirect(_)) => Self::Redirect,
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
            .chain(asked.map(|what| Note::Asked(id("Session"), what)));
        for note in notes {
            assert_ne!(note.pack(), 0);
            assert_eq!(Note::unpack(note.pack()), Some(note));
        }
        assert_eq!(Note::unpack(0), None);
        assert_eq!(Note::unpack(3 << 32 | 9), None);
    }

    #[test]
    fn what_is_noted_is_handed_out_once_and_in_order() {
        // Other tests of this process run no handlers through `enter`, so nobody else notes;
        // without the feature this test calls what the feature would.
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
