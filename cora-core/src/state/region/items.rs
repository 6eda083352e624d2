//! The items as they are stored: each an encoding in words behind its version, which is odd while
//! the item is written. The home writes them; the other side takes copies meanwhile.
//!
//! The orders are those of a sequence lock. A reader that sees a word of a write sees the version
//! before it, too, which is odd or another one than that in front of its copy. Around all items of
//! a run, the number of commits does the same.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use super::super::reads::{LOOKS, Reads, is_even};
use super::super::region_memory::{Held, RegionWords};
use super::super::{Memory, OutOfMemory, RegionMemory};
use super::{LONGEST_ITEM, MOST_REGION_BYTES, RegionState};

/// Most words of an encoded item.
const MOST_WORDS: usize = LONGEST_ITEM.div_ceil(8);

/// The items of a region.
#[derive(Debug)]
pub(super) struct Items<S> {
    at: RegionWords,
    item: PhantomData<S>,
}

impl<S: RegionState> Items<S> {
    /// Words of an encoded item.
    const WORDS: usize = S::SIZE.div_ceil(8);
    /// Words from one item to the next.
    const STRIDE: usize = 1 + Self::WORDS;
    /// Words of them all.
    const ALL: usize = {
        assert!(S::SIZE <= LONGEST_ITEM, "an item of a region has at most 2,040 bytes");
        let words = Self::STRIDE * S::LENGTH as usize;
        assert!(words * 8 <= MOST_REGION_BYTES, "a region has at most 4 GiB");
        words
    };
    /// Bytes of [`Memory`] that they take.
    pub(super) const BYTES: usize = RegionMemory::bytes(Self::ALL);

    pub(super) fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { at: memory.take_region(Self::ALL)?, item: PhantomData })
    }

    /// What this side notes of its reads, away from their home.
    #[inline]
    pub(super) const fn reads(&self) -> Option<Reads> {
        match self.at.held {
            Held::Here(_) => None,
            Held::There(reads) => Some(reads),
        }
    }

    /// Where the version of this item stands among the words of all regions.
    #[inline]
    pub(super) const fn version_at(&self, number: u32) -> usize {
        self.at.first + number as usize * Self::STRIDE
    }

    /// The version and the words of an item; `None` beyond the end, or out of reach.
    #[inline]
    fn place(&self, number: u32) -> Option<(&'static AtomicU64, &'static [AtomicU64])> {
        let at = number as usize * Self::STRIDE;
        self.at.words.get(at..at + Self::STRIDE)?.split_first()
    }

    /// Calls `then` with a buffer for an encoded item. It has the next power of two of words, since
    /// the stack's part of it is filled with zeroes first.
    #[inline(always)]
    fn with_buffer<T>(then: impl FnOnce(&mut [u64]) -> T) -> T {
        match const { Self::WORDS.next_power_of_two() } {
            0..=4 => then(&mut [0; 4]),
            8 => then(&mut [0; 8]),
            16 => then(&mut [0; 16]),
            32 => then(&mut [0; 32]),
            64 => then(&mut [0; 64]),
            128 => then(&mut [0; 128]),
            _ => then(&mut [0; MOST_WORDS]),
        }
    }

    /// Calls `then` with the bytes of these words.
    #[inline(always)]
    fn with_bytes<T>(words: &[AtomicU64], then: impl FnOnce(&[u8]) -> T) -> T {
        Self::with_buffer(|buffer| {
            for (to, from) in buffer.iter_mut().zip(words) {
                *to = from.load(Ordering::Relaxed);
            }
            then(zerocopy::IntoBytes::as_bytes(buffer))
        })
    }

    /// The item with this number, at its home; `None` beyond the end.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<S> {
        // What is stored is what was encoded: another one is never made.
        Self::with_bytes(self.place(number)?.1, S::get)
    }

    /// A copy of the item with this number, and its version, away from its home; `None` if it is
    /// being written for long, or out of reach.
    #[inline]
    pub(super) fn copy(&self, number: u32) -> Option<(S, u64)> {
        let (version, words) = self.place(number)?;
        for _ in 0..LOOKS {
            let before = version.load(Ordering::Acquire);
            if is_even(before) {
                let item = Self::with_bytes(words, |bytes| {
                    fence(Ordering::Acquire);
                    let is_whole = version.load(Ordering::Relaxed) == before;
                    is_whole.then(|| S::get(bytes)).flatten()
                });
                if let Some(item) = item {
                    return Some((item, before));
                }
            }
            core::hint::spin_loop();
        }
        None
    }

    /// A commit begins, unless one of another region of the same run has begun it.
    #[inline]
    pub(super) fn begin_commit(&self) {
        let commits = self.at.commits.load(Ordering::Relaxed);
        if is_even(commits) {
            self.at.commits.store(commits + 1, Ordering::Relaxed);
            fence(Ordering::Release);
        }
    }

    /// The commit ends, if there is one.
    #[inline]
    pub(super) fn end_commit(&self) {
        if let Held::There(_) = self.at.held {
            return;
        }
        let commits = self.at.commits.load(Ordering::Relaxed);
        if !is_even(commits) {
            self.at.commits.store(commits + 1, Ordering::Release);
        }
    }

    /// Stores an item, at its home.
    #[inline]
    pub(super) fn store(&self, number: u32, item: &S) {
        let (Some((version, words)), Held::Here(base)) = (self.place(number), self.at.held) else {
            return;
        };
        Self::with_buffer(|buffer| {
            item.put(zerocopy::IntoBytes::as_mut_bytes(buffer));
            let last = version.load(Ordering::Relaxed).next_multiple_of(2).max(base);
            version.store(last + 1, Ordering::Relaxed);
            fence(Ordering::Release);
            for (to, from) in words.iter().zip(buffer) {
                to.store(*from, Ordering::Relaxed);
            }
            version.store(last + 2, Ordering::Release);
        });
    }

    /// Visits the encodings of items that are not all zeroes.
    pub(super) fn each_written(&self, visit: &mut dyn FnMut(u32, &[u8])) {
        for number in 0..S::LENGTH {
            let Some((_, words)) = self.place(number) else { return };
            if words.iter().any(|word| word.load(Ordering::Relaxed) != 0) {
                Self::with_bytes(words, |bytes| {
                    visit(number, bytes.get(..S::SIZE).unwrap_or_default());
                });
            }
        }
    }
}
