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

/// The `N` keys that were raised highest, with their values. Equal values are ordered by key.
///
/// One packet makes at most 4 updates; further ones are refused under every plan alike, because they
/// could not be taken back by a punt.
#[derive(Clone, Copy, Debug)]
pub struct TopK<K, const N: usize> {
    /// In descending order; the first `count` are in use.
    kept: [Option<(u64, K)>; N],
    /// Updates of this packet, and what they displaced.
    pending: [Pending<K>; PENDING],
    pending_count: u8,
}

/// One update of the packet. The tag stands by itself, so that an empty replica is all zeroes: a
/// program then holds no image of it.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Pending<K> {
    /// It changed nothing.
    Nothing,
    /// It changed this.
    Change(Change<K>),
}

#[derive(Clone, Copy, Debug)]
struct Change<K> {
    key: K,
    /// The key's value before; `None` when it was not kept.
    before: Option<u64>,
    /// What fell off the end.
    fallen: Option<(u64, K)>,
}

impl<K: Key, const N: usize> TopK<K, N> {
    /// Raises `key` to `value`, if that is higher than before.
    #[inline(always)]
    pub fn raise(&mut self, key: K, value: u64) {
        // Counted even when nothing changes: what is kept differs between replicas, and the limit
        // must not.
        let Some(record) = self.pending.get_mut(usize::from(self.pending_count)) else { return };
        *record = Pending::Nothing;
        self.pending_count += 1;
        if let Some(Some((least, _))) = self.kept.last()
            && value < *least
        {
            return;
        }
        // A copy, so that a key that is not among the greatest need not be in memory.
        self.place(&{ key }, value);
    }

    /// The keys kept, from the greatest value down.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.kept.iter().flatten().map(|(value, key)| (*key, *value))
    }

    /// Keeps what is as great as the least that is kept, if it is greater.
    #[inline(never)]
    fn place(&mut self, key: &K, value: u64) {
        let key = *key;
        if let Some(Some(least)) = self.kept.last()
            && !greater(&(value, key), least)
        {
            return;
        }
        let old = self.kept.iter().position(|kept| kept.is_some_and(|(_, kept)| kept == key));
        let before = old.and_then(|at| self.kept.get(at)?.map(|(value, _)| value));
        if before.is_some_and(|before| before >= value) {
            return;
        }
        let fallen = match old {
            Some(at) => {
                self.rise(at, (value, key));
                None
            }
            None => self.insert(key, value),
        };
        if let Some(record) = self.pending.get_mut(usize::from(self.pending_count).wrapping_sub(1))
        {
            *record = Pending::Change(Change { key, before, fallen });
        }
    }

    /// Puts a key that is not kept where its value belongs; gives what falls off.
    fn insert(&mut self, key: K, value: u64) -> Option<(u64, K)> {
        let last = self.kept.len().saturating_sub(1);
        let at = self.kept.iter().position(Option::is_none).unwrap_or(last);
        let fallen = self.kept.get(at).copied().flatten();
        if fallen.is_some_and(|least| !greater(&(value, key), &least)) {
            return Some((value, key));
        }
        self.rise(at, (value, key));
        fallen
    }

    /// Puts what is greater than what was at `at` there, and moves it up to where it belongs: mostly
    /// nowhere, for who is ahead by much stays there.
    fn rise(&mut self, mut at: usize, risen: (u64, K)) {
        while let Some(Some(above)) = at.checked_sub(1).and_then(|above| self.kept.get(above))
            && greater(&risen, above)
        {
            self.kept.swap(at - 1, at);
            at -= 1;
        }
        if let Some(place) = self.kept.get_mut(at) {
            *place = Some(risen);
        }
    }

    /// Takes a key out, closing the gap.
    fn remove(&mut self, key: K) {
        let Some(at) = self.kept.iter().position(|kept| kept.is_some_and(|(_, kept)| kept == key))
        else {
            return;
        };
        self.kept[at] = None;
        self.kept[at..].rotate_left(1);
    }
}

fn greater<K: Key>(a: &(u64, K), b: &(u64, K)) -> bool {
    (a.0, core::cmp::Reverse(a.1.words())) > (b.0, core::cmp::Reverse(b.1.words()))
}

impl<K: Key, const N: usize> Replica for TopK<K, N> {
    const EMPTY: Self =
        Self { kept: [None; N], pending: [const { Pending::Nothing }; PENDING], pending_count: 0 };
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
        self.pending_count = 0;
    }

    fn rollback(&mut self) {
        while self.pending_count > 0 {
            self.pending_count -= 1;
            let Pending::Change(change) = self.pending[usize::from(self.pending_count) % PENDING]
            else {
                continue;
            };
            self.remove(change.key);
            if let Some(before) = change.before {
                let _none = self.insert(change.key, before);
            }
            if let Some((value, key)) = change.fallen {
                let _none = self.insert(key, value);
            }
        }
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
