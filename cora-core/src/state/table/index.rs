//! From a key's hash to an entry's number: open addressing with linear probing, at most 3/4 full.
//!
//! A slot holds the low half of the hash and the entry's number + 1; 0 is an empty slot. A removal
//! moves later slots of the same run back, so that look-ups never meet a grave.

use super::super::{Memory, OutOfMemory};

/// The slots.
#[derive(Debug)]
pub(super) struct Index {
    slots: &'static mut [u64],
    mask: usize,
}

impl Index {
    /// Slots for this many keys: a power of two, at most 3/4 of them used.
    pub(super) const fn slots(keys: usize) -> usize {
        (keys + keys.div_ceil(3) + 1).next_power_of_two()
    }

    pub(super) fn create(memory: &mut Memory, keys: usize) -> Result<Self, OutOfMemory> {
        let slots = memory.take_u64(Self::slots(keys))?;
        let mask = slots.len() - 1;
        Ok(Self { slots, mask })
    }

    /// The first entry whose slot has this hash and that `is_it` accepts.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = hash as usize & self.mask;
        loop {
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return None;
            }
            let (tag, entry) = open(slot);
            if tag == hash as u32 && is_it(entry) {
                return Some(entry);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Notes that `entry` is found by `hash`. The caller keeps the number of keys within bounds, so
    /// an empty slot is always left.
    pub(super) fn insert(&mut self, hash: u64, entry: u32) {
        let mut at = hash as usize & self.mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == 0 {
                *slot = (u64::from(hash as u32) << 32) | (u64::from(entry) + 1);
                return;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Forgets that `entry` is found by `hash`.
    pub(super) fn remove(&mut self, hash: u64, entry: u32) {
        let mut hole = hash as usize & self.mask;
        loop {
            match self.slots.get(hole).copied() {
                None | Some(0) => return,
                Some(slot) if open(slot) == (hash as u32, entry) => break,
                Some(_) => hole = (hole + 1) & self.mask,
            }
        }
        // Move back every later slot of the run whose home is not behind the hole.
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let slot = self.slots.get(at).copied().unwrap_or(0);
            if slot == 0 {
                break;
            }
            let home = open(slot).0 as usize & self.mask;
            let behind_hole = at.wrapping_sub(home) & self.mask;
            let from_hole = at.wrapping_sub(hole) & self.mask;
            if behind_hole >= from_hole {
                self.put(hole, slot);
                hole = at;
            }
        }
        self.put(hole, 0);
    }

    fn put(&mut self, at: usize, slot: u64) {
        if let Some(place) = self.slots.get_mut(at) {
            *place = slot;
        }
    }
}

/// The tag and the entry's number.
#[inline]
const fn open(slot: u64) -> (u32, u32) {
    ((slot >> 32) as u32, (slot as u32).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::leak;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Few hash values, so that runs are long and wrap around.
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0_u32..40, any::<bool>()), 0..if cfg!(miri) { 40 } else { 400 })) {
            let mut index = Index::create(&mut leak(4096), 40).unwrap();
            let hash = |entry: u32| u64::from(entry % 7) + 58;
            let mut model = BTreeSet::new();
            for (entry, insert) in steps {
                if insert {
                    if model.insert(entry) {
                        index.insert(hash(entry), entry);
                    }
                } else if model.remove(&entry) {
                    index.remove(hash(entry), entry);
                }
                for entry in 0..40 {
                    let found = index.find(hash(entry), |candidate| candidate == entry);
                    prop_assert_eq!(found.is_some(), model.contains(&entry));
                }
            }
        }
    }
}
