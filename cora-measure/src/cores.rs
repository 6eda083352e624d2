//! A core for each of several threads that are measured at once. Left alone, the scheduler may put
//! two of them on one for milliseconds, which is a good part of a turn.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that this process may use.
#[derive(Debug)]
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    pub(crate) fn of_this_process() -> Self {
        let set = sched_getaffinity(None).unwrap_or_default();
        Self((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
    }

    /// Pins this thread to one of them, counted around.
    pub(crate) fn stay_on(&self, number: usize) {
        let mut one = CpuSet::new();
        if let Some(core) = number.checked_rem(self.0.len()).and_then(|at| self.0.get(at)) {
            one.set(*core);
        }
        // If this is not allowed, the scheduler decides: longer times, not wrong ones.
        let _ignored = sched_setaffinity(None, &one);
    }
}
