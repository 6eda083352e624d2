//! The turns of both ends: they take frames, step their mirror, and rest when nothing comes.

use std::time::{Duration, Instant};

/// Turns without work before an end waits for frames.
const ROUNDS: u32 = 100;
/// The first waits. A half on this side wakes nobody, so its records lie for so long at most.
const NAP: Duration = Duration::from_micros(50);
/// The longest ones, after long silence.
const LONG_NAP: Duration = Duration::from_micros(500);
/// How long silence is long.
const LONG: u32 = 200;

/// Counts turns without work, and has the clock of a link.
#[derive(Debug)]
pub struct Turns {
    begun: Instant,
    idle: u32,
}

impl Default for Turns {
    fn default() -> Self {
        Self::new()
    }
}

impl Turns {
    /// None yet; the clock begins.
    pub fn new() -> Self {
        Self { begun: Instant::now(), idle: 0 }
    }

    /// Nanoseconds since the beginning.
    pub fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A turn is over: whether the next one is to wait for frames, and how long at most.
    pub fn over(&mut self, busy: bool) -> Option<Duration> {
        self.idle = if busy { 0 } else { self.idle.saturating_add(1) };
        match self.idle {
            0 => None,
            1..=ROUNDS => {
                std::thread::yield_now();
                None
            }
            idle if idle <= ROUNDS + LONG => Some(NAP),
            _ => Some(LONG_NAP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_rests_longer_the_longer_nothing_comes() {
        let mut turns = Turns::new();
        assert_eq!((turns.over(true), turns.over(false)), (None, None));
        let naps: Vec<_> = (0..1_000).map(|_| turns.over(false)).collect();
        assert!(naps.is_sorted() && naps[0].is_none() && naps[999] == Some(LONG_NAP));
        assert!(naps.contains(&Some(NAP)));
        assert_eq!(turns.over(true), None);
        assert!(turns.now() > 0);
    }
}
