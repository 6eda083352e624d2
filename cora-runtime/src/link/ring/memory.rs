//! The memory of a ring.
#![expect(
    unsafe_code,
    reason = "shared memory comes as a raw address, and the data path skips bounds checks"
)]

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use cora_core::prefetch::{prefetch, prefetch_to_write};

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::copy::copy_in;
use super::copy::{copy_out, load_behind, store_line, store_pair, words_of};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::policy::Streaming;
use super::record::{MAX_RING_BYTES, MIN_RING_BYTES};

/// The words of one ring, with the accesses that its two ends need and no others.
///
/// [`SharedMemory`] is the one that runs. Tests bring their own, also on loom's atomics, so that
/// the proven code is the code that runs.
pub trait RingMemory {
    /// Words of data: a power of two, at least 32, the same at every call.
    fn words(&self) -> usize;
    /// Reads a data word, relaxed. Here and below, `index` counts words since the ring's beginning;
    /// its place in the data is the remainder by [`Self::words`].
    fn load(&self, index: usize) -> u64;
    /// Writes a data word, relaxed.
    fn store(&self, index: usize, word: u64);
    /// Reads the header word at `index`, acquire.
    fn header(&self, index: usize) -> u64;
    /// Writes a header word, release: it makes earlier writes visible.
    fn set_header(&self, index: usize, word: u64);
    /// Reads the producer's index, acquire.
    fn head(&self) -> u64;
    /// Writes the producer's index, release.
    fn set_head(&self, position: u64);
    /// Reads the consumer's index, acquire.
    fn tail(&self) -> u64;
    /// Writes the consumer's index, release.
    fn set_tail(&self, position: u64);

    /// Reads data words from `index` on, as [`Self::load`] does. They lie within one lap.
    #[inline]
    fn read(&self, index: usize, to: &mut [[u8; 8]]) {
        for (at, to) in to.iter_mut().enumerate() {
            *to = self.load(index.wrapping_add(at)).to_le_bytes();
        }
    }

    /// Reads the words behind a header in its line, as [`Self::load`] does. `index` is the line's.
    #[inline(always)]
    fn read_behind(&self, index: usize, to: &mut [[u8; 8]; 7]) {
        self.read(index.wrapping_add(1), to);
    }

    /// Writes two data words, as [`Self::store`] does. `index` is even.
    #[inline]
    fn store_pair(&self, index: usize, words: [u64; 2]) {
        self.store(index, words[0]);
        self.store(index.wrapping_add(1), words[1]);
    }

    /// Writes a whole line, as [`Self::store`] does. `index` is the line's.
    #[inline(always)]
    fn store_line(&self, index: usize, pairs: [[u64; 2]; 4]) {
        for (at, pair) in [0, 2, 4, 6].into_iter().zip(pairs) {
            self.store_pair(index.wrapping_add(at), pair);
        }
    }

    /// Writes many pairs of data words from `index` on, as [`Self::store_pair`] does. They lie
    /// within one lap.
    #[inline(always)]
    fn write(&self, mut index: usize, pairs: &[[u8; 16]]) {
        for pair in pairs {
            self.store_pair(index, words_of(*pair));
            index = index.wrapping_add(2);
        }
    }

    /// Prefetches the line at `index` for writing. Changes nothing else.
    #[inline]
    fn prefetch_to_write(&self, index: usize) {
        let _ = index;
    }

    /// Prefetches the line at `index` for reading. Changes nothing else.
    #[inline]
    fn prefetch_to_read(&self, index: usize) {
        let _ = index;
    }
}

/// Words before a ring's data: its two indices, each padded to two cache lines. Processors fetch
/// lines in pairs, so with 64 bytes between them the two sides would still disturb each other.
pub const CONTROL_WORDS: usize = 32;

const HEAD: usize = 0;
const TAIL: usize = 16;

/// A ring's words in memory that two processes (or two threads) share.
#[derive(Clone, Copy)]
pub struct SharedMemory {
    control: &'static [AtomicU64; CONTROL_WORDS],
    /// Invariant: a power of two of words, so that an index masked with one less is within the
    /// data.
    data: &'static [AtomicU64],
    /// Conditions under which streaming is faster here. Invariant: `None` if the data don't begin
    /// at a cache line.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) streaming: Option<Streaming>,
}

impl SharedMemory {
    /// The ring that fills `words`: [`CONTROL_WORDS`] and then the data. `None` if the data are not
    /// a power of two of words, or not between [`MIN_RING_BYTES`] and [`MAX_RING_BYTES`].
    pub fn new(words: &'static [AtomicU64]) -> Option<Self> {
        let (control, data) = words.split_first_chunk()?;
        let fits = (MIN_RING_BYTES..=MAX_RING_BYTES).contains(&size_of_val(data));
        if !fits || !data.len().is_power_of_two() {
            return None;
        }
        Some(Self {
            control,
            data,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            streaming: super::stream::when_faster(data),
        })
    }

    /// Bytes that wait, by both indices: 0 if they are impossible. The producer's may lag behind.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let words = self.head().wrapping_sub(self.tail());
        if words > self.data.len() as u64 { 0 } else { words * 8 }
    }

    /// The data word at `index`, wrapped around the lap.
    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: `data.len()` is a power of two (invariant of the field, checked in `new`), hence
        // not zero, and `index & (len - 1)` is below it for every `index`.
        unsafe { self.data.get_unchecked(index & (self.data.len() - 1)) }
    }
}

impl SharedMemory {
    /// The aligned `N` data words around `index`, wrapped around the lap: a pair, or a line.
    #[inline(always)]
    pub(super) fn aligned<const N: usize>(&self, index: usize) -> &[AtomicU64; N] {
        const { assert!(N == 2 || N == 8) };
        // A multiple of `N`, and at most `len - N`, because `len` is a power of two and at least
        // 32.
        let index = index & (self.data.len() - N);
        // SAFETY: `index` is below `len` (invariant of the field, checked in `new`).
        let first = unsafe { self.data.as_ptr().add(index) };
        // SAFETY: the `N` words from `index` on lie within the data, and an array of words is
        // aligned as a word is.
        unsafe { &*first.cast() }
    }

    /// The place of `index` in the data.
    #[inline(always)]
    fn place(&self, index: usize) -> usize {
        index & (self.data.len() - 1)
    }
}

impl RingMemory for SharedMemory {
    #[inline]
    fn words(&self) -> usize {
        self.data.len()
    }

    #[inline(always)]
    fn load(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn store(&self, index: usize, word: u64) {
        self.word(index).store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    fn header(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Acquire)
    }

    #[inline(always)]
    fn set_header(&self, index: usize, word: u64) {
        self.word(index).store(word, Ordering::Release);
    }

    #[inline(always)]
    fn read(&self, index: usize, to: &mut [[u8; 8]]) {
        let index = self.place(index);
        if let Some(words) = self.data.get(index..index + to.len()) {
            copy_out(words, to);
        }
    }

    #[inline(always)]
    fn read_behind(&self, index: usize, to: &mut [[u8; 8]; 7]) {
        let [_, behind @ ..] = self.aligned::<8>(index);
        *to = load_behind(behind);
    }

    #[inline(always)]
    fn store_pair(&self, index: usize, words: [u64; 2]) {
        store_pair(self.aligned(index), words);
    }

    #[inline(always)]
    fn store_line(&self, index: usize, pairs: [[u64; 2]; 4]) {
        store_line(self.aligned(index), pairs);
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    fn write(&self, index: usize, pairs: &[[u8; 16]]) {
        let index = self.place(index);
        if let Some(words) = self.data.get(index..index + 2 * pairs.len()) {
            copy_in(pairs, words);
        }
    }

    #[inline(always)]
    fn prefetch_to_write(&self, index: usize) {
        prefetch_to_write(self.word(index));
    }

    #[inline(always)]
    fn prefetch_to_read(&self, index: usize) {
        prefetch(self.word(index));
    }

    #[inline]
    fn head(&self) -> u64 {
        self.control[HEAD].load(Ordering::Acquire)
    }

    #[inline]
    fn set_head(&self, position: u64) {
        self.control[HEAD].store(position, Ordering::Release);
    }

    #[inline]
    fn tail(&self) -> u64 {
        self.control[TAIL].load(Ordering::Acquire)
    }

    #[inline]
    fn set_tail(&self, position: u64) {
        self.control[TAIL].store(position, Ordering::Release);
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMemory")
            .field("words", &self.words())
            .field("head", &self.head())
            .field("tail", &self.tail())
            .finish()
    }
}

/// A mapping of shared memory as the words that [`SharedMemory`] and
/// [`Region`](crate::link::region::Region) take.
///
/// # Safety
///
/// - `bytes` bytes from `start` on are mapped readable and writable, and stay so until the process
///   ends.
/// - `start` is a multiple of 64.
/// - Nothing in this process accesses them except through the words returned here (the other
///   process may do anything with them).
pub unsafe fn shared_words(start: NonNull<u8>, bytes: usize) -> &'static [AtomicU64] {
    let words = start.cast::<AtomicU64>().as_ptr();
    // SAFETY: the caller guarantees that the bytes are mapped for good and aligned to more than
    // `AtomicU64` needs; every bit pattern is an `AtomicU64`; a process can't map more than
    // `isize::MAX` bytes; and any process may change an atomic under a shared reference.
    unsafe { core::slice::from_raw_parts(words, bytes / size_of::<AtomicU64>()) }
}
