//! Writes a record's words into the ring, two at a time on the hot path.
//!
//! A producer is as fast as its stores leave. Each line that the consumer read must come back
//! before it is written, and stores leave in order. Only stores in the processor's store buffer
//! fetch their lines in parallel. Half as many stores per line keep twice as many lines in flight.
#![expect(
    unsafe_code,
    reason = "past the caches, words go to memory that takes them so, and to no other"
)]

use core::array::from_fn;
use core::hint;

use crate::link::ring::copy::{MANY_PAIRS, words_of};
use crate::link::ring::memory::RingMemory;
use crate::link::ring::policy::StorePolicy;
use crate::link::ring::record::LINE_WORDS;

/// Writes a record; its payload is an odd number of words, and then `body`, which thus begins with
/// a pair.
#[inline(always)]
pub(super) fn write_behind<M: RingMemory, const N: usize>(
    memory: &M,
    at: usize,
    header: u64,
    head: &[u64; N],
    body: &[u8],
) {
    const { assert!(N % 2 == 1 && N <= 7, "with the header, whole pairs, and no more than a line") };
    let (pairs, _) = head[1..].as_chunks();
    let pair = |number: usize| if number == 0 { [header, head[0]] } else { pairs[number - 1] };
    // The part of `body` in the first line.
    let (first, _) = body.as_chunks::<16>();
    if let Some(first) = first.get(..const { (7 - N) / 2 }) {
        let line = from_fn(|number| match number.checked_sub(N.div_ceil(2)) {
            Some(number) => words_of(first[number]),
            None => pair(number),
        });
        memory.store_line(at, line);
        let rest = body.get(const { 8 * (7 - N) }..).unwrap_or_default();
        return write_rest(memory, at.wrapping_add(8), rest, body);
    }
    for number in 0..N.div_ceil(2) {
        memory.store_pair(at.wrapping_add(2 * number), pair(number));
    }
    write_rest(memory, at.wrapping_add(N + 1), body, body);
}

/// Writes the same as [`write_behind`] by non-temporal stores, in whole lines. The last line is
/// filled up with zeros.
///
/// # Safety
///
/// The memory [streams](StorePolicy::streaming).
#[inline(always)]
pub(super) unsafe fn stream_behind<M: StorePolicy, const N: usize>(
    memory: &M,
    mut at: usize,
    header: u64,
    head: &[u64; N],
    body: &[u8],
) {
    const { assert!(N % 2 == 1, "with the header, whole pairs") };
    let mut put = |pair| {
        // SAFETY: the caller guarantees that the memory streams.
        unsafe { memory.stream_pair(at, pair) };
        at = at.wrapping_add(2);
    };
    put([header, head[0]]);
    let (pairs, _) = head[1..].as_chunks();
    for pair in pairs {
        put(*pair);
    }
    let (pairs, rest) = body.as_chunks::<16>();
    for pair in pairs {
        put(words_of(*pair));
    }
    if !rest.is_empty() {
        put(last_pair(rest, body));
    }
    // A line that is only partly written would be read from memory first.
    while !at.is_multiple_of(LINE_WORDS as usize) {
        // SAFETY: as above.
        unsafe { memory.stream_pair(at, [0; 2]) };
        at = at.wrapping_add(2);
    }
}

/// Writes `left`, the rest of `body`, from an even word on.
#[inline(always)]
fn write_rest<M: RingMemory>(memory: &M, mut at: usize, left: &[u8], body: &[u8]) {
    let (pairs, rest) = left.as_chunks::<16>();
    // On other targets `write` is this same loop.
    if cfg!(target_arch = "x86_64") && pairs.len() >= MANY_PAIRS {
        memory.write(at, pairs);
        at = at.wrapping_add(2 * pairs.len());
    } else {
        for pair in pairs {
            memory.store_pair(at, words_of(*pair));
            at = at.wrapping_add(2);
        }
    }
    if !rest.is_empty() {
        // The line is the record's to its end, so the bytes behind the payload may be anything.
        memory.store_pair(at, last_pair(rest, body));
    }
}

/// The last bytes of `body`, fewer than a pair, as a pair.
#[inline(always)]
fn last_pair(rest: &[u8], body: &[u8]) -> [u64; 2] {
    let last = match body.last_chunk() {
        Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - rest.len())),
        None => u128::from_le_bytes(filled_up(rest)),
    };
    words_of(last.to_le_bytes())
}

/// The bytes, with zeros behind them.
#[inline]
fn filled_up<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    all[..bytes.len()].copy_from_slice(bytes);
    all
}

/// The end of a part, less than a word, with zeros behind it. It is put together in registers:
/// filled up in memory, it could be read only after all earlier stores had left for the ring, and
/// the other side has those lines.
#[inline(never)]
fn end_of(bytes: &[u8]) -> u64 {
    // Hides the length, or the compiler would unroll the loop eight times.
    hint::black_box(bytes).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Writes one record from parts of any lengths, one after the other.
pub(super) struct Writer<'a, M> {
    memory: &'a M,
    /// Where the next word goes.
    at: usize,
    /// The unfinished word that the last part left, and its number of bits.
    rest: u64,
    bits: u32,
}

impl<'a, M: RingMemory> Writer<'a, M> {
    /// Begins a record.
    #[inline(always)]
    pub(super) fn new(memory: &'a M, at: usize, header: u64) -> Self {
        memory.store(at, header);
        Self { memory, at: at.wrapping_add(1), rest: 0, bits: 0 }
    }

    /// Writes a part. If the last one ended within a word, this one goes on there.
    #[inline]
    pub(super) fn part(&mut self, part: &[u8]) {
        let (words, bytes) = part.as_chunks::<8>();
        for word in words {
            self.put(u64::from_le_bytes(*word), 64);
        }
        self.put(end_of(bytes), 8 * bytes.len() as u32);
    }

    /// Writes `bits` bits of `value`, which has no others.
    #[inline(always)]
    fn put(&mut self, value: u64, bits: u32) {
        self.rest |= value << self.bits;
        let end = self.bits + bits;
        if end >= 64 {
            self.word(self.rest);
            self.rest = value.checked_shr(64 - self.bits).unwrap_or(0);
        }
        self.bits = end % 64;
    }

    /// Writes the unfinished word.
    #[inline(always)]
    pub(super) fn finish(mut self) {
        if self.bits > 0 {
            self.word(self.rest);
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.memory.store(self.at, word);
        self.at = self.at.wrapping_add(1);
    }
}
