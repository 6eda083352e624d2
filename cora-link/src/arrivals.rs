//! The receiver: frames in their order, and the news that the sender is owed.

use crate::destination::Destination;
use crate::fault::Fault;
use crate::pack::{self, LONGEST_RECORD};

/// The frames that came, and the news that the sender is owed.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Arrivals {
    /// All numbers below came.
    pub(crate) next: u64,
    /// Numbers below may come. It never shrinks.
    pub(crate) limit: u64,
    /// A later frame came: `next` is missing.
    pub(crate) gap: bool,
    /// Since when the sender has not heard of something that came, and how much it is.
    pub(crate) owes_since: Option<u64>,
    pub(crate) owed: u64,
    /// The limit that the sender knows.
    pub(crate) told_limit: u64,
    /// The beginning of a record that goes on in the next frame.
    begun: Vec<u8>,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            limit: 0,
            gap: false,
            owes_since: None,
            owed: 0,
            told_limit: 0,
            begun: Vec::with_capacity(LONGEST_RECORD),
        }
    }

    /// As in the beginning: a session begins.
    pub(crate) fn clear(&mut self) {
        (self.next, self.limit, self.told_limit) = (0, 0, 0);
        (self.gap, self.owes_since, self.owed) = (false, None, 0);
        self.begun.clear();
    }

    /// Takes the records of a frame, if it is the next one; whether it is.
    pub(crate) fn take(
        &mut self,
        number: u64,
        mut records: &[u8],
        to: &mut impl Destination,
        now: u64,
    ) -> Result<bool, Fault> {
        self.owes_since.get_or_insert(now);
        if number != self.next {
            // One that came before: the acknowledgement may be lost. One that comes early: it will
            // come again.
            self.gap |= number > self.next;
            return Ok(false);
        }
        if number >= self.limit {
            return Err(Fault::BeyondLimit);
        }
        while !records.is_empty() {
            let (piece, rest) = pack::next(records).ok_or(Fault::BadRecord)?;
            records = rest;
            if self.begun.len() + piece.bytes.len() > LONGEST_RECORD {
                return Err(Fault::BadRecord);
            }
            if piece.more || !self.begun.is_empty() {
                self.begun.extend_from_slice(piece.bytes);
            }
            if piece.more {
                continue;
            }
            let whole = if self.begun.is_empty() { piece.bytes } else { &self.begun };
            to.take(piece.kind, whole);
            self.begun.clear();
        }
        self.next += 1;
        (self.gap, self.owed) = (false, self.owed + 1);
        Ok(true)
    }

    /// The sender says that the next frame will have this number: those before it that did not come
    /// were lost.
    pub(crate) fn expect(&mut self, number: u64, now: u64) {
        if number > self.next {
            self.gap = true;
            self.owes_since.get_or_insert(now);
        }
    }

    /// Allows as many frames as there is room for.
    pub(crate) fn allow(&mut self, frames: u64) {
        self.limit = self.limit.max(self.next.saturating_add(frames));
    }

    /// The sender is told now.
    pub(crate) fn told(&mut self) {
        (self.owes_since, self.owed, self.told_limit) = (None, 0, self.limit);
    }
}
