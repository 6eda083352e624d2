//! A count-min sketch: how much each key had, in bounded memory, never too little.
//!
//! Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and its
//! applications", J. Algorithms 55 (2005). With `COLUMNS = e/ε` and `ROWS = ln(1/δ)`, an estimate is
//! at most `ε` of the whole too high, with probability `1 - δ`. It is linear, so replicas merge by
//! addition and no update depends on what the other side has.

use super::super::Malformed;
use super::{Replica, number};
use crate::hash::FlowHasher;
use crate::key::Key;
use crate::plain::Describe;

/// The sketch's hash: the same on both sides and in every run, so that replicas merge.
const HASHER: FlowHasher = FlowHasher::new(0x0063_6f72_615f_636d);

/// Updates of one packet that can be taken back.
const PENDING: usize = 16;

/// A count-min sketch of `ROWS × COLUMNS` counters (8 bytes each).
///
/// One packet makes at most 16 updates; further ones are refused under every plan alike, and
/// counted (`refused` in reports), because they could not be taken back by a punt.
#[derive(Clone, Copy, Debug)]
pub struct CountMin<const ROWS: usize, const COLUMNS: usize> {
    counters: [[u64; COLUMNS]; ROWS],
    refused: u64,
    /// What this packet added, by its hash.
    pending: [(u64, u64); PENDING],
    /// Updates of this packet, those included that were refused.
    updates: u64,
}

impl<const ROWS: usize, const COLUMNS: usize> CountMin<ROWS, COLUMNS> {
    /// Adds `amount` to what `key` had.
    #[inline]
    pub fn add<K: Key>(&mut self, key: &K, amount: u64) {
        const {
            assert!(COLUMNS.is_power_of_two(), "COLUMNS is a power of two");
            assert!(ROWS >= 1 && ROWS <= 8, "ROWS is between 1 and 8");
        };
        let record = self.pending.get_mut(self.updates as usize);
        self.updates += 1;
        let Some(record) = record else {
            self.refused += 1;
            return;
        };
        let hash = HASHER.hash(&key.words());
        *record = (hash, amount);
        self.apply(hash, amount);
    }

    /// The most that `key` can have had. Only the whole value tells it: reports read it after the
    /// merge, a handler sees one side's part.
    pub fn estimate<K: Key>(&self, key: &K) -> u64 {
        let hash = HASHER.hash(&key.words());
        let counts =
            self.counters.iter().enumerate().map(|(row, line)| line[column::<COLUMNS>(hash, row)]);
        counts.min().unwrap_or(0)
    }

    #[inline]
    fn apply(&mut self, hash: u64, amount: u64) {
        for (row, line) in self.counters.iter_mut().enumerate() {
            let counter = &mut line[column::<COLUMNS>(hash, row)];
            *counter = counter.wrapping_add(amount);
        }
    }
}

/// Rows use the hashes `a + row · b` of Kirsch and Mitzenmacher, "Less hashing, same performance".
#[inline]
const fn column<const COLUMNS: usize>(hash: u64, row: usize) -> usize {
    let (a, b) = (hash as u32 as u64, (hash >> 32) | 1);
    (a.wrapping_add(b.wrapping_mul(row as u64)) as usize) & (COLUMNS - 1)
}

impl<const ROWS: usize, const COLUMNS: usize> Replica for CountMin<ROWS, COLUMNS> {
    const EMPTY: Self =
        Self { counters: [[0; COLUMNS]; ROWS], refused: 0, pending: [(0, 0); PENDING], updates: 0 };
    /// The counters row by row, then the refused updates.
    const UNITS: u32 = (ROWS * COLUMNS) as u32 + 1;

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        let at = unit as usize;
        let counter = self.counters.as_flattened().get(at).copied().unwrap_or(self.refused);
        out[..8].copy_from_slice(&counter.to_le_bytes());
        8
    }

    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        let refused = &mut self.refused;
        let counters = self.counters.as_flattened_mut();
        let counter = counters.get_mut(unit as usize).unwrap_or(refused);
        *counter = counter.wrapping_add(number(bytes)?);
        Ok(())
    }

    #[inline]
    fn commit(&mut self) {
        self.updates = 0;
    }

    fn rollback(&mut self) {
        let refused = self.updates.saturating_sub(PENDING as u64);
        self.refused = self.refused.wrapping_sub(refused);
        for number in 0..(self.updates - refused) as usize {
            let (hash, amount) = self.pending[number % PENDING];
            self.apply(hash, amount.wrapping_neg());
        }
        self.updates = 0;
    }

    /// Its size, sum, fullness and a digest: the counters themselves are too many to read.
    fn describe(&self, to: &mut dyn Describe) {
        let counters = self.counters.as_flattened();
        let first_row = self
            .counters
            .first()
            .map_or(0, |row| row.iter().fold(0_u64, |a, b| a.wrapping_add(*b)));
        let digest = counters
            .iter()
            .fold(0_u64, |digest, counter| HASHER.hash(&[digest, *counter, 0, 0, 0]));
        to.open();
        to.field("rows");
        to.number(ROWS as u128);
        to.field("columns");
        to.number(COLUMNS as u128);
        to.field("total");
        to.number(u128::from(first_row));
        to.field("used");
        to.number(counters.iter().filter(|counter| **counter != 0).count() as u128);
        to.field("refused");
        to.number(u128::from(self.refused));
        to.field("digest");
        to.text(&format_args!("{digest:016x}"));
        to.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Address, SourceAddress};

    #[test]
    fn never_too_little_and_rarely_much_too_much() {
        let mut sketch = CountMin::<4, 1024>::EMPTY;
        let key = |n: u32| SourceAddress(Address::v4(n.to_be_bytes()));
        let keys = if cfg!(miri) { 100 } else { 2000 };
        for n in 0..keys {
            sketch.add(&key(n), u64::from(n));
            sketch.commit();
        }
        let whole = 2000 * 1999 / 2;
        let mut high = 0;
        for n in 0..keys {
            let estimate = sketch.estimate(&key(n));
            assert!(estimate >= u64::from(n));
            high += u32::from(estimate > u64::from(n) + whole * 3 / 1024);
        }
        assert!(high < 100, "{high} of 2000 are more than e/COLUMNS of the whole too high");
    }

    #[test]
    fn refuses_the_seventeenth_update_of_a_packet() {
        let mut sketch = CountMin::<1, 8>::EMPTY;
        for _ in 0..17 {
            sketch.add(&SourceAddress(Address::v4([1; 4])), 1);
        }
        assert_eq!(sketch.estimate(&SourceAddress(Address::v4([1; 4]))), 16);
        assert_eq!(sketch.refused, 1);
        sketch.commit();
        for _ in 0..20 {
            sketch.add(&SourceAddress(Address::v4([1; 4])), 1);
        }
        sketch.rollback();
        assert_eq!((sketch.estimate(&SourceAddress(Address::v4([1; 4]))), sketch.refused), (16, 1));
    }
}
