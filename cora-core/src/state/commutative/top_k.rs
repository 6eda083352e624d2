//! The keys with the greatest values.
//!
//! The value of a key is the greatest that it was raised to, and only the `N` greatest keys are
//! kept. The result is exact for any order. When a key of the final top `N` was raised to its final
//! value, at most `N - 1` keys can have been above it, so it was kept. Nothing evicted it later,
//! because values only rise. By the same argument the merge of two replicas is the top `N` of all
//! updates.

use super::super::Malformed;
use super::Replica;
use crate::key::Key;
use crate::plain::Describe;

/// Updates of one packet that can be rolled back.
const PENDING: usize = 4;

/// Size of the cache of last positions, by key; a power of two.
const NUMBERS: usize = 64;

/// The `N` keys with the greatest values. Equal values are ordered by key.
///
/// One packet makes at most 4 updates; further ones are refused under every plan alike, because a
/// punt could not roll them back.
// Unsorted until it is read: a key that rises stays in place, and only a rise of the least key
// needs a search. The rank of a key is unpredictable, and mispredicted branches on it would cost
// more than everything else.
#[derive(Clone, Copy, Debug)]
pub struct TopK<K: Key, const N: usize> {
    /// 0 for an empty slot.
    values: [u64; N],
    keys: [Option<K::Packed>; N],
    /// The least of the values, and its slot: an empty slot, as long as there is one.
    floor: u64,
    least: usize,
    /// The last known slot of a key, by its number. Keys share numbers, so the slot may hold
    /// another key.
    places: [u8; NUMBERS],
    /// The undo log of this packet.
    changes: [Change<K>; PENDING],
    /// Number of logged changes; [`PENDING`] without undo, which disables the log.
    changed: u8,
    /// Updates of this packet, including those without effect.
    updates: u8,
}

/// The undo record of an update. Its tag is a separate field, so that an empty replica is all
/// zeroes and a program contains no image of it.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Change<K: Key> {
    /// No change.
    Nothing,
    /// The key at `at` had this value before.
    Risen { at: usize, before: u64 },
    /// The key at `at` is new; the slot had this key and value before.
    Entered { at: usize, value: u64, key: Option<K::Packed> },
}

impl<K: Key, const N: usize> TopK<K, N> {
    /// Raises `key` to `value`, if that is greater.
    #[inline(always)]
    pub fn raise(&mut self, key: K, value: u64) {
        // Counts updates without effect too: the kept keys differ between replicas, but the limit
        // must not.
        if usize::from(self.updates) >= PENDING {
            return;
        }
        self.updates += 1;
        if value >= self.floor {
            self.place(key, value);
        }
    }

    /// The kept keys, in descending order of their values.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        (0..N).map_while(|rank| self.ranked(rank))
    }

    /// Key and value at this rank, counted from 0.
    fn ranked(&self, rank: usize) -> Option<(K, u64)> {
        let above = |at: usize| (0..N).filter(|other| self.is_above(*other, at)).count();
        let mut all = self.keys.iter().zip(self.values).enumerate();
        all.find_map(|(at, (key, value))| {
            let key = key.as_ref().filter(|_| above(at) == rank)?;
            Some((K::unpack(key), value))
        })
    }

    /// Whether the key in slot `one` ranks above that in slot `other`. An empty slot ranks below
    /// every key.
    fn is_above(&self, one: usize, other: usize) -> bool {
        let values = [one, other].map(|at| self.values.get(at));
        if values[0] != values[1] {
            return values[0] > values[1];
        }
        let words = |at: usize| Some(K::unpack(self.keys.get(at)?.as_ref()?).words());
        match [one, other].map(words) {
            [Some(one), Some(other)] => one < other,
            [one, _] => one.is_some(),
        }
    }

    /// Keeps a key that reaches the least kept value. Usually it is kept already.
    // Inlined at the host: a call would force the key into memory.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn place(&mut self, key: K, value: u64) {
        let number = number_of(&key);
        let at = usize::from(self.places[number]);
        match self.keys.get(at) {
            Some(Some(kept)) if K::unpack(kept) == key => self.raise_at(at, value),
            // Packs the key only here, not for every packet.
            _ => self.search(&key.pack(), value, number),
        }
    }

    /// The same by a search of all slots.
    #[inline(never)]
    fn search(&mut self, key: &K::Packed, value: u64, number: usize) {
        let unpacked = K::unpack(key);
        let is_it = |kept: &Option<K::Packed>| {
            kept.as_ref().is_some_and(|kept| K::unpack(kept) == unpacked)
        };
        let at = match self.keys.iter().position(is_it) {
            Some(at) => {
                self.raise_at(at, value);
                at
            }
            None => match self.keys.get(self.least) {
                Some(Some(least))
                    if value == self.floor && unpacked.words() >= K::unpack(least).words() =>
                {
                    return;
                }
                _ => self.enter(key, value),
            },
        };
        if let Some(place) = self.places.get_mut(number) {
            *place = at as u8;
        }
    }

    /// Raises the key in this slot, if the value is greater.
    #[inline(always)]
    fn raise_at(&mut self, at: usize, value: u64) {
        let Some(place) = self.values.get_mut(at) else { return };
        let before = *place;
        if value <= before {
            return;
        }
        *place = value;
        self.note(Change::Risen { at, before });
        if at == self.least {
            self.find_least();
        }
    }

    /// Replaces the least key by a new one; returns its slot.
    fn enter(&mut self, key: &K::Packed, value: u64) -> usize {
        let at = self.least;
        if let Some(change) = self.put(at, value, Some(*key)) {
            self.note(change);
        }
        at
    }

    /// Stores a key, or none, in a slot. Returns the change that undoes it.
    fn put(&mut self, at: usize, value: u64, key: Option<K::Packed>) -> Option<Change<K>> {
        let value = core::mem::replace(self.values.get_mut(at)?, value);
        let key = core::mem::replace(self.keys.get_mut(at)?, key);
        self.find_least();
        Some(Change::Entered { at, value, key })
    }

    /// Finds the least value.
    #[inline(never)]
    fn find_least(&mut self) {
        self.least = (1..N).fold(0, |least, at| if self.is_above(least, at) { at } else { least });
        self.floor = self.values.get(self.least).copied().unwrap_or_default();
    }

    /// Logs a change, unless undo is disabled. There are at most as many changes as updates.
    #[inline]
    fn note(&mut self, change: Change<K>) {
        if let Some(place) = self.changes.get_mut(usize::from(self.changed)) {
            *place = change;
            self.changed += 1;
        }
    }

    /// Undoes the latest change.
    fn take_back(&mut self, change: Change<K>) {
        match change {
            Change::Nothing => {}
            Change::Risen { at, before } => {
                if let Some(value) = self.values.get_mut(at) {
                    *value = before;
                }
                self.find_least();
            }
            Change::Entered { at, value, key } => {
                self.put(at, value, key);
            }
        }
    }
}

/// The number of a key, below [`NUMBERS`]; several keys share it.
#[inline(always)]
fn number_of<K: Key>(key: &K) -> usize {
    const SHIFT: u32 = u64::BITS - NUMBERS.trailing_zeros();
    // Knuth's multiplier, for 64 bits: the upper bits of the product depend on all bits of the
    // words. The upper halves of addresses distinguish few keys.
    let [_, b, _, d, e] = key.words();
    ((b ^ d ^ e).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize
}

impl<K: Key, const N: usize> Replica for TopK<K, N> {
    const EMPTY: Self = Self {
        values: [0; N],
        keys: [None; N],
        floor: 0,
        least: 0,
        places: [0; NUMBERS],
        changes: [const { Change::Nothing }; PENDING],
        changed: 0,
        updates: 0,
    };
    const UNITS: u32 = N as u32;

    /// An empty key slot need not be zero bytes for every key type.
    fn clear(&mut self) {
        self.keys.fill(None);
        self.changes.fill(const { Change::Nothing });
    }

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        const { assert!(8 + K::SIZE <= super::MAX_UNIT, "the key is too long for a unit") };
        let Some((key, value)) = self.ranked(unit as usize) else { return 0 };
        out[..8].copy_from_slice(&value.to_le_bytes());
        key.put(&mut out[8..]);
        8 + K::SIZE
    }

    fn merge_unit(&mut self, _: u32, bytes: &[u8]) -> Result<(), Malformed> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (value, key) = bytes.split_first_chunk().ok_or(Malformed)?;
        let key = K::get(key).ok_or(Malformed)?;
        self.begin(false);
        self.raise(key, u64::from_le_bytes(*value));
        Ok(())
    }

    #[inline(always)]
    fn begin(&mut self, undo: bool) {
        (self.changed, self.updates) = (if undo { 0 } else { PENDING as u8 }, 0);
    }

    fn rollback(&mut self) {
        for number in (0..usize::from(self.changed)).rev() {
            if let Some(change) = self.changes.get(number).copied() {
                self.take_back(change);
            }
        }
        self.begin(true);
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.open_list();
        for (key, value) in self.iter() {
            to.open();
            to.field("key");
            key.describe(to);
            to.field("value");
            to.number(u128::from(value));
            to.close();
        }
        to.close_list();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Address, SourceAddress};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn key(n: u8) -> SourceAddress {
        SourceAddress(Address::v4([10, 0, 0, n]))
    }

    proptest! {
        #[test]
        fn keeps_exactly_the_greatest(updates in prop::collection::vec((0_u8..12, 0_u64..20), 0..80)) {
            let mut top = TopK::<SourceAddress, 4>::EMPTY;
            let mut model = BTreeMap::new();
            for (n, value) in updates {
                top.begin(false);
                top.raise(key(n), value);
                let kept = model.entry(n).or_insert(value);
                *kept = value.max(*kept);
            }
            let mut expected: Vec<_> = model.into_iter().map(|(n, value)| (value, key(n))).collect();
            expected.sort_by_key(|(value, key)| (std::cmp::Reverse(*value), key.words()));
            expected.truncate(4);
            let kept: Vec<_> = top.iter().map(|(key, value)| (value, key)).collect();
            prop_assert_eq!(kept, expected);
        }

        #[test]
        fn rollback_restores(
            before in prop::collection::vec((0_u8..9, 0_u64..20), 0..30),
            packet in prop::collection::vec((0_u8..9, 0_u64..30), 0..6),
        ) {
            let mut top = TopK::<SourceAddress, 4>::EMPTY;
            for (n, value) in before {
                top.begin(false);
                top.raise(key(n), value);
            }
            top.begin(true);
            let kept: Vec<_> = top.iter().collect();
            for (n, value) in packet {
                top.raise(key(n), value);
            }
            top.rollback();
            prop_assert_eq!(top.iter().collect::<Vec<_>>(), kept);
        }
    }
}
