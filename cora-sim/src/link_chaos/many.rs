//! One simulation after another on all processors, until one fails.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::{Tally, is_of_ends, one};
use crate::chaos::{Limits, Violation};

/// The counts of all simulations.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub simulations: u64,
    /// Those of two ends. The others are of a region.
    pub ends: u64,
    /// The first seed and the last one.
    pub seeds: [u64; 2],
    pub tally: Tally,
    /// The failure with the lowest seed.
    pub failure: Option<Violation>,
}

/// Runs the seeds from `first` on, until one fails. Now and then calls `tell` with the number of
/// simulations.
pub fn many(first: u64, limits: Limits, tell: impl Fn(u64) + Sync) -> Summary {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (begun, next) = (Instant::now(), AtomicU64::new(0));
    let has_failed = AtomicBool::new(false);
    let all = Mutex::new(Summary { seeds: [first; 2], ..Summary::default() });
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (next, has_failed, all, tell) = (&next, &has_failed, &all, &tell);
            scope.spawn(move || {
                let mut own = Summary { seeds: [first; 2], ..Summary::default() };
                while begun.elapsed() < limits.time && !has_failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= limits.runs {
                        break;
                    }
                    own.add(first.wrapping_add(number));
                    has_failed.fetch_or(own.failure.is_some(), Ordering::Relaxed);
                    if thread == 0 && own.simulations.is_multiple_of(256) {
                        tell(number);
                    }
                }
                all.lock().expect("no thread panics").join(own);
            });
        }
    });
    all.into_inner().expect("no thread panics")
}

impl Summary {
    /// Runs the simulation of a seed.
    fn add(&mut self, seed: u64) {
        self.simulations += 1;
        self.ends += u64::from(is_of_ends(seed));
        self.seeds[1] = seed;
        match one(seed) {
            Ok(tally) => self.tally.add(&tally),
            Err(what) => self.failure = Some(Violation { seed, what }),
        }
    }

    fn join(&mut self, other: Self) {
        self.simulations += other.simulations;
        self.ends += other.ends;
        self.seeds[1] = self.seeds[1].max(other.seeds[1]);
        self.tally.add(&other.tally);
        let failures = [self.failure.take(), other.failure].into_iter().flatten();
        self.failure = failures.min_by_key(|failure| failure.seed);
    }
}
