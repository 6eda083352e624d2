//! A side's time: it goes on by the processor time that its work took.

use crate::ThreadTime;

/// Measures work of this thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    /// What asking for the time takes by itself (ns).
    own: u64,
}

impl Stopwatch {
    /// Asks for the time often enough to know how long that takes.
    pub(super) fn new() -> Self {
        let own = (0..2_000).map(|_| ThreadTime::now().elapsed().as_nanos() as u64).min();
        Self { own: own.unwrap_or(0) }
    }

    /// Starts.
    pub(super) fn start(self) -> Elapsed {
        Elapsed { start: ThreadTime::now(), own: self.own }
    }

    /// Does some work; how long it took (ns).
    pub(super) fn time<T>(self, work: impl FnOnce() -> T) -> (T, u64) {
        let elapsed = self.start();
        let done = work();
        (done, elapsed.ns().max(1))
    }
}

/// A watch that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elapsed {
    start: ThreadTime,
    own: u64,
}

impl Elapsed {
    /// Time since it started (ns).
    pub(super) fn ns(self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).saturating_sub(self.own)
    }
}
