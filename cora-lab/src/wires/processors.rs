//! The assignment of processors: the sender to the first, the measured box to all others.

use std::thread::available_parallelism;

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::Result;

/// The processors of the measured box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// Number of all processors.
    count: usize,
}

impl Others {
    /// Keeps this thread, and those that it starts from now on, on the first processor; all others
    /// are left. Counted once: afterwards this thread would count its own one only.
    pub(super) fn left_by_this_thread() -> Result<Self> {
        let others = Self { count: available_parallelism().map_or(1, usize::from) };
        let mut first = CpuSet::new();
        first.set(0);
        sched_setaffinity(None, &first)
            .map_err(|error| format!("staying on a processor: {error}"))?;
        Ok(others)
    }

    /// Returns their list for `taskset`; the only one where there are no more.
    pub(super) fn list(self) -> String {
        match self.count {
            1 => "0".to_owned(),
            2 => "1".to_owned(),
            count => format!("1-{}", count - 1),
        }
    }

    /// Returns the list of all, the first one too.
    pub(super) fn and_the_first(self) -> String {
        format!("0-{}", self.count - 1)
    }

    /// Returns the first of them.
    pub(super) const fn one(self) -> usize {
        if self.count == 1 { 0 } else { 1 }
    }

    /// Returns the kernel's mask of them, for the first 32.
    pub(super) fn mask(self) -> u64 {
        if self.count == 1 { 1 } else { (1 << self.count.min(32)) - 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_never_among_the_others_unless_it_is_alone() {
        let of = |count| Others { count };
        assert_eq!((of(1).list(), of(1).mask()), ("0".to_owned(), 1));
        assert_eq!((of(2).list(), of(2).mask()), ("1".to_owned(), 2));
        assert_eq!((of(8).list(), of(8).mask()), ("1-7".to_owned(), 0xfe));
        assert_eq!(of(2).and_the_first(), "0-1");
    }
}
