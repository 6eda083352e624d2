//! The latest value of each key: where a station was seen last, which address a neighbour has.
//!
//! Of two values of a key the later one counts; of two at one time, the one with the greater
//! encoding. So updates in any order give the same values. Room is bounded: keys share sets by a
//! keyed hash, and each set keeps the keys that were renewed last. The result is exact for any
//! order, by the argument of [`TopK`](super::TopK): times only rise, so the keys that a set keeps
//! at last were never driven out of it.

use super::super::Malformed;
use super::{MAX_UNIT, Replica};
use crate::hash::FlowHasher;
use crate::key::Key;
use crate::plain::{Describe, Plain};

/// Makes the hash differ from all others that use the run's seed.
const APART: u64 = 0x6c61_7465_7374_6b76;

/// Updates of one packet that can be rolled back.
const PENDING: usize = 4;

/// Keys of a set.
const WAYS: usize = 4;

/// The latest values of `4 × SETS` keys, in sets of four; a further key of a set takes the place of
/// the one that was renewed longest ago.
///
/// One packet makes at most 4 updates. Further ones are refused under every plan alike, because a
/// punt could not roll them back, and counted (`refused` in reports).
#[derive(Clone, Copy, Debug)]
pub struct Latest<K: Key, V: Plain, const SETS: usize> {
    /// Each in the order of times, the latest first.
    sets: [Set<K, V>; SETS],
    /// Keyed by the run's seed: equal on both sides, so that replicas merge. It is secret, so
    /// nobody can choose keys that drive out another one.
    hasher: FlowHasher,
    /// The sets of this packet's updates, as they were before.
    changes: [(u32, Set<K, V>); PENDING],
    /// Updates of this packet.
    made: u32,
    /// Whether they can be rolled back.
    undo: bool,
    refused: u64,
    /// `refused` before the current packet.
    refused_before: u64,
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
struct Kept<K: Key, V> {
    at: u64,
    key: K::Packed,
    value: V,
}

type Set<K, V> = [Option<Kept<K, V>>; WAYS];

impl<K: Key, V: Plain> Kept<K, V> {
    /// Whether this one is kept rather than `other`, of another key.
    fn outlives(&self, other: &Self) -> bool {
        let rank = |kept: &Self| (kept.at, core::cmp::Reverse(K::unpack(&kept.key).words()));
        rank(self) > rank(other)
    }

    /// Whether this value counts rather than `other`, of the same key.
    fn replaces(&self, other: &Self) -> bool {
        let encoded = |value: &V| {
            let mut bytes = [0; MAX_UNIT];
            value.put(&mut bytes);
            bytes
        };
        self.at > other.at || (self.at == other.at && encoded(&self.value) > encoded(&other.value))
    }
}

impl<K: Key, V: Plain, const SETS: usize> Latest<K, V, SETS> {
    /// `key` has this value from `now` on (ns of packet time).
    #[inline]
    pub fn renew(&mut self, key: &K, value: V, now: u64) {
        let number = self.set_of(key);
        let Some(set) = self.sets.get(number) else { return };
        let Some(change) = self.changes.get_mut(self.made as usize) else {
            self.refused += 1;
            return;
        };
        if self.undo {
            *change = (number as u32, *set);
        }
        self.made += 1;
        self.place(number, Kept { at: now, key: key.pack(), value });
    }

    /// The key's value, and when it was renewed last (ns). The whole is in a merged replica: a
    /// handler reads that by [`Merged`](super::Merged), reports after the run.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<(V, u64)> {
        let set = self.sets.get(self.set_of(key))?;
        let kept = set.iter().flatten().find(|kept| K::unpack(&kept.key) == *key)?;
        Some((kept.value, kept.at))
    }

    /// All keys, with their values and times.
    pub fn iter(&self) -> impl Iterator<Item = (K, V, u64)> + '_ {
        let all = self.sets.as_flattened().iter().flatten();
        all.map(|kept| (K::unpack(&kept.key), kept.value, kept.at))
    }

    fn set_of(&self, key: &K) -> usize {
        let upper = key.hash(&self.hasher, false) >> 32;
        ((upper * SETS as u64) >> 32) as usize
    }

    /// Puts a value into its set, if it belongs to the latest there.
    fn place(&mut self, number: usize, new: Kept<K, V>) {
        let Some(set) = self.sets.get_mut(number) else { return };
        let key = K::unpack(&new.key);
        let same = |kept: &Option<Kept<K, V>>| kept.is_some_and(|it| K::unpack(&it.key) == key);
        let before = set.iter().position(same);
        if before.and_then(|at| set[at]).is_some_and(|kept| !new.replaces(&kept)) {
            return;
        }
        // All from its new place to its old one move on; without an old one, the last is dropped.
        let end = before.unwrap_or(WAYS - 1);
        let is_behind = |kept: &Option<Kept<K, V>>| kept.is_none_or(|kept| new.outlives(&kept));
        let Some(begin) = set[..=end].iter().position(is_behind) else {
            // The same place, or none.
            if let Some(at) = before {
                set[at] = Some(new);
            }
            return;
        };
        set[begin..=end].rotate_right(1);
        set[begin] = Some(new);
    }
}

impl<K: Key, V: Plain, const SETS: usize> Replica for Latest<K, V, SETS> {
    const EMPTY: Self = Self {
        sets: [[None; WAYS]; SETS],
        // All zeroes, so that a program contains no image of it.
        hasher: FlowHasher::UNKEYED,
        changes: [(0, [None; WAYS]); PENDING],
        made: 0,
        undo: false,
        refused: 0,
        refused_before: 0,
    };
    /// The keys set by set, then the refused updates.
    const UNITS: u32 = (SETS * WAYS) as u32 + 1;

    /// An empty place need not be zero bytes for every key and value.
    fn clear(&mut self) {
        self.sets.fill([None; WAYS]);
        self.changes.fill((0, [None; WAYS]));
    }

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        const {
            assert!(8 + K::SIZE + V::SIZE <= MAX_UNIT, "key and value are too long for a unit");
        };
        let Some(place) = self.sets.as_flattened().get(unit as usize) else {
            out[..8].copy_from_slice(&self.refused.to_le_bytes());
            return 8;
        };
        let Some(kept) = place else { return 0 };
        // Zeroes are no value.
        out[..8].copy_from_slice(&kept.at.saturating_add(1).to_le_bytes());
        K::unpack(&kept.key).put(&mut out[8..]);
        kept.value.put(&mut out[8 + K::SIZE..]);
        8 + K::SIZE + V::SIZE
    }

    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        if unit as usize == SETS * WAYS {
            self.refused = self.refused.wrapping_add(super::number(bytes)?);
            return Ok(());
        }
        // Zeroes have no meaning but that of an empty place.
        let Some((at, rest)) = bytes.split_first_chunk() else {
            return if bytes.is_empty() { Ok(()) } else { Err(Malformed) };
        };
        let (key, value) = rest.split_at_checked(K::SIZE).ok_or(Malformed)?;
        let at = u64::from_le_bytes(*at).checked_sub(1).ok_or(Malformed)?;
        let key = K::get(key).ok_or(Malformed)?;
        let value = V::get(value).ok_or(Malformed)?;
        self.place(self.set_of(&key), Kept { at, key: key.pack(), value });
        Ok(())
    }

    fn key(&mut self, seed: u64) {
        self.hasher = FlowHasher::new(seed ^ APART);
    }

    #[inline(always)]
    fn begin(&mut self, undo: bool) {
        (self.made, self.undo) = (0, undo);
        if undo {
            self.refused_before = self.refused;
        }
    }

    fn rollback(&mut self) {
        for (number, before) in self.changes.iter().take(self.made as usize).rev() {
            if let Some(set) = self.sets.get_mut(*number as usize) {
                *set = *before;
            }
        }
        self.made = 0;
        self.refused = self.refused_before;
    }

    /// The keys with their values and times, and the refused updates.
    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("keys");
        to.open_list();
        for (key, value, at) in self.iter() {
            to.open();
            to.field("key");
            key.describe(to);
            to.field("value");
            value.describe(to);
            to.field("at");
            to.number(u128::from(at));
            to.close();
        }
        to.close_list();
        to.field("refused");
        to.number(u128::from(self.refused));
        to.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Address, SourceAddress};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Seen = Latest<SourceAddress, u16, 1>;

    fn key(n: u8) -> SourceAddress {
        SourceAddress(Address::v4([10, 0, 0, n]))
    }

    fn of(updates: &[(u8, u16, u64)]) -> Seen {
        let mut seen = Seen::EMPTY;
        for (n, value, now) in updates {
            seen.begin(false);
            seen.renew(&key(*n), *value, *now);
        }
        seen
    }

    fn units(seen: &Seen) -> Vec<Vec<u8>> {
        let unit = |unit| {
            let mut bytes = [0; MAX_UNIT];
            let length = seen.put_unit(unit, &mut bytes);
            bytes[..length].to_vec()
        };
        (0..Seen::UNITS).map(unit).collect()
    }

    proptest! {
        /// However packets are divided among replicas, and in whatever order these merge.
        #[test]
        fn keeps_exactly_the_latest(
            updates in prop::collection::vec((0_u8..9, 0_u16..3, 0_u64..20), 0..60),
            replicas in 1_usize..5,
        ) {
            let mut model = BTreeMap::new();
            for (n, value, now) in &updates {
                let latest = model.entry(*n).or_insert((*now, value.to_le_bytes()));
                *latest = (*latest).max((*now, value.to_le_bytes()));
            }
            let mut expected: Vec<_> = model
                .into_iter()
                .map(|(n, (at, value))| (key(n), u16::from_le_bytes(value), at))
                .collect();
            expected.sort_by_key(|(key, _, at)| (std::cmp::Reverse(*at), key.words()));
            expected.truncate(WAYS);
            let mut merged = Seen::EMPTY;
            for replica in (0..replicas).rev() {
                let own: Vec<_> = updates.iter().copied().skip(replica).step_by(replicas).collect();
                for (unit, bytes) in (0..).zip(units(&of(&own))) {
                    merged.merge_unit(unit, &bytes).unwrap();
                }
            }
            prop_assert_eq!(merged.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(units(&merged), units(&of(&updates)));
        }

        #[test]
        fn rollback_restores(
            before in prop::collection::vec((0_u8..9, 0_u16..3, 0_u64..20), 0..30),
            packet in prop::collection::vec((0_u8..9, 0_u16..3, 0_u64..30), 0..7),
        ) {
            let mut seen = of(&before);
            let kept = units(&seen);
            seen.begin(true);
            for (n, value, now) in packet {
                seen.renew(&key(n), value, now);
            }
            seen.rollback();
            prop_assert_eq!(units(&seen), kept);
        }
    }

    #[test]
    fn the_latest_value_of_a_key_is_read() {
        let mut seen = of(&[(1, 7, 5), (1, 8, 6), (1, 9, 4), (2, 1, 0)]);
        assert_eq!((seen.get(&key(1)), seen.get(&key(2))), (Some((8, 6)), Some((1, 0))));
        assert_eq!(seen.get(&key(3)), None);
        seen.begin(false);
        (0..PENDING as u64 + 2).for_each(|now| seen.renew(&key(1), 3, 10 + now));
        assert_eq!(seen.get(&key(1)), Some((3, 13)));
        assert_eq!(seen.refused, 2, "further ones are refused");
    }

    /// With a known hash, somebody could choose stations that drive out another one.
    #[test]
    fn who_shares_a_set_depends_on_the_seed() {
        let sets = |seed| {
            let mut seen = Latest::<SourceAddress, u16, 64>::EMPTY;
            seen.key(seed);
            (0..=u8::MAX).map(|n| seen.set_of(&key(n))).collect::<Vec<_>>()
        };
        assert_eq!(sets(1), sets(1));
        assert_ne!(sets(1), sets(2));
        let used = (0..64).filter(|set| sets(1).contains(set)).count();
        assert!(used > 56, "256 keys leave one set of 64 empty: {used}");
    }

    #[test]
    fn refuses_units_that_are_none() {
        let mut seen = Seen::EMPTY;
        assert_eq!(seen.merge_unit(0, &[]), Ok(()));
        for bytes in [&[1; 7][..], &[0; 26], &[1; 25], &[1; 9]] {
            assert_eq!(seen.merge_unit(0, bytes), Err(Malformed), "{bytes:?}");
        }
        assert_eq!(seen.merge_unit(4, &[1; 7]), Err(Malformed), "not a number");
    }
}
