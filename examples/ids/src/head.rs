//! The beginning of one direction, put together from segments in any order.

use super::*;
use crate::reading::{Part, Reading};

/// Bytes of a stream that are scanned. An entry has 1,965 bytes at most.
pub(crate) const DEPTH: usize = 1_920;
/// Stretches behind a gap that are kept.
const ISLANDS: usize = 4;

/// A segment repeats bytes with other content than before.
const ALTERED: Reason = Reason::new("altered");
/// A segment repeats bytes that the receiver does not have, and whose first copy was forgotten.
const FORGOTTEN: Reason = Reason::new("forgotten");
/// A stream with more gaps than are kept: the sender will repeat the segment.
const SCATTERED: Reason = Reason::new("scattered");

/// Bytes from one place to another one; from 0 to 0 there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Island {
    from: u16,
    to: u16,
}

impl Island {
    const NONE: Self = Self { from: 0, to: 0 };

    fn is_none(self) -> bool {
        self.to == 0
    }

    /// Whether there is no byte between the two.
    fn touches(self, other: Self) -> bool {
        !self.is_none() && self.from <= other.to && other.from <= self.to
    }

    fn hull(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

/// The buffer of one direction, until its beginning was scanned. The key has no reply: each
/// direction has a buffer of its own.
#[state(key = FiveTuple, capacity = 1 << 15, idle = "30s", assured_by = Self::has_gap)]
pub(crate) struct Head {
    /// The sequence number of the stream's first byte.
    start: u32,
    /// Bytes before this place are not here: they were scanned with a buffer that was forgotten.
    from: u16,
    islands: [Island; ISLANDS],
    /// By their places in the stream.
    bytes: [u8; DEPTH],
}

impl Head {
    /// An empty buffer for the bytes behind those that were scanned.
    pub(crate) fn after(reading: &Reading) -> Self {
        let (start, from) = (reading.start, reading.scanned);
        Self { start, from, islands: [Island::NONE; ISLANDS], bytes: [0; DEPTH] }
    }

    /// Whether it is the buffer of this stream, not of an earlier one between the same ports.
    pub(crate) fn is_of(&self, reading: &Reading) -> bool {
        self.start == reading.start
    }

    /// Whether it stays in a full table: without it, bytes behind a gap would not be scanned.
    fn has_gap(&self) -> bool {
        self.islands.iter().any(|island| !island.is_none())
    }

    /// Takes the bytes of a segment, which end within the buffer. Returns all bytes without a gap:
    /// those that were scanned, and the next ones.
    pub(crate) fn take(&mut self, scanned: u16, part: Part<'_>) -> Result<Stretch<'_>, Reason> {
        let from = self.from;
        let new = Island { from: part.at as u16, to: (part.at + part.bytes.len()) as u16 };
        if new.from < from {
            return Err(FORGOTTEN);
        }
        let held = [Island { from, to: scanned }];
        if held.iter().chain(&self.islands).any(|held| self.differs(*held, part)) {
            return Err(ALTERED);
        }
        let mut whole = new;
        for island in &mut self.islands {
            if island.touches(whole) {
                whole = whole.hull(*island);
                *island = Island::NONE;
            }
        }
        if whole.from > scanned {
            let place = self.islands.iter_mut().find(|island| island.is_none()).ok_or(SCATTERED)?;
            *place = whole;
        }
        if let Some(place) = self.bytes.get_mut(usize::from(new.from)..usize::from(new.to)) {
            place.copy_from_slice(part.bytes);
        }
        let end = if whole.from > scanned { scanned } else { whole.to.max(scanned) };
        let bytes = self.bytes.get(usize::from(from)..usize::from(end)).unwrap_or_default();
        Ok(Stretch { at: from.into(), bytes })
    }

    /// Whether a segment has other bytes than this stretch of the buffer.
    fn differs(&self, held: Island, part: Part<'_>) -> bool {
        let from = usize::from(held.from).max(part.at);
        let to = usize::from(held.to).min(part.at + part.bytes.len());
        from < to && self.bytes.get(from..to) != part.bytes.get(from - part.at..to - part.at)
    }
}
