//! Maps a key's hash to an entry's number: at most two cache lines per look-up, usually one.
//!
//! A line has ten slots and eight counters:
//!
//! ```text
//! word 0, 1   marks of slots 0 to 7, 16 bits each: 14 of the hash, one for a key away from home,
//!             and one that is set; 0 is an empty slot
//! word 2      marks of slots 8 and 9; above them, per class of marks, the number of keys away
//!             from home (4 bits each)
//! word 3 … 7  the entry numbers of the slots, two to a word, in memory order
//! ```
//!
//! 1. Every key has a home line and a second line. The second line follows from home line and mark,
//!    and the home line likewise from the second. (Cuckoo hashing with partial keys: Fan, Andersen,
//!    Kaminsky and Mitzenmacher, CoNEXT 2014.)
//! 2. A new key goes to its home line, or to its second line if that is full. If both are full, one
//!    of the twenty keys there moves to its own other line: of any twenty lines one has a free
//!    slot, except once in some 10^12 insertions. In that case the key goes to a small stash.
//! 3. A look-up reads the home line, and the second one only if a key of the same class is away. So
//!    removal leaves no tombstone and moves nothing, and a miss costs little more than one line.
//!
//! *Bound.* Lines are at most 0.85 full. A look-up reads at most two lines. At full load, after any
//! number of removals, a hit and a miss read 1.3 lines on average (verified by a test). Choosing
//! keys that share lines requires the seed of the hash.

use core::num::NonZeroU64;

use super::super::{Line, Memory, OutOfMemory};
use super::simd::{matches, slot};
use crate::prefetch::{prefetch, prefetch_at};

/// Slots of a line.
const SLOTS: usize = 10;
/// Offset of the entry numbers, in half words.
const FIRST_NUMBER: usize = 6;
/// Tables with fewer keys get more lines than the load requires: the law of large numbers does not
/// apply to them.
const FEW: usize = 512;
/// Capacity of the stash, for keys without a free slot in their lines.
const STASH: usize = 16;
/// The bit of a mark that is set in every occupied slot.
const TAKEN: u16 = 1;
/// The bit of a mark for a key away from home.
const AWAY: u16 = 2;
/// The bits of a mark that are its class, in place: four times the class number.
const CLASS: u16 = 7 << 2;
/// Counters saturate at this value and then stay there.
const MANY: u32 = 15;

/// The lines.
#[derive(Debug)]
pub(super) struct Index {
    lines: &'static mut [Line],
    stash: heapless::Vec<(u64, u32), STASH>,
    /// Number of insertions so far, plus one.
    taken: NonZeroU64,
}

/// The result of reading a home line for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HomeLine {
    /// This entry may have the key.
    Entry(u32),
    /// The second line or the stash may have it.
    Elsewhere,
    /// No entry has the key.
    Nowhere,
    /// No home line: no key was announced.
    Unasked,
}

impl Index {
    /// Number of lines for this many keys, at most 0.85 full.
    pub(super) const fn lines(keys: usize) -> usize {
        if keys < FEW { keys / 4 + 2 } else { (keys * 20).div_ceil(17 * SLOTS) }
    }

    pub(super) fn create(memory: &mut Memory, keys: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            lines: memory.take_lines(Self::lines(keys))?,
            stash: heapless::Vec::new(),
            taken: NonZeroU64::MIN,
        })
    }

    /// Scales a fraction of 2^64 to the number of lines.
    #[inline]
    const fn part(&self, of_2_64: u64) -> usize {
        ((of_2_64 as u128 * self.lines.len() as u128) >> 64) as usize
    }

    /// The line where a look-up begins.
    #[inline]
    const fn home(&self, hash: u64) -> usize {
        self.part(hash)
    }

    /// The other line of a key with this mark and a slot in line `at`. The mapping is its own
    /// inverse.
    #[inline]
    const fn other(&self, at: usize, mark: u16) -> usize {
        // The golden ratio, so that marks spread evenly.
        let sum = self.part(((mark | AWAY) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if sum >= at { sum - at } else { sum + self.lines.len() - at }
    }

    /// Prefetches the line where a look-up of this hash begins, and returns its number.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) -> u32 {
        let home = self.home(hash);
        prefetch_at(self.lines.as_ptr().wrapping_add(home));
        home as u32
    }

    /// Increases with each insertion. While it is unchanged, a [`HomeLine::Nowhere`] remains valid.
    #[inline(always)]
    pub(super) const fn taken(&self) -> NonZeroU64 {
        self.taken
    }

    /// Reads the home line for a key with this hash. If the look-up must continue, prefetches the
    /// second line.
    #[inline(always)]
    pub(super) fn probe_home(&self, home: u32, hash: u64) -> HomeLine {
        let (home, mark) = (home as usize, mark(hash));
        let Some(words) = self.lines.get(home).map(Line::words) else {
            core::hint::cold_path();
            return HomeLine::Unasked;
        };
        let matches = matches(words, mark);
        if matches != 0 {
            return HomeLine::Entry(number(words, slot(matches)));
        }
        core::hint::cold_path();
        if away(words, mark) == 0 {
            return HomeLine::Nowhere;
        }
        if let Some(line) = self.lines.get(self.other(home, mark)) {
            prefetch(line);
        }
        HomeLine::Elsewhere
    }

    /// Removes `entry` under `hash`, if the `home` line of that hash names it.
    #[inline(always)]
    pub(super) fn remove_at_home(&mut self, home: u32, hash: u64, entry: u32) -> bool {
        self.clear(home as usize, mark(hash), entry)
    }

    /// The first entry with this hash's mark in its slot. If there is none, no entry has the key.
    pub(super) fn first(&self, hash: u64) -> Option<u32> {
        self.find(hash, &mut |_| true)
    }

    /// The first entry with this hash's mark that `is_it` accepts. At the NIC one copy serves all
    /// tables: most announced keys skip it.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn find(&self, hash: u64, is_it: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let (mut at, mut mark) = (self.home(hash), mark(hash));
        // The home line, then the second one.
        loop {
            let words = self.lines.get(at)?.words();
            if let Some(found) = find_in(words, mark, is_it) {
                return Some(found);
            }
            if mark & AWAY != 0 {
                break;
            }
            if away(words, mark) == 0 {
                return None;
            }
            (at, mark) = (self.other(at, mark), mark | AWAY);
        }
        let mut stash = self.stash.iter();
        stash.find(|(stashed, entry)| *stashed == hash && is_it(*entry)).map(|(_, entry)| *entry)
    }

    /// Maps `hash` to `entry`; `false` if there is no free slot, which does not happen while the
    /// caller bounds the number of keys.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn insert(&mut self, hash: u64, entry: u32) -> bool {
        self.taken = self.taken.saturating_add(1);
        let (home, mark) = (self.home(hash), mark(hash));
        self.put_at(home, mark, entry) || self.insert_away(home, hash, entry)
    }

    /// The same with a full home line. Separate from the common path, which needs few registers.
    #[inline(never)]
    fn insert_away(&mut self, home: usize, hash: u64, entry: u32) -> bool {
        let mark = mark(hash);
        let second = self.other(home, mark);
        self.count_away(home, mark, 1);
        if self.put_at(second, mark | AWAY, entry) {
            return true;
        }
        if self.make_room(home) {
            self.count_away(home, mark, -1);
            return self.put_at(home, mark, entry);
        }
        if self.make_room(second) {
            return self.put_at(second, mark | AWAY, entry);
        }
        let stashed = self.stash.push((hash, entry)).is_ok();
        if !stashed {
            self.count_away(home, mark, -1);
        }
        stashed
    }

    /// Removes `entry` under `hash`.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn remove(&mut self, hash: u64, entry: u32) {
        let (home, mark) = (self.home(hash), mark(hash));
        if !self.clear(home, mark, entry) {
            self.remove_away(home, hash, entry);
        }
    }

    /// The same for a key away from home.
    #[inline(never)]
    fn remove_away(&mut self, home: usize, hash: u64, entry: u32) {
        let mark = mark(hash);
        let second = self.other(home, mark);
        if !self.clear(second, mark | AWAY, entry) {
            let place = self.stash.iter().position(|stashed| *stashed == (hash, entry));
            let Some(place) = place else { return };
            self.stash.swap_remove(place);
        }
        self.count_away(home, mark, -1);
    }

    /// Moves one of the keys of a full line to its other line.
    #[cold]
    fn make_room(&mut self, at: usize) -> bool {
        let Some(words) = self.lines.get(at).map(|line| *line.words()) else { return false };
        for slot in 0..SLOTS {
            let (mark, entry) = (mark_in(&words, slot), number(&words, slot));
            let other = self.other(at, mark);
            if other != at && self.put_at(other, mark ^ AWAY, entry) {
                if mark & AWAY == 0 {
                    self.count_away(at, mark, 1);
                } else {
                    self.count_away(other, mark, -1);
                }
                return self.clear(at, mark, entry);
            }
        }
        false
    }

    /// Puts a key into a line, if it has a free slot.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn put_at(&mut self, at: usize, mark: u16, entry: u32) -> bool {
        let Some(words) = self.lines.get_mut(at).map(Line::words_mut) else { return false };
        let empty = matches(words, 0);
        if empty != 0 {
            put(words, slot(empty), mark, entry);
        }
        empty != 0
    }

    /// Removes a key from a line, if it is there.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn clear(&mut self, at: usize, mark: u16, entry: u32) -> bool {
        let Some(words) = self.lines.get_mut(at).map(Line::words_mut) else { return false };
        let mut matches = matches(words, mark);
        while matches != 0 {
            if number(words, slot(matches)) == entry {
                put(words, slot(matches), 0, 0);
                return true;
            }
            matches &= matches - 1;
        }
        false
    }

    /// Adjusts the line's count of keys away from home by one.
    #[inline(never)]
    fn count_away(&mut self, at: usize, mark: u16, change: i8) {
        let Some(words) = self.lines.get_mut(at).map(Line::words_mut) else { return };
        let count = away(words, mark);
        if count < MANY {
            words[2] = words[2].wrapping_add_signed(i64::from(change) << (32 + shift(mark)));
        }
    }
}

/// The mark of a hash, as in the slot of a key at home; never 0.
#[inline]
const fn mark(hash: u64) -> u16 {
    (hash as u16) << 2 | TAKEN
}

/// The first entry in this line with the mark that `is_it` accepts.
#[inline]
fn find_in(words: &[u64; 8], mark: u16, is_it: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
    let mut matches = matches(words, mark);
    while matches != 0 {
        let number = number(words, slot(matches));
        if is_it(number) {
            return Some(number);
        }
        matches &= matches - 1;
    }
    None
}

/// The mark in a slot.
const fn mark_in(words: &[u64; 8], slot: usize) -> u16 {
    // Within bounds for every slot; the mask lets the compiler see that.
    (words[(slot / 4) & 7] >> (16 * (slot & 3))) as u16
}

/// The entry number in a slot.
#[inline]
fn number(words: &[u64; 8], slot: usize) -> u32 {
    let halves: &[u32; 16] = zerocopy::transmute_ref!(words);
    // Within bounds for every slot, as above.
    halves[(FIRST_NUMBER + slot) & 15]
}

/// Bit offset of the counter for this mark's class in the upper half of word 2.
#[inline]
const fn shift(mark: u16) -> u32 {
    (mark & CLASS) as u32
}

/// Number of keys with this line as home and this mark's class that are away.
#[inline]
const fn away(words: &[u64; 8], mark: u16) -> u32 {
    (words[2] >> 32) as u32 >> shift(mark) & MANY
}

fn put(words: &mut [u64; 8], slot: usize, mark: u16, entry: u32) {
    let (word, shift) = ((slot / 4) & 7, 16 * (slot & 3));
    words[word] = (words[word] & !(0xffff << shift)) | u64::from(mark) << shift;
    let halves: &mut [u32; 16] = zerocopy::transmute_mut!(words);
    halves[(FIRST_NUMBER + slot) & 15] = entry;
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::leak;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// One home line for all, and few second lines: most keys are away, move, or are stashed.
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0_u32..40, any::<bool>()), 0..if cfg!(miri) { 40 } else { 400 })) {
            let mut index = Index::create(&mut leak(4096), 40).unwrap();
            let hash = |entry: u32| u64::MAX - u64::from(entry % 3) * 3;
            let mut model = BTreeSet::new();
            for (entry, insert) in steps {
                if insert {
                    if !model.contains(&entry) && index.insert(hash(entry), entry) {
                        model.insert(entry);
                    } else {
                        prop_assert!(model.contains(&entry) || index.stash.is_full());
                    }
                } else if model.remove(&entry) {
                    index.remove(hash(entry), entry);
                }
                for entry in 0..40 {
                    let found = index.find(hash(entry), &mut |candidate| candidate == entry);
                    prop_assert_eq!(found.is_some(), model.contains(&entry));
                    let first = index.first(hash(entry));
                    prop_assert!(first.is_none_or(|first| hash(first) == hash(entry)));
                    prop_assert_eq!(first.is_some(), model.iter().any(|other| hash(*other) == hash(entry)));
                }
            }
            for entry in model {
                index.remove(hash(entry), entry);
            }
            prop_assert!(index.stash.is_empty());
            // Only counters that saturated remain.
            for line in index.lines.iter() {
                let words = line.words();
                prop_assert_eq!((words[0], words[1], words[2] as u32), (0, 0, 0));
                prop_assert!((0..8).all(|class| [0, MANY].contains(&away(words, class << 2))));
            }
        }

        #[test]
        fn every_slot_is_told_apart(marks in prop::array::uniform10(0_u16..4), entries in prop::array::uniform10(any::<u32>()), counters in any::<u32>()) {
            let mut words = [0, 0, u64::from(counters) << 32, 0, 0, 0, 0, 0];
            for slot in 0..SLOTS {
                put(&mut words, slot, marks[slot], entries[slot]);
            }
            for class in 0..8 {
                prop_assert_eq!(away(&words, class << 2), counters >> (4 * class) & 15);
            }
            for mark in 0..4 {
                let mut found = BTreeSet::new();
                let mut left = matches(&words, mark);
                while left != 0 {
                    found.insert(slot(left));
                    prop_assert_eq!(mark_in(&words, slot(left)), mark);
                    prop_assert_eq!(number(&words, slot(left)), entries[slot(left)]);
                    left &= left - 1;
                }
                let expected: BTreeSet<usize> = (0..SLOTS).filter(|slot| marks[*slot] == mark).collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn the_other_line_of_the_other_line_is_the_first(lines in 1..100_usize, hash in any::<u64>()) {
            let index = Index { lines: std::vec![Line::ZERO; lines].leak(), stash: heapless::Vec::new(), taken: NonZeroU64::MIN };
            let (home, mark) = (index.home(hash), mark(hash));
            let second = index.other(home, mark);
            prop_assert!(home < lines && second < lines);
            prop_assert_eq!(index.other(second, mark | AWAY), home);
        }
    }

    /// The figures in the module's documentation, after twice as many removals as the capacity.
    #[test]
    fn reads_few_lines_when_full() {
        let keys = if cfg!(miri) { 600 } else { 100_000 };
        let mut index = Index::create(&mut leak(64 * (Index::lines(keys) + 1)), keys).unwrap();
        let hash = |entry: u32| crate::hash::flow_hash(&[u64::from(entry), 0, 0, 0, 0], 1);
        let keys = keys as u32;
        for entry in 0..3 * keys {
            if entry >= keys {
                index.remove(hash(entry - keys), entry - keys);
            }
            assert!(index.insert(hash(entry), entry));
        }
        assert!(index.stash.is_empty());
        let second =
            |entry: u32| away(index.lines[index.home(hash(entry))].words(), mark(hash(entry))) > 0;
        let is_away = |entry: &u32| {
            find_in(
                index.lines[index.home(hash(*entry))].words(),
                mark(hash(*entry)),
                &mut |number| number == *entry,
            )
            .is_none()
        };
        let part = |count: usize| f64::from(count as u32) / f64::from(keys);
        let hits = part((2 * keys..3 * keys).filter(is_away).count());
        let misses = part((9 * keys..10 * keys).filter(|entry| second(*entry)).count());
        std::eprintln!("second lines per hit {hits:.3}, per miss {misses:.3}");
        assert!(cfg!(miri) || (hits < 0.35 && misses < 0.35), "{hits} {misses}");
    }
}
