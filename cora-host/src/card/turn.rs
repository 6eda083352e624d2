//! The turns of both ends: they take frames, step their mirror, and rest when nothing comes.

use std::time::{Duration, Instant};

use cora_runtime::link::region::{BellWord, sleep};

use crate::RunError;
use crate::card::wire::Party;

/// Turns without records before an end sleeps. A ring or a frame alone adds none: an end that is
/// rung for nothing sleeps on.
const ROUNDS: u32 = 100;
/// The bounds of a rest. An end looks after its process, and after the status of its half, as often
/// as it wakes; and what is due must not keep it awake if its wire takes nothing.
const RESTS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// How long an end rests at most while a half takes records (ns). It rings for none that it took.
pub(super) const LOOK_AGAIN: u64 = 100_000;

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

    /// A turn is over. After some without records the party sleeps by this bell.
    ///
    /// # Errors
    /// If a ring of its side is broken.
    pub fn rest(
        &mut self,
        busy: bool,
        party: &mut impl Party,
        bell: &impl BellWord,
    ) -> Result<(), RunError> {
        self.idle = if busy { 0 } else { self.idle.saturating_add(1) };
        if self.idle <= ROUNDS {
            if !busy {
                std::thread::yield_now();
            }
            return Ok(());
        }
        let now = self.now();
        let due = Duration::from_nanos(party.due(now).saturating_sub(now));
        let due = due.clamp(RESTS.0, RESTS.1);
        sleep(bell, due, || party.has_nothing()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A party with something due at a time, and a bell that notes how long it is slept by.
    struct Toy(u64);

    impl Party for Toy {
        fn hear(&mut self, _: &[u8], _: u64) -> Result<(), RunError> {
            Ok(())
        }

        fn step(&mut self, _: u64, _: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, RunError> {
            Ok(false)
        }

        fn due(&self, _: u64) -> u64 {
            self.0
        }

        fn has_nothing(&mut self) -> Result<bool, RunError> {
            Ok(true)
        }
    }

    #[derive(Default)]
    struct Silent {
        word: Cell<u32>,
        slept: Cell<Option<Duration>>,
    }

    impl BellWord for Silent {
        fn load(&self) -> u32 {
            self.word.get()
        }

        fn store(&self, value: u32) {
            self.word.set(value);
        }

        fn fence(&self) {}

        fn wait(&self, _: u32, at_most: Duration) {
            self.slept.set(Some(at_most));
        }

        fn wake(&self) {}
    }

    #[test]
    fn an_end_rests_until_something_is_due_but_neither_long_nor_never() {
        for (due, rest) in [(0, RESTS.0), (u64::MAX, RESTS.1)] {
            let (mut turns, bell) = (Turns::new(), Silent::default());
            let mut over = |busy| turns.rest(busy, &mut Toy(due), &bell).expect("no ring");
            over(true);
            over(false);
            assert_eq!(bell.slept.get(), None);
            (0..1_000).for_each(|_| over(false));
            assert_eq!(bell.slept.take(), Some(rest));
            over(true);
            over(false);
            assert_eq!(bell.slept.get(), None);
            assert!(turns.now() > 0);
        }
    }
}
