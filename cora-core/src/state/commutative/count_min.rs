//! A count-min sketch: an estimate of each key's count, in bounded memory, never too low.
//!
//! Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and its
//! applications", J. Algorithms 55 (2005). With `COLUMNS = e/ε` and `ROWS = ln(1/δ)`, an estimate
//! is too high by at most `ε` of the total, with probability `1 - δ`. It is linear, so replicas
//! merge by addition, and no update depends on the other side.
//!
//! The counters of a key are scattered, and most of them miss the near caches. So updates are
//! delayed: an update prefetches its counters, and a later update applies it once they have
//! arrived. Readers add the pending updates.

use super::super::Malformed;
use super::{Replica, number};
use crate::hash::FlowHasher;
use crate::key::Key;
use crate::plain::Describe;
use crate::prefetch::prefetch;

/// Separates the sketch's hash from all others keyed by the run's seed.
const APART: u64 = 0x0063_6f72_615f_636d;
/// Hashes the counters into a digest for descriptions.
const DIGEST: FlowHasher = FlowHasher::new(APART);

/// Maximum number of updates per packet: as many can be rolled back.
const PENDING: u32 = 16;
/// Pending updates of earlier packets: the work of a few packets covers the memory latency.
const DELAY: u32 = 8;
/// Slots for pending updates. An update applies the oldest one, unless fewer than `DELAY` wait
/// besides those of its own packet.
const WAITING: usize = (PENDING + DELAY).next_power_of_two() as usize;

/// A count-min sketch of `ROWS × COLUMNS` counters (8 bytes each).
///
/// One packet makes at most 16 updates. Further ones are refused under every plan alike, because a
/// punt could not roll them back, and counted (`refused` in reports).
#[derive(Clone, Copy, Debug)]
pub struct CountMin<const ROWS: usize, const COLUMNS: usize> {
    counters: [[u64; COLUMNS]; ROWS],
    /// Keyed by the run's seed: equal on both sides, so that replicas merge, and different in other
    /// runs.
    hasher: FlowHasher,
    refused: u64,
    /// `refused` before the current packet.
    refused_before: u64,
    /// Amounts and key hashes of the last updates; the slot of an update is its number modulo the
    /// size.
    amounts: [u64; WAITING],
    hashes: [u64; WAITING],
    /// Number of updates that are in the counters.
    applied: u32,
    /// Number of updates by completed packets.
    kept: u32,
    /// Number of all updates.
    made: u32,
}

impl<const ROWS: usize, const COLUMNS: usize> CountMin<ROWS, COLUMNS> {
    /// Adds `amount` to the count of `key`.
    // Inlined at the host: after a call, the handler would have to reload its values from memory.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline)]
    pub fn add<K: Key>(&mut self, key: &K, amount: u64) {
        const {
            assert!(COLUMNS.is_power_of_two(), "COLUMNS is a power of two");
            assert!(ROWS >= 1 && ROWS <= 8, "ROWS is between 1 and 8");
        };
        if self.made.wrapping_sub(self.kept) >= PENDING {
            return self.refuse();
        }
        if self.kept.wrapping_sub(self.applied) >= DELAY {
            self.apply_oldest();
        }
        let hash = key.hash(&self.hasher, false);
        let place = self.made as usize % WAITING;
        (self.hashes[place], self.amounts[place]) = (hash, amount);
        self.made = self.made.wrapping_add(1);
        for (row, line) in self.counters.iter().enumerate() {
            prefetch(&line[column::<COLUMNS>(hash, row)]);
        }
    }

    #[cold]
    const fn refuse(&mut self) {
        self.refused += 1;
    }

    /// An upper bound of the count of `key`. The whole is in a merged replica: a handler
    /// reads that by [`Merged`](super::Merged), reports after the run.
    pub fn estimate<K: Key>(&self, key: &K) -> u64 {
        let hash = key.hash(&self.hasher, false);
        let counts = (0..ROWS).map(|row| self.counter(row, column::<COLUMNS>(hash, row)));
        counts.min().unwrap_or(0)
    }

    /// Hash and amount of a pending update, by its number.
    #[inline(always)]
    const fn waiting(&self, update: u32) -> (u64, u64) {
        let place = update as usize % WAITING;
        (self.hashes[place], self.amounts[place])
    }

    /// Applies the oldest pending update, which belongs to a completed packet.
    #[inline(always)]
    fn apply_oldest(&mut self) {
        let (hash, amount) = self.waiting(self.applied);
        self.applied = self.applied.wrapping_add(1);
        for (row, line) in self.counters.iter_mut().enumerate() {
            let counter = &mut line[column::<COLUMNS>(hash, row)];
            *counter = counter.wrapping_add(amount);
        }
    }

    /// The value of a counter including all pending updates.
    fn counter(&self, row: usize, at: usize) -> u64 {
        let waiting = (0..self.made.wrapping_sub(self.applied)).map(|ahead| {
            let (hash, amount) = self.waiting(self.applied.wrapping_add(ahead));
            if column::<COLUMNS>(hash, row) == at { amount } else { 0 }
        });
        waiting.fold(self.counters[row][at], u64::wrapping_add)
    }

    /// All counters, row by row.
    fn all(&self) -> impl Iterator<Item = u64> + '_ {
        (0..ROWS).flat_map(move |row| (0..COLUMNS).map(move |at| self.counter(row, at)))
    }
}

/// Rows use the hashes `a + row · b` by Kirsch and Mitzenmacher, "Less hashing, same performance".
#[inline]
const fn column<const COLUMNS: usize>(hash: u64, row: usize) -> usize {
    let (a, b) = (hash as u32 as u64, (hash >> 32) | 1);
    (a.wrapping_add(b.wrapping_mul(row as u64)) as usize) & (COLUMNS - 1)
}

impl<const ROWS: usize, const COLUMNS: usize> Replica for CountMin<ROWS, COLUMNS> {
    fn settle(&mut self) {
        self.kept = self.made;
        while self.applied != self.made {
            self.apply_oldest();
        }
    }

    const EMPTY: Self = Self {
        counters: [[0; COLUMNS]; ROWS],
        // All zeroes, so that a program contains no image of it.
        hasher: FlowHasher::UNKEYED,
        refused: 0,
        refused_before: 0,
        amounts: [0; WAITING],
        hashes: [0; WAITING],
        applied: 0,
        kept: 0,
        made: 0,
    };
    /// The counters row by row, then the refused updates.
    const UNITS: u32 = (ROWS * COLUMNS) as u32 + 1;

    /// An empty replica is all zeroes.
    #[inline]
    fn clear(&mut self) {}

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        let at = unit as usize;
        let (row, at) = (at / COLUMNS, at % COLUMNS);
        let counter = if row < ROWS { self.counter(row, at) } else { self.refused };
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

    fn key(&mut self, seed: u64) {
        self.hasher = FlowHasher::new(seed ^ APART);
    }

    #[inline(always)]
    fn begin(&mut self, undo: bool) {
        self.kept = self.made;
        if undo {
            self.refused_before = self.refused;
        }
    }

    fn rollback(&mut self) {
        self.made = self.kept;
        self.refused = self.refused_before;
    }

    /// Size, sum, used counters and a digest: there are too many counters to print.
    fn describe(&self, to: &mut dyn Describe) {
        let total = self.all().take(COLUMNS).fold(0_u64, u64::wrapping_add);
        let digest =
            self.all().fold(0_u64, |digest, counter| DIGEST.hash(&[digest, counter, 0, 0, 0]));
        to.open();
        to.field("rows");
        to.number(ROWS as u128);
        to.field("columns");
        to.number(COLUMNS as u128);
        to.field("total");
        to.number(u128::from(total));
        to.field("used");
        to.number(self.all().filter(|counter| *counter != 0).count() as u128);
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

    fn keyed<const ROWS: usize, const COLUMNS: usize>(seed: u64) -> CountMin<ROWS, COLUMNS> {
        let mut sketch = CountMin::EMPTY;
        sketch.key(seed);
        sketch
    }

    /// With a known hash, an attacker could choose a source that shares the counters of another.
    #[test]
    fn who_shares_counters_depends_on_the_seed() {
        let key = |n: u32| SourceAddress(Address::v4(n.to_be_bytes()));
        let columns = |seed: u64, n: u32| {
            let hash = key(n).hash(&keyed::<4, 64>(seed).hasher, false);
            [0, 1, 2, 3].map(|row| column::<64>(hash, row))
        };
        // Such sources for one seed, found by trial.
        let victim = columns(1, 0);
        let chosen: Vec<u32> = (1..200_000).filter(|n| columns(1, *n) == victim).collect();
        assert!(chosen.len() > 3, "{} were found", chosen.len());
        for seed in 2..20 {
            let fit = chosen.iter().filter(|n| columns(seed, **n) == columns(seed, 0)).count();
            assert!(fit < chosen.len() / 2, "{fit} of {} fit seed {seed}, too", chosen.len());
        }
    }

    #[test]
    fn a_settled_sketch_says_the_same_and_goes_on() {
        let (mut one, mut other) = (keyed::<2, 16>(7), keyed::<2, 16>(7));
        let key = |n: u32| SourceAddress(Address::v4(n.to_be_bytes()));
        for n in 0..200 {
            for sketch in [&mut one, &mut other] {
                sketch.begin(true);
                (0..n % 5).for_each(|more| sketch.add(&key(n % 7 + more), u64::from(n)));
                if n % 3 == 0 {
                    sketch.rollback();
                }
            }
            if n % 4 == 0 {
                one.settle();
            }
            assert!(one.all().eq(other.all()), "after packet {n}");
        }
    }

    #[test]
    fn never_too_little_and_rarely_much_too_much() {
        let mut sketch = keyed::<4, 1024>(7);
        let key = |n: u32| SourceAddress(Address::v4(n.to_be_bytes()));
        let keys = if cfg!(miri) { 100 } else { 2000 };
        for n in 0..keys {
            sketch.begin(false);
            sketch.add(&key(n), u64::from(n));
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

    /// With any pending updates: after each packet, kept or rolled back, the units equal those of a
    /// sketch that received only the kept updates.
    #[test]
    fn what_waits_is_read_as_applied() {
        let units = |sketch: &CountMin<3, 16>| -> Vec<u64> {
            let mut bytes = [0; 8];
            let unit = |unit| {
                sketch.put_unit(unit, &mut bytes);
                u64::from_le_bytes(bytes)
            };
            (0..CountMin::<3, 16>::UNITS).map(unit).collect()
        };
        let mut sketch = keyed::<3, 16>(7);
        let (mut plain, mut total, mut refused) = ([[0_u64; 16]; 3], 0, 0);
        for packet in 0..200_u64 {
            let updates = packet * packet % 21;
            let before = plain;
            sketch.begin(packet % 3 == 0);
            for update in 0..updates {
                let source = SourceAddress(Address::v4([10, 0, 0, (packet * 7 + update) as u8]));
                sketch.add(&source, packet + update);
                if update < u64::from(PENDING) {
                    let hash = source.hash(&sketch.hasher, false);
                    (0..3).for_each(|row| plain[row][column::<16>(hash, row)] += packet + update);
                }
            }
            if packet % 3 == 0 {
                sketch.rollback();
                plain = before;
            } else {
                refused += updates.saturating_sub(PENDING.into());
                total +=
                    (0..updates.min(PENDING.into())).map(|update| packet + update).sum::<u64>();
            }
            let all = units(&sketch);
            assert_eq!((&all[..48], all[48]), (plain.as_flattened(), refused), "packet {packet}");
            assert_eq!(all[..16].iter().sum::<u64>(), total, "packet {packet}");
            assert!(sketch.made - sketch.applied < PENDING + DELAY);
        }
    }

    #[test]
    fn refuses_the_seventeenth_update_of_a_packet() {
        let mut sketch = keyed::<1, 8>(7);
        sketch.begin(false);
        for _ in 0..17 {
            sketch.add(&SourceAddress(Address::v4([1; 4])), 1);
        }
        assert_eq!(sketch.estimate(&SourceAddress(Address::v4([1; 4]))), 16);
        assert_eq!(sketch.refused, 1);
        sketch.begin(true);
        for _ in 0..20 {
            sketch.add(&SourceAddress(Address::v4([1; 4])), 1);
        }
        sketch.rollback();
        assert_eq!((sketch.estimate(&SourceAddress(Address::v4([1; 4]))), sketch.refused), (16, 1));
    }
}
