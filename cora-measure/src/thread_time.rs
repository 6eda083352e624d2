//! Processor time of a thread, and of a process: on a shared machine, wall time counts the work of
//! others, too.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment by the calling thread's clock, which goes on while the thread runs. Not for moments of
/// another thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadTime(Duration);

impl ThreadTime {
    /// Returns this moment.
    pub fn now() -> Self {
        // The clock begins at zero with the thread, and is never negative.
        Self(clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default())
    }

    /// Returns the time that the thread has run since then.
    pub fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

/// A moment by the clock of this process, which goes on with each of its threads that runs, also
/// with those that have ended since.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTime(Duration);

impl ProcessTime {
    /// Returns this moment.
    pub fn now() -> Self {
        Self(clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default())
    }

    /// Returns the time that the process has run since then, on all processors together.
    pub fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_clock_goes_with_the_thread_and_stands_while_it_sleeps() {
        let (wall, start) = (Instant::now(), ThreadTime::now());
        std::thread::sleep(Duration::from_millis(200));
        let asleep = start.elapsed();
        assert!(asleep < Duration::from_millis(100), "{asleep:?} while asleep");
        while start.elapsed() < asleep + Duration::from_millis(20) {
            assert!(wall.elapsed() < Duration::from_mins(1), "{:?} at work", start.elapsed());
        }
    }
}
