//! Durable singletons: tracks their changed blocks, so that a replica survives the host half.
//!
//! A handler writes to the value without a trace of the fields. So the last reported encoding is
//! kept beside the value, and the two are compared after a packet's handler named the state
//! ([`Touched`]). Values are compared in memory if that equals their encoding, otherwise a few
//! elements at a time. Differences are reported in blocks of [`BLOCK`] bytes. Nothing is allocated,
//! and a packet with a path that names no such state costs nothing.

use core::cell::Cell;

use super::Stored;

/// Bytes of a block, the unit of reported changes.
pub const BLOCK: usize = 256;

/// Bytes that are compared at once, before a search for the block that differs.
const STRIDE: usize = 16 * BLOCK;

/// A bitmap of changed blocks.
#[derive(Debug)]
pub struct Changed<'a> {
    blocks: &'a mut [u64],
    look: u64,
}

impl<'a> Changed<'a> {
    /// Words of the bitmap for a value of `bytes` bytes.
    pub const fn words(bytes: usize) -> usize {
        bytes.div_ceil(BLOCK).div_ceil(u64::BITS as usize)
    }

    /// In place of a scan's number: none.
    pub(super) const NEVER: u64 = u64::MAX;

    /// Changes are marked in `blocks`. `look` is the number of the scan, which increases by one
    /// each time.
    pub const fn new(blocks: &'a mut [u64], look: u64) -> Self {
        Self { blocks, look }
    }

    pub(super) const fn look(&self) -> u64 {
        self.look
    }

    /// Marks `length` bytes from `at` on as changed.
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

    /// Compares `now`, the value's bytes from `at` on, with `kept`, their previous content. Copies
    /// the differing blocks to `kept` and marks them.
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
            // Up to the beginning of the next block.
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

    /// Reports each changed block, by its number, and clears its mark.
    pub fn take(&mut self, mut tell: impl FnMut(usize)) {
        for (number, word) in self.blocks.iter_mut().enumerate() {
            while *word != 0 {
                tell(64 * number + word.trailing_zeros() as usize);
                *word &= *word - 1;
            }
        }
    }
}

/// The durable singletons that a handler named while it ran a packet, by the positions of its
/// parameters.
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

    /// Whether the state at this position was named.
    #[inline(always)]
    pub fn has(&self, position: u8) -> bool {
        self.0.get() & (1 << position) != 0
    }
}

/// A durable singleton, as the host half uses it.
pub trait Kept {
    /// Whether a handler may have written it since the last report.
    fn is_touched(&self) -> bool;

    /// Reports the blocks that changed since the last call, each with its offset; the first call
    /// reports all.
    fn tell(&mut self, tell: &mut dyn FnMut(usize, &[u8]));

    /// Takes a part of a replica, at this offset.
    fn restore_part(&mut self, at: usize, part: &[u8]);

    /// Makes the replica the value, once all parts are in. `false` if the encoding is invalid; the
    /// value is then unchanged.
    fn restore(&mut self) -> bool;
}

#[cfg(test)]
pub(super) mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::plain::Plain;

    /// The blocks reported by one scan of a value against its replica, which is then equal to the
    /// value.
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

    /// The blocks marked for a change from one value to the other.
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

    /// Arrays with elements that are encoded one by one, and arrays of those.
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
        // Beyond the value: not reported.
        changed.note(64 * BLOCK, 9);
        let mut told = Vec::new();
        changed.take(|block| told.push(block));
        assert_eq!(told, [0, 1]);
    }
}
