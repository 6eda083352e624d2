//! Contestants that take turns, so that a disturbance of the machine meets all of them.

use cora_measure::ThreadTime;

/// The turns of a contestant, in ns per operation.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    sorted: Vec<f64>,
}

impl Turns {
    pub(crate) fn new(mut turns: Vec<f64>) -> Self {
        turns.sort_by(f64::total_cmp);
        Self { sorted: turns }
    }

    pub(crate) fn median(&self) -> f64 {
        self.sorted.get(self.sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Returns half the interquartile range, as a part of the median.
    pub(crate) fn spread(&self) -> f64 {
        let at = |part: usize| self.sorted[(self.sorted.len() - 1) * part / 4];
        (at(3) - at(1)) / 2.0 / self.median()
    }
}

/// Does work once, and returns ns per operation.
pub(crate) fn time(work: impl FnOnce() -> u64) -> f64 {
    let start = ThreadTime::now();
    let operations = work();
    start.elapsed().as_nanos() as f64 / operations as f64
}

/// A contestant: does its work once, and returns the number of operations.
pub(crate) type Contestant<'a> = &'a mut dyn FnMut() -> u64;

/// Runs each contestant `count` times, after one run that does not count.
pub(crate) fn take<const N: usize>(count: usize, contestants: [Contestant<'_>; N]) -> [Turns; N] {
    let mut timed = contestants.map(|contestant| move || time(&mut *contestant));
    take_timed(count, timed.each_mut().map(|timed| timed as &mut dyn FnMut() -> f64))
}

/// Runs contestants that read a clock themselves, because more than one thread works: each returns
/// the ns per operation of its turn.
pub(crate) fn take_timed<const N: usize>(
    count: usize,
    mut contestants: [&mut dyn FnMut() -> f64; N],
) -> [Turns; N] {
    let mut turns = [const { Vec::new() }; N];
    for turn in 0..=count {
        for (contestant, turns) in contestants.iter_mut().zip(&mut turns) {
            let took = contestant();
            if turn > 0 {
                turns.push(took);
            }
        }
    }
    turns.map(Turns::new)
}
