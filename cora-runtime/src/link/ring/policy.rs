//! How a producer's stores reach the memory on this processor: through the caches, or past them.
#![expect(unsafe_code, reason = "past the caches, words go to memory that takes them so")]

use super::memory::{RingMemory, SharedMemory};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::stream;

/// Conditions under which all records of a batch but the first are streamed, by
/// [`StorePolicy::stream_pair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streaming {
    /// The previous batch had at least this many words.
    pub batch: u64,
    /// The load of the consumer's index takes at least this long, by [`StorePolicy::clock`]; 0 if
    /// that does not matter.
    pub trip: u64,
    /// Words between two measurements of that time. There are none if it does not matter.
    pub looks_every: u64,
}

/// The stores of a ring's memory that depend on the processor. Memory that takes no others than
/// those of [`RingMemory`] has nothing to add.
pub trait StorePolicy: RingMemory {
    /// Whether [`Self::streaming`] can be anything but `None`. If not, no code that streams is
    /// generated.
    const STREAMS: bool = false;

    /// The conditions for streaming; `None` if records are never streamed.
    #[inline(always)]
    fn streaming(&self) -> Option<Streaming> {
        None
    }

    /// The clock that measures a line's [trip](Streaming::trip). Earlier loads have completed, and
    /// later ones wait for it. It is not read if any trip is long enough.
    #[inline(always)]
    fn clock(&self) -> u64 {
        0
    }

    /// Writes two data words that nobody reads before they are [settled](Self::settle): they may
    /// take effect at any time until then. `index` is even.
    ///
    /// # Safety
    ///
    /// [`Self::streaming`] gives `Some`.
    #[inline(always)]
    unsafe fn stream_pair(&self, index: usize, words: [u64; 2]) {
        self.store_pair(index, words);
    }

    /// Waits until all streamed words are visible to any reader of the next write.
    #[inline(always)]
    fn settle(&self) {}
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
impl StorePolicy for SharedMemory {}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl StorePolicy for SharedMemory {
    const STREAMS: bool = true;

    #[inline(always)]
    fn streaming(&self) -> Option<Streaming> {
        self.streaming
    }

    #[inline(always)]
    fn clock(&self) -> u64 {
        stream::clock()
    }

    #[inline(always)]
    unsafe fn stream_pair(&self, index: usize, words: [u64; 2]) {
        // SAFETY: the caller guarantees that the memory streams. So the data begin at a cache line
        // (invariant of `streaming`), and pairs at multiples of 16 bytes.
        unsafe { stream::stream_pair(self.aligned(index), words) }
    }

    #[inline(always)]
    fn settle(&self) {
        stream::settle();
    }
}
