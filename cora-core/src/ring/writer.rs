//! Puts a record's words into the ring, two at a time.
//!
//! A producer is as fast as its stores leave: each line that the consumer read must come back before
//! it is written, stores leave in order, and only those that the processor's queue holds ask for
//! their lines in parallel. Half as many stores per line are twice as many lines under way.

use super::memory::RingMemory;

/// One record on its way in: its header, then parts, one after the other.
pub(super) struct Writer<'a, M> {
    memory: &'a M,
    /// Where the next pair goes: even.
    at: usize,
    /// The first word of that pair, if `half`.
    low: u64,
    half: bool,
    /// Bytes of a word that the last part left unfinished, and how many bits they are.
    rest: u64,
    bits: u32,
}

impl<'a, M: RingMemory> Writer<'a, M> {
    /// Begins a record at a line's beginning.
    #[inline(always)]
    pub(super) const fn new(memory: &'a M, at: usize, header: u64) -> Self {
        Self { memory, at, low: header, half: true, rest: 0, bits: 0 }
    }

    /// Where one part ends within a word, the next goes on there.
    #[inline(always)]
    pub(super) fn part(&mut self, part: &[u8]) {
        let (words, bytes) = part.as_chunks::<8>();
        if self.bits == 0 {
            self.words(words);
        } else {
            self.shifted(words);
        }
        for &byte in bytes {
            self.rest |= u64::from(byte) << self.bits;
            self.bits += 8;
            if self.bits == 64 {
                self.word(self.rest);
                (self.rest, self.bits) = (0, 0);
            }
        }
    }

    /// Writes what is unfinished.
    #[inline(always)]
    pub(super) fn finish(mut self) {
        if self.bits > 0 {
            self.word(self.rest);
        }
        if self.half {
            self.memory.store(self.at, self.low);
        }
    }

    #[inline(always)]
    fn words(&mut self, mut words: &[[u8; 8]]) {
        if self.half
            && let Some((first, others)) = words.split_first()
        {
            self.word(u64::from_le_bytes(*first));
            words = others;
        }
        let (pairs, last) = words.as_chunks::<2>();
        for pair in pairs {
            self.memory.store_pair(self.at, pair.map(u64::from_le_bytes));
            self.at += 2;
        }
        if let [last] = last {
            self.word(u64::from_le_bytes(*last));
        }
    }

    /// Words that begin within a word of the ring.
    #[inline]
    fn shifted(&mut self, words: &[[u8; 8]]) {
        for word in words {
            let next = u64::from_le_bytes(*word);
            self.word(self.rest | next << self.bits);
            self.rest = next >> (64 - self.bits);
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        if self.half {
            self.memory.store_pair(self.at, [self.low, word]);
            self.at += 2;
        } else {
            self.low = word;
        }
        self.half = !self.half;
    }
}
