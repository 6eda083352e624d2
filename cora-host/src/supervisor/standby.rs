//! Copies of durable entries in memory that outlives the host process.
//!
//! Each copy has a slot. A changed copy is written to a free slot, then its first word makes it
//! valid, then the old slot is freed: a process that is killed at any point in between leaves the
//! older copy, the newer one, or both, and then the higher number wins. What a slot holds is
//! checked against a checksum when it is read by the next host. Within the process an index finds
//! copies by key and by flow.
//!
//! ```text
//! header │ slots in use so far │ bytes of a slot │
//! slot   │ number 48, holder 8, valid 8 │ checksum 32, state 16, key 8, group 8 │ piece 64 │ group … piece … │
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use cora_core::migration::{Copied, Holder, Standby};

use crate::copies::Index;

/// Words before the first slot.
const HEADER_WORDS: usize = 8;
/// Words before a slot's contents.
const HEAD: usize = 3;
const VALID: u64 = 0x5a;

/// Copies in shared memory.
#[derive(Debug)]
pub(super) struct SharedStandby {
    words: &'static [AtomicU64],
    slot_words: usize,
    /// The copies, each with its slot.
    copies: Index<usize>,
    free: Vec<usize>,
    /// Slots in use so far.
    made: usize,
    number: u64,
    /// Slots whose contents did not match their checksum.
    pub(super) damaged: u64,
}

/// Bytes for so many copies of entries so long, with groups so long.
pub(super) const fn bytes(copies: usize, entry: usize, group: usize) -> usize {
    // One slot more, since a copy is written before the old one goes.
    (HEADER_WORDS + (copies + 1) * slot_words(entry, group)) * 8
}

const fn slot_words(entry: usize, group: usize) -> usize {
    HEAD + (entry + group).div_ceil(8)
}

impl SharedStandby {
    /// The copies that the memory holds, with entries and groups so long at most.
    pub(super) fn open(words: &'static [AtomicU64], entry: usize, group: usize) -> Self {
        let mut standby = Self {
            words,
            slot_words: slot_words(entry, group),
            copies: Index::default(),
            free: Vec::new(),
            made: 0,
            number: 0,
            damaged: 0,
        };
        let made = standby.word(0).map_or(0, |word| word.load(Ordering::Acquire)) as usize;
        standby.made = made.min(standby.room());
        for slot in 0..standby.made {
            standby.read(slot);
        }
        standby
    }

    /// Slots that there are.
    const fn room(&self) -> usize {
        self.words.len().saturating_sub(HEADER_WORDS) / self.slot_words
    }

    fn word(&self, at: usize) -> Option<&'static AtomicU64> {
        self.words.get(at)
    }

    fn slot(&self, slot: usize) -> &'static [AtomicU64] {
        let first = HEADER_WORDS + slot * self.slot_words;
        self.words.get(first..first + self.slot_words).unwrap_or_default()
    }

    /// Takes what the slot holds into the index.
    fn read(&mut self, slot: usize) {
        let words = self.slot(slot);
        let load = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Acquire));
        let first = load(0);
        let number = first >> 16;
        self.number = self.number.max(number);
        if first & 0xff != VALID {
            self.free.push(slot);
            return;
        }
        let (second, piece) = (load(1), load(2) as usize);
        let (state, key, group) =
            ((second >> 16) as u16, usize::from((second >> 8) as u8), usize::from(second as u8));
        let body: Vec<u8> = (HEAD..words.len()).flat_map(|at| load(at).to_le_bytes()).collect();
        let held = body.get(..group.saturating_add(piece)).filter(|held| {
            piece >= key && checksum(state, key, group, held) == (second >> 32) as u32
        });
        let Some((group, piece)) = held.map(|held| held.split_at(group)) else {
            self.damaged += 1;
            self.clear(slot);
            return;
        };
        let key = &piece[..key];
        let other = self.copies.place(state, key).and_then(|other| self.slot(other).first());
        if other.is_some_and(|first| first.load(Ordering::Relaxed) >> 16 >= number) {
            return self.clear(slot);
        }
        let holder = holder(first >> 8);
        let older = self.copies.put(&Copied { state, holder, group, key, piece }, slot);
        self.clear_all(older);
    }

    /// The slot is free again.
    fn clear(&mut self, slot: usize) {
        if let Some(first) = self.slot(slot).first() {
            first.store(0, Ordering::Release);
        }
        self.free.push(slot);
    }

    fn clear_all(&mut self, slots: impl IntoIterator<Item = usize>) {
        for slot in slots {
            self.clear(slot);
        }
    }

    /// A slot that holds nothing.
    fn take_slot(&mut self) -> Option<usize> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        if self.made >= self.room() {
            return None;
        }
        self.made += 1;
        if let Some(word) = self.word(0) {
            word.store(self.made as u64, Ordering::Release);
        }
        Some(self.made - 1)
    }

    fn write(&mut self, slot: usize, copy: &Copied<'_>) -> bool {
        let held = [copy.group, copy.piece].concat();
        let words = self.slot(slot);
        let (Ok(key), Ok(group)) = (u8::try_from(copy.key.len()), u8::try_from(copy.group.len()))
        else {
            return false;
        };
        if words.len() < HEAD + held.len().div_ceil(8) {
            return false;
        }
        for (word, bytes) in words[HEAD..].iter().zip(held.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        let sum = checksum(copy.state, key.into(), group.into(), &held);
        let second = u64::from(sum) << 32
            | u64::from(copy.state) << 16
            | u64::from(key) << 8
            | u64::from(group);
        words[1].store(second, Ordering::Relaxed);
        words[2].store(copy.piece.len() as u64, Ordering::Relaxed);
        self.number += 1;
        words[0].store(first(self.number, copy.holder), Ordering::Release);
        true
    }
}

impl Standby for SharedStandby {
    fn keep(&mut self, copy: &Copied<'_>) -> bool {
        let written = self.take_slot().filter(|slot| {
            let fits = self.write(*slot, copy);
            if !fits {
                self.free.push(*slot);
            }
            fits
        });
        let older = match written {
            Some(slot) => self.copies.put(copy, slot),
            None => self.copies.take(copy.state, copy.key),
        };
        self.clear_all(older);
        written.is_some()
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        let slot = self.copies.take_of(holder, state, key);
        self.clear_all(slot);
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        let slots = self.copies.take_all(holder, group);
        self.clear_all(slots);
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        for slot in self.copies.assign(from, to, group) {
            if let Some(word) = self.slot(slot).first() {
                let number = word.load(Ordering::Relaxed) >> 16;
                word.store(first(number, to), Ordering::Release);
            }
        }
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Copied<'_>)) -> bool {
        self.copies.find(state, key, visit)
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Copied<'_>)) {
        self.copies.each(holder, group, visit);
    }
}

/// A slot's first word.
const fn first(number: u64, holder: Holder) -> u64 {
    let holder = match holder {
        Holder::Host => 1,
        Holder::Nic => 2,
        Holder::Unsure => 3,
    };
    number << 16 | holder << 8 | VALID
}

const fn holder(byte: u64) -> Holder {
    match byte & 0xff {
        1 => Holder::Host,
        2 => Holder::Nic,
        _ => Holder::Unsure,
    }
}

/// FNV-1a over all that a slot holds but its first word.
fn checksum(state: u16, key: usize, group: usize, held: &[u8]) -> u32 {
    let head = [state.to_le_bytes(), [key as u8, group as u8]].concat();
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    head.iter().chain(held).fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENTRY: usize = 24;
    const GROUP: usize = 8;

    fn memory(copies: usize) -> &'static [AtomicU64] {
        let words = (0..bytes(copies, ENTRY, GROUP) / 8).map(|_| AtomicU64::new(0));
        words.collect::<Vec<_>>().leak()
    }

    fn copy<'a>(group: &'a [u8], piece: &'a [u8], holder: Holder) -> Copied<'a> {
        Copied { state: 3, holder, group, key: &piece[..4], piece }
    }

    fn all(standby: &SharedStandby) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Vec::new();
        for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
            standby.each(holder, None, &mut |copy| {
                found.push((copy.group.to_vec(), copy.piece.to_vec()));
            });
        }
        found.sort();
        found
    }

    #[test]
    fn copies_outlive_who_keeps_them() {
        let words = memory(3);
        let mut standby = SharedStandby::open(words, ENTRY, GROUP);
        assert!(standby.keep(&copy(b"one", b"key1 a", Holder::Host)));
        assert!(standby.keep(&copy(b"one", b"key2 b", Holder::Nic)));
        assert!(standby.keep(&copy(b"two", b"key3 c", Holder::Nic)));
        assert!(
            standby.keep(&copy(b"one", b"key1 longer", Holder::Host)),
            "there is one slot more"
        );
        assert!(!standby.keep(&copy(
            b"two",
            b"key4 and far too long an entry to fit",
            Holder::Nic
        )));
        standby.assign(Holder::Nic, Holder::Unsure, Some(b"two"));
        let next = SharedStandby::open(words, ENTRY, GROUP);
        assert_eq!(all(&next), all(&standby));
        let mut unsure = Vec::new();
        next.each(Holder::Unsure, None, &mut |copy| unsure.push(copy.piece.to_vec()));
        assert_eq!((unsure, next.damaged), (vec![b"key3 c".to_vec()], 0));
        standby.forget(Holder::Host, 3, b"key2");
        assert!(standby.find(3, b"key2", &mut |_| {}), "another one holds it");
        standby.forget_all(Holder::Unsure, None);
        assert_eq!(all(&SharedStandby::open(words, ENTRY, GROUP)).len(), 2);
    }

    #[test]
    fn what_is_damaged_is_no_copy() {
        let words = memory(3);
        let mut standby = SharedStandby::open(words, ENTRY, GROUP);
        standby.keep(&copy(b"one", b"key1 a", Holder::Host));
        standby.keep(&copy(b"one", b"key2 b", Holder::Host));
        words[HEADER_WORDS + HEAD].fetch_xor(1 << 20, Ordering::Relaxed);
        let next = SharedStandby::open(words, ENTRY, GROUP);
        assert_eq!((next.damaged, all(&next)), (1, vec![(b"one".to_vec(), b"key2 b".to_vec())]));
    }

    proptest! {
        /// Killed after any store, the memory holds each copy as it was before or after what was
        /// under way.
        #[test]
        fn a_kill_leaves_the_older_copy_or_the_newer(
            steps in prop::collection::vec((0_u8..6, 0_u8..9, any::<bool>()), 1..30),
        ) {
            let words = memory(8);
            let mut standby = SharedStandby::open(words, ENTRY, GROUP);
            for (key, value, keeps) in steps {
                let piece = [b'k', b'e', b'y', key, value, value, value, value, value];
                let before = all(&standby);
                let image: Vec<u64> = words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
                if keeps {
                    prop_assert!(standby.keep(&copy(b"group", &piece, Holder::Host)));
                } else {
                    standby.forget(Holder::Host, 3, &piece[..4]);
                }
                let after = all(&standby);
                // What a slot's first word does not yet make valid may be in any state: the stores
                // before it are made one by one, from the first to the last.
                let changed: Vec<usize> = (0..words.len())
                    .filter(|at| words[*at].load(Ordering::Relaxed) != image[*at])
                    .collect();
                let is_first = |at: usize| {
                    at >= HEADER_WORDS && (at - HEADER_WORDS).is_multiple_of(standby.slot_words)
                };
                let (firsts, bodies): (Vec<usize>, Vec<usize>) =
                    changed.iter().partition(|at| is_first(**at));
                // Bodies, then the one that becomes valid, then the one that is freed.
                let (made, freed): (Vec<usize>, Vec<usize>) =
                    firsts.iter().partition(|at| words[**at].load(Ordering::Relaxed) != 0);
                let order = [bodies, made, freed].concat();
                for kill in 0..=order.len() {
                    let torn: Vec<AtomicU64> =
                        image.iter().map(|word| AtomicU64::new(*word)).collect();
                    for at in &order[..kill] {
                        torn[*at].store(words[*at].load(Ordering::Relaxed), Ordering::Relaxed);
                    }
                    let next = SharedStandby::open(torn.leak(), ENTRY, GROUP);
                    let found = all(&next);
                    prop_assert!(found == before || found == after, "killed after {kill}");
                    prop_assert_eq!(next.damaged, 0);
                }
            }
        }
    }
}
