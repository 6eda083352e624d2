//! Durable singletons: which blocks of one changed, so that a copy of it outlives the host half.
//!
//! A handler writes to the value as it likes, and nobody sees which fields. So the value's encoding
//! as it was told is kept beside it, and the two are compared when a packet's handler has named the
//! state ([`Touched`]): as they are in memory where that is the encoding, a few elements at a time
//! otherwise. What differs is told in blocks of [`BLOCK`] bytes. Nothing is allocated, and a packet
//! whose path names no such state costs nothing.

use core::cell::Cell;

use super::Stored;

/// Bytes that are told at a time, whatever changed of them.
pub const BLOCK: usize = 256;

/// Bytes that are compared at once, before it is asked which block differs.
const STRIDE: usize = 16 * BLOCK;

/// Blocks that changed, a bit each.
#[derive(Debug)]
pub struct Changed<'a> {
    blocks: &'a mut [u64],
    look: u64,
}

impl<'a> Changed<'a> {
    /// Words for a value of so many bytes.
    pub const fn words(bytes: usize) -> usize {
        bytes.div_ceil(BLOCK).div_ceil(u64::BITS as usize)
    }

    /// In place of a look's number: none.
    pub(super) const NEVER: u64 = u64::MAX;

    /// What changed of a value is noted there; it is looked at for the time with this number, which
    /// is one more each time.
    pub const fn new(blocks: &'a mut [u64], look: u64) -> Self {
        Self { blocks, look }
    }

    pub(super) const fn look(&self) -> u64 {
        self.look
    }

    /// So many bytes from there on changed.
    pub fn note(&mut self, at: usize, length: usize) {
        if length == 0 {
            return;
        }
        for block in at / BLOCK..=(at + length - 1) / BLOCK {
            if let Some(word) = self.blocks.get_mut(block / 64) {
                *word |= 1 << (block % 64);
            }
        }
    }

    /// The value's bytes from `at` on are `now`, and `kept` what they were: the latter becomes the
    /// former.
    pub fn update(&mut self, now: &[u8], kept: &mut [u8], at: usize) {
        for (number, (now, kept)) in now.chunks(STRIDE).zip(kept.chunks_mut(STRIDE)).enumerate() {
            if Some(now) != kept.get(..now.len()) {
                self.update_stride(now, kept, at + number * STRIDE);
            }
        }
    }

    #[cold]
    fn update_stride(&mut self, now: &[u8], kept: &mut [u8], at: usize) {
        let mut from = 0;
        while from < now.len() {
            // Up to where the next block begins.
            let to = now.len().min(from + BLOCK - (at + from) % BLOCK);
            if let (Some(now), Some(kept)) = (now.get(from..to), kept.get_mut(from..to))
                && now != kept
            {
                kept.copy_from_slice(now);
                self.note(at + from, now.len());
            }
            from = to;
        }
    }

    /// Tells each block that changed, by its number, and forgets that it did.
    pub fn take(&mut self, mut tell: impl FnMut(usize)) {
        for (number, word) in self.blocks.iter_mut().enumerate() {
            while *word != 0 {
                tell(64 * number + word.trailing_zeros() as usize);
                *word &= *word - 1;
            }
        }
    }
}

/// Which of its durable singletons a handler named on its way with a packet, by the positions of
/// its parameters.
#[derive(Debug, Default)]
pub struct Touched(Cell<u8>);

impl Touched {
    /// None.
    #[inline(always)]
    pub const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// The state `S`, at this position, is about to be named.
    #[inline(always)]
    pub fn note<S: Stored>(&self, position: u8) {
        if const { S::KEPT } {
            self.0.set(self.0.get() | 1 << position);
        }
    }

    /// Whether the state at this position was.
    #[inline(always)]
    pub fn has(&self, position: u8) -> bool {
        self.0.get() & (1 << position) != 0
    }
}

/// A durable singleton: what the host half asks of it.
pub trait Kept {
    /// Whether a handler may have written it since it was told last.
    fn is_touched(&self) -> bool;

    /// Tells the blocks that changed since this was last called, each with where it begins: all of
    /// them the first time.
    fn tell(&mut self, tell: &mut dyn FnMut(usize, &[u8]));

    /// Takes in a part of a copy, which begins there.
    fn restore_part(&mut self, at: usize, part: &[u8]);

    /// All parts are in: the copy is the value from now on. `false` if it encodes none; then the
    /// value is as it was.
    fn restore(&mut self) -> bool;
}

#[cfg(test)]
pub(super) mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::plain::Plain;

    /// The blocks that are told in a look at a value beside its copy, which is as the value then.
    pub(in super::super) fn told<T: Plain>(now: &mut T, kept: &mut [u8], look: u64) -> Vec<usize> {
        let mut blocks = vec![0; Changed::words(T::SIZE)];
        now.put_changed(kept, 0, &mut Changed::new(&mut blocks, look));
        let mut whole = vec![0; T::SIZE];
        now.put(&mut whole);
        assert!(kept == whole, "what is kept is the new value");
        let mut told = Vec::new();
        Changed::new(&mut blocks, look).take(|block| told.push(block));
        assert!(blocks.iter().all(|word| *word == 0), "told once");
        told
    }

    /// Which blocks are noted of a change from one value to the other.
    fn changed<T: Plain>(before: &T, mut now: T) -> Vec<usize> {
        let mut kept = vec![0; T::SIZE];
        before.put(&mut kept);
        told(&mut now, &mut kept, 1)
    }

    #[test]
    fn blocks_that_differ_are_told() {
        let before = [7_u32; 4_000];
        let mut now = before;
        assert_eq!(changed(&before, now), [0; 0]);
        now[0] = 1;
        now[63] = 1;
        now[64] = 1;
        now[3_999] = 1;
        assert_eq!(changed(&before, now), [0, 1, 62]);
    }

    /// Arrays of which each element is encoded by itself, and arrays of those.
    #[test]
    fn so_are_those_of_encoded_elements() {
        let before = [false; 5_000];
        let mut now = before;
        now[300] = true;
        now[4_999] = true;
        assert_eq!(changed(&before, now), [1, 19]);
        let before = [[0_u8; 100]; 50];
        let mut now = before;
        now[49][99] = 1;
        assert_eq!(changed(&before, now), [19]);
        let before = [[false; 1000]; 3];
        let mut now = before;
        now[1][30] = true;
        assert_eq!(changed(&before, now), [4]);
    }

    #[test]
    fn a_change_across_two_blocks_is_of_both() {
        let mut blocks = [0; 1];
        let mut changed = Changed::new(&mut blocks, 1);
        changed.note(BLOCK - 1, 2);
        changed.note(5 * BLOCK, 0);
        // Beyond the value: nothing to tell.
        changed.note(64 * BLOCK, 9);
        let mut told = Vec::new();
        changed.take(|block| told.push(block));
        assert_eq!(told, [0, 1]);
    }
}
