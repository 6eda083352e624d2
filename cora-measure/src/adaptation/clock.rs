//! A side's time: it advances by the processor time of the side's work.

use crate::ThreadTime;

/// Measures work of this thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    /// Time that a look at the clock takes by itself (ns).
    own: u64,
}

impl Stopwatch {
    /// Looks at the clock often enough to know the time of a look.
    pub(super) fn new() -> Self {
        let own = (0..2_000).map(|_| ThreadTime::now().elapsed().as_nanos() as u64).min();
        Self { own: own.unwrap_or(0) }
    }

    /// Starts a measurement.
    pub(super) fn start(self) -> Elapsed {
        Elapsed { start: ThreadTime::now(), own: self.own }
    }

    /// Does some work. Returns its result and its time (ns).
    pub(super) fn time<T>(self, work: impl FnOnce() -> T) -> (T, u64) {
        let elapsed = self.start();
        let done = work();
        (done, elapsed.ns().max(1))
    }
}

/// A running stopwatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elapsed {
    start: ThreadTime,
    own: u64,
}

impl Elapsed {
    /// Returns the time since it started (ns).
    pub(super) fn ns(self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).saturating_sub(self.own)
    }
}
