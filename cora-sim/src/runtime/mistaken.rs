//! Mistakes of a NIC half with messages, planted on its way to the host.

use std::collections::HashMap;

use cora_core::message::SENT;
use cora_runtime::link::message::{Frames, Message, Ownership, Stamp};

use super::Planted;
use crate::history;
use crate::traffic::Record;

/// A mistake with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Two messages behind each other change their places.
    Swaps,
    /// One message of eight comes twice.
    Doubles,
    /// An entry moves as it was when it moved before.
    MovesStale,
    /// One message of eight is lost, and not counted.
    Loses,
    /// The answers of a run leave though it was taken back.
    AnswersEarly,
}

/// The stamp of an answer of a run that was taken back.
pub(super) const STAMP: Stamp = Stamp::BEFORE;

impl Mistake {
    /// The planted one, if it is one of these.
    pub(super) const fn of(planted: Planted) -> Option<Self> {
        if let Planted::Messages(mistake) = planted { Some(mistake) } else { None }
    }
}

/// The memory of a NIC that errs.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    messages: u64,
    /// A message that waits for the one behind it.
    kept: Option<Record>,
    /// Entries as they moved before, by state and encoded key.
    entries: HashMap<(u16, Vec<u8>), Vec<u8>>,
}

/// Bytes of an encoded key: numbers are the keys of the flows that tell of it.
const KEY: usize = 8;

impl Mistakes {
    /// Sends the message, with the mistake.
    pub(super) fn make(
        &mut self,
        mistake: Mistake,
        message: &Message<'_>,
        pass: &mut dyn FnMut(&Record),
    ) {
        let record = message.encode(|kind, parts| (kind, parts.concat()));
        let is_message = matches!(message, Message::Frames(Frames::Punt { stamp, .. })
            if stamp.meta.port == SENT);
        self.messages += u64::from(is_message);
        let is_chosen = is_message && self.messages.is_multiple_of(8);
        match (mistake, message) {
            (Mistake::Swaps, _) if is_message && self.kept.is_none() => {
                self.kept = Some(record);
            }
            (Mistake::Swaps, _) if is_message => {
                pass(&record);
                self.rest().iter().for_each(pass);
            }
            (Mistake::Doubles, _) if is_chosen => {
                pass(&record);
                pass(&record);
            }
            (Mistake::Loses, _) if is_chosen => {}
            (Mistake::MovesStale, Message::Ownership(Ownership::Entry { state, piece })) => {
                let key = piece.get(..KEY).unwrap_or_default().to_vec();
                let before = self.entries.insert((*state, key), piece.to_vec());
                let piece = &before.unwrap_or_else(|| piece.to_vec());
                let stale = Message::Ownership(Ownership::Entry { state: *state, piece });
                pass(&stale.encode(|kind, parts| (kind, parts.concat())));
            }
            _ => {
                self.rest().iter().for_each(&mut *pass);
                pass(&record);
            }
        }
    }

    /// The message that still waits.
    pub(super) fn rest(&mut self) -> Option<Record> {
        self.kept.take()
    }
}

/// Tells the program of a mistake that begins in it.
pub(super) fn plant(planted: Option<Planted>) {
    if planted == Some(Planted::Messages(Mistake::AnswersEarly)) {
        history::answer_early();
    }
}
