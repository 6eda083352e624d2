//! Reassembly of the beginning of one direction.

use super::*;
use crate::progress::{Part, Progress};

/// Bytes of a stream that are scanned. An entry has 1,965 bytes at most.
pub(crate) const DEPTH: usize = 1_920;
/// Blocks behind a gap that are kept.
const BLOCKS: usize = 4;

/// A retransmission has other content than the first copy.
const ALTERED: Reason = Reason::new("altered");
/// A retransmission of bytes that were not acknowledged, and that are no longer in a buffer.
const FORGOTTEN: Reason = Reason::new("forgotten");
/// A segment behind one gap too many: the sender will send it again.
const SCATTERED: Reason = Reason::new("scattered");

/// Bytes from one offset to another, as in SACK (RFC 2018). An unused one is from 0 to 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Block {
    from: u16,
    to: u16,
}

impl Block {
    const NONE: Self = Self { from: 0, to: 0 };

    fn is_none(self) -> bool {
        self.to == 0
    }

    /// Whether the two overlap or are adjacent.
    fn touches(self, other: Self) -> bool {
        !self.is_none() && self.from <= other.to && other.from <= self.to
    }

    fn hull(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

/// The buffer of one direction, until its beginning was scanned. There is no `reply`: each
/// direction has a buffer of its own.
#[state(key = FiveTuple, capacity = 1 << 15, idle = "30s", assured_by = Self::has_gap)]
pub(crate) struct Head {
    /// The sequence number of the stream's first byte.
    start: u32,
    /// Bytes before this offset are missing: they were scanned with a buffer that has expired.
    from: u16,
    blocks: [Block; BLOCKS],
    /// By their offsets in the stream.
    bytes: [u8; DEPTH],
}

impl Head {
    /// An empty buffer for the bytes after those that were scanned.
    pub(crate) fn after(progress: &Progress) -> Self {
        let (start, from) = (progress.start, progress.scanned);
        Self { start, from, blocks: [Block::NONE; BLOCKS], bytes: [0; DEPTH] }
    }

    /// Whether it is the buffer of this stream, and not that of an earlier connection.
    pub(crate) fn is_of(&self, progress: &Progress) -> bool {
        self.start == progress.start
    }

    /// Whether it stays in a full table. Without it, bytes behind a gap would not be scanned.
    fn has_gap(&self) -> bool {
        self.blocks.iter().any(|block| !block.is_none())
    }

    /// Stores the bytes of a segment, which end within the buffer. Returns all bytes before the
    /// first gap.
    pub(crate) fn take(&mut self, scanned: u16, part: Part<'_>) -> Result<Chunk<'_>, Reason> {
        let from = self.from;
        let new = Block { from: part.at as u16, to: (part.at + part.bytes.len()) as u16 };
        if new.from < from {
            return Err(FORGOTTEN);
        }
        let held = [Block { from, to: scanned }];
        if held.iter().chain(&self.blocks).any(|held| self.differs(*held, part)) {
            return Err(ALTERED);
        }
        let mut whole = new;
        for block in &mut self.blocks {
            if block.touches(whole) {
                whole = whole.hull(*block);
                *block = Block::NONE;
            }
        }
        if whole.from > scanned {
            let place = self.blocks.iter_mut().find(|block| block.is_none()).ok_or(SCATTERED)?;
            *place = whole;
        }
        let place = self.bytes.get_mut(part.at..part.at + part.bytes.len());
        if let Some(place) = place.filter(|place| place.len() == part.bytes.len()) {
            place.copy_from_slice(part.bytes);
        }
        let end = if whole.from > scanned { scanned } else { whole.to.max(scanned) };
        let bytes = self.bytes.get(usize::from(from)..usize::from(end)).unwrap_or_default();
        Ok(Chunk { at: from.into(), bytes })
    }

    /// Whether a segment has other bytes than this block of the buffer.
    fn differs(&self, held: Block, part: Part<'_>) -> bool {
        let from = usize::from(held.from).max(part.at);
        let to = usize::from(held.to).min(part.at + part.bytes.len());
        from < to && self.bytes.get(from..to) != part.bytes.get(from - part.at..to - part.at)
    }
}
