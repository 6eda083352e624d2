//! Distribution of times, counted in classes of a sixteenth of an octave, so that millions cost no
//! memory.

use serde::Serialize;

/// Classes per octave, as a power of 2.
const FINE: u32 = 4;
const CLASSES: usize = 64 << FINE;

/// Times in nanoseconds; each is reported at most a sixteenth too short.
pub(super) struct Spread {
    counts: Vec<u64>,
    count: u64,
    longest: u64,
}

/// Summary of the times.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Summary {
    count: u64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    longest_ns: u64,
}

impl Spread {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; CLASSES], count: 0, longest: 0 }
    }

    pub(super) fn add(&mut self, ns: u64) {
        self.counts[class(ns)] += 1;
        self.count += 1;
        self.longest = self.longest.max(ns);
    }

    pub(super) fn summary(&self) -> Summary {
        Summary {
            count: self.count,
            p50_ns: self.at(500),
            p99_ns: self.at(990),
            p999_ns: self.at(999),
            longest_ns: self.longest,
        }
    }

    /// Returns the time that `part` of a thousand did not exceed.
    fn at(&self, part: u64) -> u64 {
        let wanted = (self.count * part).div_ceil(1000).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, lower_bound)
    }
}

/// Returns the octave, and behind it the next bits.
const fn class(ns: u64) -> usize {
    let ns = if ns < 1 << FINE { 1 << FINE } else { ns };
    let octave = ns.ilog2();
    let fine = (ns >> (octave - FINE)) & ((1 << FINE) - 1);
    ((octave << FINE) as u64 | fine) as usize
}

const fn lower_bound(class: usize) -> u64 {
    let (octave, fine) = (class >> FINE, class as u64 & ((1 << FINE) - 1));
    // No class lies below that octave.
    ((1 << FINE) | fine) << (octave - FINE as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_a_sixteenth_too_short_at_most() {
        for ns in (16..100_000).chain([u64::MAX / 3, u64::MAX]) {
            let told = lower_bound(class(ns));
            assert!(told <= ns && ns - told <= ns / 16, "{ns} is told as {told}");
        }
    }

    #[test]
    fn half_of_them_are_no_longer_than_the_median() {
        let mut spread = Spread::new();
        (1..=1000).for_each(|number| spread.add(number * 1000));
        let Summary { count, p50_ns, p99_ns, longest_ns, .. } = spread.summary();
        assert_eq!((count, longest_ns), (1000, 1_000_000));
        assert!((470_000..=500_000).contains(&p50_ns) && (930_000..=990_000).contains(&p99_ns));
    }
}
