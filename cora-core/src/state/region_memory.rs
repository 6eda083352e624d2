//! The memory of a program's regions: a side's own, or mapped by both sides.
//!
//! ```text
//! header   a line: the number of commits, odd while one goes on
//! regions  one behind the other, each from a line on
//! ```
//!
//! The home alone writes. What the other side reads there is checked against versions, so it may
//! map the memory for reading only.

use core::sync::atomic::{AtomicU64, Ordering};

use super::reads::Reads;
use super::{Memory, OutOfMemory};

/// Words of the header, and of a line.
const HEADER: usize = 8;
const WORD_BYTES: usize = size_of::<AtomicU64>();

/// Whose memory it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// This side's. Versions that it gives are greater than this.
    Here(u64),
    /// The other side's: this one reads copies of items.
    There(Reads),
}

/// Memory for the regions of a program, handed out in the order of its states.
#[derive(Debug)]
pub struct RegionMemory {
    commits: &'static AtomicU64,
    words: &'static [AtomicU64],
    /// Words that are handed out.
    taken: usize,
    held: Option<Held>,
    /// The other side's memory can't be reached: each access punts.
    is_out_of_reach: bool,
}

/// A region's part of that memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegionWords {
    pub(super) words: &'static [AtomicU64],
    /// Where they begin among those of all regions.
    pub(super) first: usize,
    pub(super) commits: &'static AtomicU64,
    pub(super) held: Held,
}

/// In place of the header of memory that has none.
static NO_COMMITS: AtomicU64 = AtomicU64::new(0);

impl RegionMemory {
    /// Bytes for a region of so many words, alone.
    pub(crate) const fn bytes(words: usize) -> usize {
        (HEADER + words.next_multiple_of(HEADER)) * WORD_BYTES
    }

    fn new(words: &'static [AtomicU64], held: Option<Held>) -> Self {
        let commits = words.first().unwrap_or(&NO_COMMITS);
        Self { commits, words, taken: HEADER, held, is_out_of_reach: false }
    }

    /// The memory of this side. Each home after the first one has a higher generation: no version
    /// comes twice.
    #[must_use]
    pub fn at_home(words: &'static [AtomicU64], generation: u32) -> Self {
        let base = u64::from(generation) << 32;
        let home = Self::new(words, Some(Held::Here(base)));
        // The home before may have ended within a commit.
        let next = home.commits.load(Ordering::Relaxed).next_multiple_of(2).max(base);
        home.commits.store(next, Ordering::Release);
        home
    }

    /// The memory of the other side.
    #[must_use]
    pub fn away(words: &'static [AtomicU64]) -> Self {
        Self::new(words, None)
    }

    /// The memory of the other side, which this one can't reach: each access punts.
    #[must_use]
    pub fn out_of_reach() -> Self {
        Self { is_out_of_reach: true, ..Self::away(&[]) }
    }

    /// The next words; what this side notes of its reads is in `memory`.
    pub(crate) fn take(
        &mut self,
        count: usize,
        memory: &mut Memory,
    ) -> Result<RegionWords, OutOfMemory> {
        let Self { commits, words, taken, held, is_out_of_reach } = self;
        let held = match held {
            Some(held) => *held,
            None => *held.insert(Held::There(Reads::create(memory, commits, words)?)),
        };
        let count = if *is_out_of_reach { 0 } else { count };
        let left = words.len().saturating_sub(*taken);
        let lacks = OutOfMemory { asked: count * WORD_BYTES, left: left * WORD_BYTES };
        let first = if *is_out_of_reach { 0 } else { *taken };
        let words = words.get(first..first + count).ok_or(lacks)?;
        *taken += count.next_multiple_of(HEADER);
        Ok(RegionWords { words, first, commits, held })
    }
}
