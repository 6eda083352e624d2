//! Counters by index: per rule, backend, tenant or subscriber. Replicas merge place by place.

use core::fmt;
use core::marker::PhantomData;

use super::super::Malformed;
use super::{Replica, number};
use crate::plain::Describe;

/// Maximum number of updates per packet: as many can be rolled back.
const PENDING: usize = 16;

/// Merges two values of one place.
pub trait Merge: Copy + fmt::Debug + 'static {
    /// The value of both.
    fn merge(one: u64, other: u64) -> u64;
}

/// Merges by addition, modulo 2⁶⁴.
#[derive(Clone, Copy, Debug)]
pub enum Adding {}

impl Merge for Adding {
    #[inline(always)]
    fn merge(one: u64, other: u64) -> u64 {
        one.wrapping_add(other)
    }
}

/// Merges by the greater value.
#[derive(Clone, Copy, Debug)]
pub enum Raising {}

impl Merge for Raising {
    #[inline(always)]
    fn merge(one: u64, other: u64) -> u64 {
        one.max(other)
    }
}

/// `N` sums, each reached by its index: [`Sum`](super::Sum) in an array.
pub type Sums<const N: usize> = ByIndex<Adding, N>;

/// `N` high-water marks, each reached by its index: [`Max`](super::Max) in an array.
pub type Maxima<const N: usize> = ByIndex<Raising, N>;

/// `N` values (8 bytes each) with indices from 0; see [`Sums`] and [`Maxima`].
///
/// One packet makes at most 16 updates. Further ones are refused under every plan alike, because a
/// punt could not roll them back. They are counted (`refused` in reports), and so are updates with
/// an index that does not exist.
#[derive(Clone, Copy, Debug)]
pub struct ByIndex<M, const N: usize> {
    values: [u64; N],
    refused: u64,
    /// `refused` before the current packet.
    refused_before: u64,
    /// Indices and earlier values of the current packet's updates.
    changes: [(u32, u64); PENDING],
    /// Number of these.
    made: u32,
    merges: PhantomData<M>,
}

impl<const N: usize> ByIndex<Adding, N> {
    /// Adds to the sum at `index`. An index from `N` on is refused, and counted as such.
    #[inline]
    pub fn add(&mut self, index: usize, amount: u64) {
        self.update(index, amount);
    }
}

impl<const N: usize> ByIndex<Raising, N> {
    /// Raises the mark at `index` to `value`, if that is greater. An index from `N` on is refused,
    /// and counted as such.
    #[inline]
    pub fn raise(&mut self, index: usize, value: u64) {
        self.update(index, value);
    }
}

impl<M: Merge, const N: usize> ByIndex<M, N> {
    #[inline]
    fn update(&mut self, index: usize, with: u64) {
        let (Some(value), Some(change)) =
            (self.values.get_mut(index), self.changes.get_mut(self.made as usize))
        else {
            return self.refuse();
        };
        *change = (index as u32, *value);
        *value = M::merge(*value, with);
        self.made += 1;
    }

    #[cold]
    const fn refuse(&mut self) {
        self.refused += 1;
    }

    /// The value at `index`; 0 without updates. The whole is in a merged replica: a handler
    /// reads that by [`Merged`](super::Merged), reports after the run.
    #[must_use]
    pub fn value(&self, index: usize) -> u64 {
        self.values.get(index).copied().unwrap_or(0)
    }
}

impl<M: Merge, const N: usize> Replica for ByIndex<M, N> {
    const EMPTY: Self = Self {
        values: [0; N],
        refused: 0,
        refused_before: 0,
        changes: [(0, 0); PENDING],
        made: 0,
        merges: PhantomData,
    };
    /// The values, then the refused updates.
    const UNITS: u32 = N as u32 + 1;

    /// An empty replica is all zeroes.
    #[inline]
    fn clear(&mut self) {}

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        let value = self.values.get(unit as usize).unwrap_or(&self.refused);
        out[..8].copy_from_slice(&value.to_le_bytes());
        8
    }

    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        let part = number(bytes)?;
        match self.values.get_mut(unit as usize) {
            Some(value) => *value = M::merge(*value, part),
            None => self.refused = self.refused.wrapping_add(part),
        }
        Ok(())
    }

    #[inline(always)]
    fn begin(&mut self, undo: bool) {
        self.made = 0;
        if undo {
            self.refused_before = self.refused;
        }
    }

    fn rollback(&mut self) {
        let made = self.made as usize;
        for (index, before) in self.changes.iter().take(made).rev() {
            if let Some(value) = self.values.get_mut(*index as usize) {
                *value = *before;
            }
        }
        self.made = 0;
        self.refused = self.refused_before;
    }

    /// The values that are not zero, with their indices, and the refused updates.
    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("values");
        to.open_list();
        for (index, value) in self.values.iter().enumerate().filter(|(_, value)| **value != 0) {
            to.open();
            to.field("index");
            to.number(index as u128);
            to.field("value");
            to.number(u128::from(*value));
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

    fn units<M: Merge, const N: usize>(replica: &ByIndex<M, N>) -> Vec<[u8; 8]> {
        let unit = |unit| {
            let mut bytes = [0; 8];
            replica.put_unit(unit, &mut bytes);
            bytes
        };
        (0..ByIndex::<M, N>::UNITS).map(unit).collect()
    }

    #[test]
    fn replicas_merge_place_by_place() {
        let (mut one, mut other) = (Sums::<3>::EMPTY, Sums::<3>::EMPTY);
        one.add(0, 5);
        one.add(2, u64::MAX);
        other.add(2, 3);
        let (mut high, mut low) = (Maxima::<3>::EMPTY, Maxima::<3>::EMPTY);
        high.raise(1, 9);
        low.raise(1, 4);
        low.raise(0, 1);
        for (unit, bytes) in (0..).zip(units(&other)) {
            one.merge_unit(unit, &bytes).unwrap();
        }
        for (unit, bytes) in (0..).zip(units(&low)) {
            high.merge_unit(unit, &bytes).unwrap();
        }
        assert_eq!([0, 1, 2, 3].map(|at| one.value(at)), [5, 0, 2, 0]);
        assert_eq!([0, 1, 2, 3].map(|at| high.value(at)), [1, 9, 0, 0]);
        assert_eq!(one.merge_unit(0, &[1; 7]), Err(Malformed));
    }

    #[test]
    fn updates_beyond_the_bound_or_the_end_are_counted_and_can_be_rolled_back() {
        let mut sums = Sums::<2>::EMPTY;
        sums.begin(false);
        sums.add(0, 1);
        sums.add(2, 1);
        sums.begin(true);
        let before = units(&sums);
        (0..PENDING + 3).for_each(|_| sums.add(0, 10));
        sums.add(usize::MAX, 1);
        assert_eq!((sums.value(0), sums.refused), (1 + 10 * PENDING as u64, 5));
        sums.rollback();
        assert_eq!(units(&sums), before);
        // A packet that can't be rolled back is refused the same.
        sums.begin(false);
        (0..PENDING + 3).for_each(|_| sums.add(0, 10));
        assert_eq!((sums.value(0), sums.refused), (1 + 10 * PENDING as u64, 4));
    }
}
