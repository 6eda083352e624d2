//! A row per key: a hash table.

use core::marker::PhantomData;

#[cfg(not(target_os = "none"))]
use super::Places;
use super::{Configured, Form, Row};
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::config::FromColumns;
use crate::hash::FlowHasher;
use crate::key::Key;

/// A table with a row per key, declared by `#[state(map, key = …, capacity = …)]`: subscribers,
/// tenants, neighbours. A handler takes `&Map<S>`.
///
/// The file has the columns of the key beside those of the fields. For an address as key that is
/// `address`; for a [`FiveTuple`](crate::key::FiveTuple) and for a key of one's own with
/// `#[derive(Key)]` the names of its fields:
///
/// ```text
/// address,    rate
/// 10.1.0.7,   100
/// 10.1.0.9,   250
/// ```
pub type Map<S> = Configured<S>;

/// The [form](Form) of a [`Map`] with these keys.
#[derive(Clone, Copy, Debug)]
pub struct ByKey<K>(PhantomData<K>);

/// Keys of rows. The file is the operator's, so nobody outside chooses them: a look-up takes no
/// more steps than the longest row of neighbours in the index has slots, whatever packets ask for.
const HASHER: FlowHasher = FlowHasher::new(0x5eed);

/// The bits of a slot for the number of a row plus 1; the others are from the hash.
const NUMBER: u32 = (1 << 27) - 1;

/// Words of an index over this many rows: at most half of its slots are taken.
#[must_use]
pub const fn words(capacity: u32) -> usize {
    (2 * capacity as usize).next_power_of_two()
}

/// The first slot to look at, and the bits from the hash.
#[inline(always)]
fn begin<K: Key>(key: &K, slots: usize) -> (usize, u32) {
    let hash = key.hash(&HASHER, false);
    (hash as usize & (slots - 1), (hash >> 32) as u32 & !NUMBER)
}

impl<K: Key + FromColumns> Form for ByKey<K> {
    type Place = K;

    #[cfg(not(target_os = "none"))]
    fn build(
        places: &Places<'_, K>,
        words: &mut [u32],
        file: &mut dyn config::File,
    ) -> Option<usize> {
        for (row, key) in places.iter() {
            let (mut at, tag) = begin(&key, words.len());
            while let Some(slot) = words.get(at).filter(|slot| **slot != 0) {
                let other = (slot & NUMBER) - 1;
                if places.get(other) == Some(key) {
                    file.fault_twice(row as usize, other as usize, &format_args!("{key:?}"));
                    break;
                }
                at = (at + 1) & (words.len() - 1);
            }
            if let Some(slot) = words.get_mut(at).filter(|slot| **slot == 0) {
                *slot = tag | (row + 1);
            }
        }
        file.is_sound().then_some(words.len())
    }
}

impl<K: Key + FromColumns, S: Row<Form = ByKey<K>>> Configured<S> {
    /// The row of this key.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&S> {
        let slots = self.index();
        // No rows, no index.
        if slots.is_empty() {
            return None;
        }
        let (mut at, tag) = begin(key, slots.len());
        // An index from the host has empty slots; a damaged one must not hold the NIC up.
        for _ in 0..slots.len() {
            let slot = *slots.get(at)?;
            if slot == 0 {
                return None;
            }
            let number = (slot & NUMBER) - 1;
            if slot & !NUMBER == tag
                && let Some(placed) = self.placed(number)
                && placed.place == *key
            {
                return Some(&placed.row);
            }
            at = (at + 1) & (slots.len() - 1);
        }
        None
    }
}
