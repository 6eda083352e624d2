//! Replicas of durable singletons in memory that outlives the host process, block by block.
//!
//! A block has two slots. A changed block is written to the slot that is not its replica, under a
//! number of its own. It becomes the replica when that number is committed, with all others of the
//! same burst, by one store ([`shared`](crate::durability::shared)). A process killed at any point
//! in between leaves all blocks as they were before the burst, or all as they were after it. A slot
//! that is being written has no number. A slot with a number and a wrong checksum is damaged, and
//! so is the whole replica.
//!
//! ```text
//! slot   │ number 64 │ checksum 64 │ block … │
//! ```

use std::sync::atomic::{AtomicU64, Ordering, fence};

use cora_core::state::kept::BLOCK;

use crate::durability::shared::store::store;

const BLOCK_WORDS: usize = BLOCK / 8;
const SLOT_WORDS: usize = 2 + BLOCK_WORDS;

/// A singleton: its state's number, and the bytes of its encoding.
pub(crate) type Sized = (u16, usize);

/// Words for the replicas of these.
pub(crate) fn words(singletons: &[Sized]) -> usize {
    singletons.iter().map(|(_, bytes)| bytes.div_ceil(BLOCK) * 2 * SLOT_WORDS).sum()
}

/// Replicas of all durable singletons of a program.
#[derive(Debug)]
pub(crate) struct Singletons {
    all: Vec<Singleton>,
}

#[derive(Debug)]
struct Singleton {
    state: u16,
    bytes: usize,
    words: &'static [AtomicU64],
    /// For each block, the slot that is its replica.
    copies: Vec<Option<usize>>,
    /// Blocks that were written and not committed.
    written: Vec<usize>,
    damaged: bool,
}

/// The content of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Nothing,
    Damaged,
    Block(u64),
}

impl Singletons {
    /// Opens the replicas in the memory; writes with numbers after `committed` are void.
    pub(crate) fn open(
        mut words: &'static [AtomicU64],
        singletons: &[Sized],
        committed: Option<u64>,
    ) -> Self {
        let mut all = Vec::new();
        for (state, bytes) in singletons {
            let (own, rest) = words.split_at(
                crate::durability::shared::singletons::words(&[(*state, *bytes)]).min(words.len()),
            );
            words = rest;
            all.push(Singleton::open(*state, *bytes, own, committed));
        }
        Self { all }
    }

    /// The numbers of singletons with a damaged replica.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = u16> {
        self.all.iter().filter(|it| it.damaged).map(|it| it.state)
    }

    /// Writes a part of one, under a number to be committed.
    pub(crate) fn keep(&mut self, state: u16, at: usize, part: &[u8], number: u64) {
        let Some(singleton) = self.all.iter_mut().find(|it| it.state == state) else { return };
        for (nth, block) in part.chunks(BLOCK).enumerate() {
            singleton.keep(at / BLOCK + nth, block, number);
        }
    }

    /// Makes the written blocks the replica.
    pub(crate) fn committed(&mut self) {
        for singleton in &mut self.all {
            while let Some(block) = singleton.written.pop() {
                let copy = singleton.other(block);
                singleton.copies[block] = Some(copy);
            }
        }
    }

    /// Visits the parts of a replica, if there is one and it is complete.
    pub(crate) fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        let Some(singleton) = self.all.iter().find(|it| it.state == state) else { return false };
        if singleton.damaged || singleton.copies.contains(&None) {
            return false;
        }
        for block in 0..singleton.copies.len() {
            let at = block * BLOCK;
            visit(at, &singleton.read(block)[..BLOCK.min(singleton.bytes - at)]);
        }
        true
    }

    /// Invalidates a replica that decodes to no value: the next host finds it damaged.
    pub(crate) fn void(&self, state: u16) {
        if let Some(singleton) = self.all.iter().find(|it| it.state == state)
            && let Some(Some(slot)) = singleton.copies.first()
        {
            let checksum = &singleton.slot(0, *slot)[1];
            store(checksum, !checksum.load(Ordering::Relaxed), Ordering::Release);
        }
    }
}

impl Singleton {
    fn open(state: u16, bytes: usize, words: &'static [AtomicU64], committed: Option<u64>) -> Self {
        let blocks = bytes.div_ceil(BLOCK);
        let mut singleton = Self {
            state,
            bytes,
            words,
            copies: vec![None; blocks],
            written: Vec::new(),
            damaged: words.len() < crate::durability::shared::singletons::words(&[(state, bytes)]),
        };
        if singleton.damaged {
            return singleton;
        }
        for block in 0..blocks {
            singleton.open_block(block, committed);
        }
        let whole = !singleton.copies.contains(&None);
        let none = singleton.copies.iter().all(Option::is_none);
        singleton.damaged |= !whole && !none;
        singleton
    }

    fn open_block(&mut self, block: usize, committed: Option<u64>) {
        let held = [0, 1].map(|slot| self.held(block, slot));
        self.damaged |= held.contains(&Held::Damaged);
        for (slot, held) in held.into_iter().enumerate() {
            let Held::Block(number) = held else { continue };
            // Without a committed number, which of the two is the replica is unknown.
            let Some(committed) = committed else {
                self.damaged = true;
                continue;
            };
            if number > committed {
                store(&self.slot(block, slot)[0], 0, Ordering::Release);
                continue;
            }
            let older = self.copies[block].map(|other| self.held(block, other));
            if older.is_none_or(|older| older < held) {
                self.copies[block] = Some(slot);
            }
        }
    }

    fn slot(&self, block: usize, slot: usize) -> &'static [AtomicU64] {
        let first = (2 * block + slot) * SLOT_WORDS;
        &self.words[first..first + SLOT_WORDS]
    }

    fn held(&self, block: usize, slot: usize) -> Held {
        let words = self.slot(block, slot);
        let number = words[0].load(Ordering::Acquire);
        let sum = words[1].load(Ordering::Relaxed);
        match number {
            0 => Held::Nothing,
            number if sum == checksum(block, number, &words[2..]) => Held::Block(number),
            _ => Held::Damaged,
        }
    }

    /// The slot for a change of the block.
    fn other(&self, block: usize) -> usize {
        self.copies[block].map_or(0, |slot| 1 - slot)
    }

    fn keep(&mut self, block: usize, bytes: &[u8], number: u64) {
        if block >= self.copies.len() || self.words.is_empty() {
            return;
        }
        let words = self.slot(block, self.other(block));
        store(&words[0], 0, Ordering::Release);
        // Orders the following stores after that one.
        fence(Ordering::Release);
        for (nth, word) in words[2..].iter().enumerate() {
            let mut whole = [0; 8];
            let bytes = bytes.get(8 * nth..).unwrap_or_default();
            let some = bytes.len().min(8);
            whole[..some].copy_from_slice(&bytes[..some]);
            store(word, u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        store(&words[1], checksum(block, number, &words[2..]), Ordering::Relaxed);
        store(&words[0], number, Ordering::Release);
        if !self.written.contains(&block) {
            self.written.push(block);
        }
    }

    fn read(&self, block: usize) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        if let Some(slot) = self.copies[block] {
            for (place, word) in bytes.chunks_exact_mut(8).zip(&self.slot(block, slot)[2..]) {
                place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
        }
        bytes
    }
}

/// A checksum of a slot's contents and position. Not against forgery: a process that writes this
/// memory can write the replicas.
fn checksum(block: usize, number: u64, words: &[AtomicU64]) -> u64 {
    let mix =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let head = mix(mix(0x6f6e_6573, block as u64), number);
    words.iter().fold(head, |sum, word| mix(sum, word.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::shared::singletons::words as words_of;
    use crate::durability::shared::store::memory;

    const SIZES: [Sized; 2] = [(1, 3 * BLOCK + 5), (4, 7)];

    fn value(singletons: &Singletons, state: u16) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        singletons
            .parts(state, &mut |at, part| {
                assert_eq!(at, bytes.len());
                bytes.extend(part);
            })
            .then_some(bytes)
    }

    #[test]
    fn what_is_committed_is_the_copy() {
        let words = memory(words_of(&SIZES));
        let mut singletons = Singletons::open(words, &SIZES, Some(0));
        assert_eq!(value(&singletons, 1), None, "nothing was told");
        let first: Vec<u8> = (0..SIZES[0].1).map(|at| at as u8).collect();
        singletons.keep(1, 0, &first, 1);
        assert_eq!(value(&Singletons::open(words, &SIZES, Some(0)), 1), None, "not committed");
        singletons.keep(1, 0, &first, 2);
        singletons.keep(4, 0, &[9; 7], 2);
        singletons.committed();
        let next = Singletons::open(words, &SIZES, Some(2));
        assert_eq!(value(&next, 1).as_deref(), Some(&first[..]));
        assert_eq!(value(&next, 4), Some(vec![9; 7]));
        // Another block, not committed: void, even if later numbers are.
        singletons.keep(1, BLOCK, &[0; BLOCK], 3);
        let mut next = Singletons::open(words, &SIZES, Some(2));
        assert_eq!(value(&next, 1).as_deref(), Some(&first[..]));
        next.keep(4, 0, &[8; 7], 3);
        next.committed();
        let next = Singletons::open(words, &SIZES, Some(3));
        assert_eq!(value(&next, 1).as_deref(), Some(&first[..]));
        assert_eq!((value(&next, 4), next.damaged().count()), (Some(vec![8; 7]), 0));
    }

    #[test]
    fn a_bit_that_flips_is_noticed_wherever_it_is() {
        let words = memory(words_of(&SIZES));
        let mut singletons = Singletons::open(words, &SIZES, Some(0));
        for number in 5..7 {
            singletons.keep(1, 0, &[number as u8; 3 * BLOCK + 5], number);
            singletons.keep(4, 0, &[7; 7], number);
            singletons.committed();
        }
        let image: Vec<u64> = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        for (at, word) in image.iter().enumerate() {
            for bit in [0, 17, 63] {
                words[at].store(word ^ 1 << bit, Ordering::Relaxed);
                let next = Singletons::open(words, &SIZES, Some(6));
                let damaged: Vec<u16> = next.damaged().collect();
                let expected = if at < words_of(&SIZES[..1]) { 1 } else { 4 };
                assert_eq!(damaged, [expected], "word {at}, bit {bit}");
                assert_eq!(value(&next, expected), None);
                words[at].store(*word, Ordering::Relaxed);
            }
        }
        singletons.void(4);
        assert_eq!(Singletons::open(words, &SIZES, Some(6)).damaged().collect::<Vec<_>>(), [4]);
        assert_eq!(Singletons::open(words, &SIZES, None).damaged().count(), 2);
    }
}
