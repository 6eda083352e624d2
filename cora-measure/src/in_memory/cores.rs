//! A core for each half, and a half's wait on it.

use std::hint::spin_loop;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Empty looks before the core is yielded: there may be only one.
const SPINS: u32 = 1 << 14;

/// The cores that this process may use.
pub(super) struct Cores(Vec<usize>);

impl Cores {
    pub(super) fn of_this_process() -> Self {
        let set = sched_getaffinity(None).unwrap_or_default();
        Self((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
    }

    /// Pins this thread to one of them, counted around.
    pub(super) fn stay_on(&self, number: usize) {
        let mut one = CpuSet::new();
        if let Some(core) = number.checked_rem(self.0.len()).and_then(|at| self.0.get(at)) {
            one.set(*core);
        }
        // If this is not allowed, the scheduler decides: longer times, not wrong ones.
        let _ignored = sched_setaffinity(None, &one);
    }
}

/// A wait for the other side.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        if self.is_long() { thread::yield_now() } else { spin_loop() }
    }

    /// Returns whether the latest look yielded the core: seldom enough to ask a clock, too.
    pub(crate) const fn is_long(&self) -> bool {
        self.0.is_multiple_of(SPINS)
    }
}
