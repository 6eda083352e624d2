//! The time of a live wire, which nobody can set.
//!
//! The kernel's monotonic clock measures the elapsed time. A live run adds a constant that makes
//! 1970 the epoch, and a successor program continues with the same constant. So entries expire by
//! elapsed time, independent of changes of the wall clock. Times for people and collectors use the
//! wall clock of that moment ([`Clock::wall_ahead`]).

use rustix::time::{ClockId, clock_gettime};

/// A clock of the kernel, in nanoseconds.
type Source = fn() -> u64;

/// Uniform time, in nanoseconds since 1970 by the wall clock at the run's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    passes: Source,
    wall: Source,
    /// The zero of the monotonic clock (ns since 1970).
    epoch: u64,
}

impl Clock {
    /// For a run that begins now.
    pub(crate) fn begin() -> Self {
        Self::beginning_by(monotonic, wall)
    }

    /// For a run that began earlier, since the last boot of this machine.
    pub(crate) const fn since(epoch: u64) -> Self {
        Self { passes: monotonic, wall, epoch }
    }

    fn beginning_by(passes: Source, wall: Source) -> Self {
        Self { passes, wall, epoch: wall().saturating_sub(passes()) }
    }

    /// The argument of [`Self::since`] to continue with this clock.
    pub(crate) const fn epoch(self) -> u64 {
        self.epoch
    }

    /// The time now.
    pub(crate) fn now(self) -> u64 {
        self.epoch.saturating_add((self.passes)())
    }

    /// How far the wall clock has moved ahead of this one since the run began (ns).
    pub(crate) fn wall_ahead(self) -> i64 {
        i64::try_from(i128::from((self.wall)()) - i128::from(self.now())).unwrap_or(0)
    }

    /// For tests: a clock over these sources.
    #[cfg(test)]
    pub(crate) fn by(passes: Source, wall: Source) -> Self {
        Self::beginning_by(passes, wall)
    }
}

pub(crate) fn monotonic() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn wall() -> u64 {
    nanoseconds(ClockId::Realtime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_step_of_the_wall_clock_is_no_time_that_passes() {
        static PASSES: AtomicU64 = AtomicU64::new(5_000);
        static WALL: AtomicU64 = AtomicU64::new(1_000_000);
        let clock = Clock::by(|| PASSES.load(Ordering::Relaxed), || WALL.load(Ordering::Relaxed));
        assert_eq!((clock.now(), clock.wall_ahead()), (1_000_000, 0));
        for (passed, wall, ahead) in
            [(10, 2_000_000, 999_990), (20, 400, -999_620), (30, 0, -1_000_030)]
        {
            PASSES.store(5_000 + passed, Ordering::Relaxed);
            WALL.store(wall, Ordering::Relaxed);
            assert_eq!((clock.now(), clock.wall_ahead()), (1_000_000 + passed, ahead));
        }
    }

    #[test]
    fn another_program_goes_on_with_the_same_time() {
        let first = Clock::begin();
        let before = first.now();
        let next = Clock::since(first.epoch());
        let (middle, after) = (next.now(), first.now());
        assert!(before <= middle && middle <= after, "{before} {middle} {after}");
        assert!(before > 1_600_000_000_000_000_000, "it counts from 1970: {before}");
    }
}
