//! The keys with the greatest values.
//!
//! Each key's value is the greatest it was raised to, and only the `N` greatest keys are kept. That
//! is exact, whatever the order: when a key of the final top `N` was raised to its final value, at
//! most `N - 1` keys can have been above it, so it was kept; and nothing later pushed it out, because
//! values only rise. By the same argument the merge of two replicas is the top `N` of all updates.

use super::super::Malformed;
use super::Replica;
use crate::key::Key;
use crate::plain::Describe;

/// Updates of one packet that can be taken back.
const PENDING: usize = 4;

/// Keys that it is remembered of where they stood last; a power of two.
const PLACES: usize = 64;

/// The `N` keys that were raised highest, with their values. Equal values are ordered by key.
///
/// One packet makes at most 4 updates; further ones are refused under every plan alike, because they
/// could not be taken back by a punt.
#[derive(Clone, Copy, Debug)]
pub struct TopK<K, const N: usize> {
    /// In descending order, those in use first.
    kept: [Option<(u64, K)>; N],
    /// Where a key stood that was raised last, of all that share this number: it may be gone from there.
    places: [u8; PLACES],
    /// What this packet changed.
    changes: [Change<K>; PENDING],
    changed: u8,
    /// Updates of this packet, those included that changed nothing.
    updates: u8,
}

/// What an update changed. The tag stands by itself, so that an empty replica is all zeroes: a
/// program then holds no image of it.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Change<K> {
    /// In place of a change: none.
    Nothing,
    /// What stands at `at` stood at `from`, as far down or further, with this value.
    Risen { at: usize, from: usize, before: u64 },
    /// What stands at `at` was not kept; this fell off the end.
    Entered { at: usize, fallen: Option<(u64, K)> },
}

impl<K: Key, const N: usize> TopK<K, N> {
    /// Raises `key` to `value`, if that is higher than before.
    #[inline(always)]
    pub fn raise(&mut self, key: K, value: u64) {
        // Counted even when nothing changes: what is kept differs between replicas, and the limit
        // must not.
        if usize::from(self.updates) >= PENDING {
            return;
        }
        self.updates += 1;
        if let Some(Some((least, _))) = self.kept.last()
            && value < *least
        {
            return;
        }
        // Packed, so that a key that is not among the greatest need not be in memory, and is else written as it is read.
        self.place(&key.pack(), value);
    }

    /// The keys kept, from the greatest value down.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.kept.iter().flatten().map(|(value, key)| (*key, *value))
    }

    /// Keeps what is as great as the least that is kept, if it is greater. Mostly it is kept already, and stays where it
    /// was.
    #[inline(never)]
    fn place(&mut self, packed: &K::Packed, value: u64) {
        let key = K::unpack(packed);
        let number = number_of(&key);
        let from = usize::from(self.places[number]);
        match self.kept.get(from) {
            Some(Some((_, kept))) if *kept == key => self.raise_at(from, value),
            _ => self.search(packed, value, number),
        }
    }

    /// Likewise, wherever it is.
    #[inline(never)]
    fn search(&mut self, packed: &K::Packed, value: u64, number: usize) {
        let key = &K::unpack(packed);
        let is_it = |kept: &Option<(u64, K)>| matches!(kept, Some((_, kept)) if kept == key);
        match self.kept.last() {
            Some(Some((least, last))) if value == *least && key.words() >= last.words() => {}
            _ => match self.kept.iter().position(is_it) {
                Some(from) => {
                    if let Some(place) = self.places.get_mut(number) {
                        *place = from as u8;
                    }
                    self.raise_at(from, value);
                }
                None => self.enter(key, value),
            },
        }
    }

    /// Raises what is at `from`, if that is higher than before.
    #[inline(always)]
    fn raise_at(&mut self, from: usize, value: u64) {
        let Some(Some((kept, _))) = self.kept.get_mut(from) else { return };
        let before = *kept;
        if value <= before {
            return;
        }
        *kept = value;
        let at = match self.kept.get(from.wrapping_sub(1)) {
            // Who is ahead by much stays there.
            Some(Some((above, _))) if *above > value => from,
            Some(_) => self.rise(from),
            None => from,
        };
        self.note(Change::Risen { at, from, before });
    }

    /// Keeps a key that was not kept, and is greater than what falls off the end for it.
    fn enter(&mut self, key: &K, value: u64) {
        let last = self.kept.len().saturating_sub(1);
        let from = self.kept.iter().position(Option::is_none).unwrap_or(last);
        let Some(place) = self.kept.get_mut(from) else { return };
        let fallen = place.replace((value, *key));
        let at = self.rise(from);
        self.note(Change::Entered { at, fallen });
    }

    /// Moves what is at `at` up to where it belongs, and tells where that is.
    #[inline(never)]
    fn rise(&mut self, mut at: usize) -> usize {
        while let Some(above) = at.checked_sub(1)
            && let Some([Some(a), Some(b)]) = self.kept.get(above..=at)
            && greater(b, a)
        {
            self.kept.swap(above, at);
            at = above;
        }
        at
    }

    /// Moves what is at `at` down to `to`, the last place at most.
    #[inline(never)]
    fn sink(&mut self, at: usize, to: usize) {
        for at in at..to {
            if let Some([a, b]) = self.kept.get_mut(at..=at + 1) {
                core::mem::swap(a, b);
            }
        }
    }

    /// Notes a change, to be taken back. There are no more of them than updates.
    #[inline]
    fn note(&mut self, change: Change<K>) {
        if let Some(place) = self.changes.get_mut(usize::from(self.changed)) {
            *place = change;
            self.changed += 1;
        }
    }

    /// Takes a change back, after which none was made.
    fn take_back(&mut self, change: Change<K>) {
        match change {
            Change::Nothing => {}
            Change::Risen { at, from, before } => {
                self.sink(at, from);
                if let Some(Some((value, _))) = self.kept.get_mut(from) {
                    *value = before;
                }
            }
            Change::Entered { at, fallen } => {
                self.sink(at, self.kept.len());
                if let Some(last) = self.kept.last_mut() {
                    *last = fallen;
                }
            }
        }
    }
}

/// The number that a key shares with others, below [`PLACES`].
#[inline(always)]
fn number_of<K: Key>(key: &K) -> usize {
    const SHIFT: u32 = u64::BITS - PLACES.trailing_zeros();
    // Knuth's multiplier, of 64 bits: the upper bits of the product are of all bits of the words. The upper halves of
    // addresses tell fewer keys apart.
    let [_, b, _, d, e] = key.words();
    ((b ^ d ^ e).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize
}

fn greater<K: Key>(a: &(u64, K), b: &(u64, K)) -> bool {
    a.0 > b.0 || a.0 == b.0 && a.1.words() < b.1.words()
}

impl<K: Key, const N: usize> Replica for TopK<K, N> {
    const EMPTY: Self = Self {
        kept: [None; N],
        places: [0; PLACES],
        changes: [const { Change::Nothing }; PENDING],
        changed: 0,
        updates: 0,
    };
    const UNITS: u32 = N as u32;

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        const { assert!(8 + K::SIZE <= super::MAX_UNIT, "the key is too long for a unit") };
        let Some(Some((value, key))) = self.kept.get(unit as usize) else { return 0 };
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
        self.raise(key, u64::from_le_bytes(*value));
        self.commit();
        Ok(())
    }

    #[inline]
    fn commit(&mut self) {
        (self.changed, self.updates) = (0, 0);
    }

    fn rollback(&mut self) {
        for number in (0..usize::from(self.changed)).rev() {
            if let Some(change) = self.changes.get(number).copied() {
                self.take_back(change);
            }
        }
        self.commit();
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
                top.raise(key(n), value);
                top.commit();
                let kept = model.entry(n).or_insert(value);
                *kept = value.max(*kept);
            }
            let mut expected: Vec<_> = model.into_iter().map(|(n, value)| (value, key(n))).collect();
            expected.sort_by(|a, b| if greater(a, b) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater });
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
                top.raise(key(n), value);
                top.commit();
            }
            let kept: Vec<_> = top.iter().collect();
            for (n, value) in packet {
                top.raise(key(n), value);
            }
            top.rollback();
            prop_assert_eq!(top.iter().collect::<Vec<_>>(), kept);
        }
    }
}
