//! How long an idle side polls before it sleeps.

use core::time::Duration;

use crate::link::region::doorbell::{BellWord, Woken, sleep};

/// Idle polls with a pause between them, before the core is offered to others. They take about a
/// microsecond, as long as a busy peer needs for a burst.
const SPINS: u32 = 64;

/// Idle polls that offer the core to others, before a side sleeps: minimum and maximum. A poll
/// takes half a microsecond and more, a sleep and a wake some ten. A side that is woken soon should
/// have gone on polling. So the number doubles with each sleep that the other side ends, and halves
/// with each that lasts to its end.
const YIELDS: core::ops::RangeInclusive<u32> = 16..=256;

/// The longest sleep, so that heartbeats and watchdogs go on. A side's shortest time-out for the
/// other is much longer.
const SLEEP: Duration = Duration::from_millis(20);

/// Counts idle polls.
#[derive(Clone, Debug)]
pub struct Idle {
    looks: u32,
    yields: u32,
    /// The longest sleep.
    longest: Duration,
}

impl Default for Idle {
    fn default() -> Self {
        Self::sleeping(SLEEP)
    }
}

impl Idle {
    /// With sleeps of this length at most.
    #[must_use]
    pub const fn sleeping(longest: Duration) -> Self {
        Self { looks: 0, yields: *YIELDS.start(), longest }
    }

    /// There was work.
    #[inline]
    pub const fn reset(&mut self) {
        self.looks = 0;
    }

    /// There was no work: pauses, or offers the core to others with `give_way`.
    pub fn pause(&mut self, give_way: impl FnOnce()) {
        if self.looks < SPINS {
            core::hint::spin_loop();
        } else {
            give_way();
        }
        self.looks = self.looks.saturating_add(1);
    }

    /// There was no work, and none is left without the other side: does as [`Self::pause`], or
    /// sleeps by the caller's own bell, if `nothing` confirms it. Returns whether a sleep lasted to
    /// its end.
    pub fn wait<E>(
        &mut self,
        bell: &impl BellWord,
        give_way: impl FnOnce(),
        nothing: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        self.wait_at_most(self.longest, bell, give_way, nothing)
    }

    /// The same for a side with something to do after this time. A sleep may be shorter.
    pub fn wait_at_most<E>(
        &mut self,
        at_most: Duration,
        bell: &impl BellWord,
        give_way: impl FnOnce(),
        nothing: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        if self.looks < SPINS + self.yields {
            self.pause(give_way);
            return Ok(false);
        }
        let woken = sleep(bell, at_most.min(self.longest), nothing)?;
        match woken {
            Woken::Work => {}
            Woken::Bell => self.yields = (self.yields * 2).min(*YIELDS.end()),
            Woken::Time => self.yields = (self.yields / 2).max(*YIELDS.start()),
        }
        // After a sleep to its end the next follows at once.
        if woken != Woken::Time {
            self.looks = 0;
        }
        Ok(woken == Woken::Time)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::convert::Infallible;

    use super::*;

    /// A bell that is rung, or not, as soon as somebody sleeps.
    #[derive(Default)]
    struct Toy {
        word: Cell<u32>,
        rung: Cell<bool>,
        sleeps: Cell<u32>,
        longest: Cell<Duration>,
    }

    impl BellWord for Toy {
        fn load(&self) -> u32 {
            self.word.get()
        }
        fn store(&self, value: u32) {
            self.word.set(value);
        }
        fn fence(&self) {}
        fn wait(&self, _: u32, at_most: Duration) {
            self.longest.set(self.longest.get().max(at_most));
            self.sleeps.set(self.sleeps.get() + 1);
            if self.rung.get() {
                self.word.set(0);
            }
        }
        fn wake(&self) {}
    }

    /// Idle polls until the next sleep.
    fn looks(idle: &mut Idle, bell: &Toy) -> u32 {
        let sleeps = bell.sleeps.get();
        (0..10_000)
            .find(|_| {
                idle.wait(bell, || {}, || Ok::<_, Infallible>(true)).expect("it can't");
                bell.sleeps.get() > sleeps
            })
            .expect("a sleep")
    }

    #[test]
    fn who_is_woken_soon_looks_longer_next_time() {
        let (mut idle, bell) = (Idle::default(), Toy::default());
        bell.rung.set(true);
        assert_eq!([(); 6].map(|()| looks(&mut idle, &bell)), [80, 96, 128, 192, 320, 320]);
        bell.rung.set(false);
        assert_eq!([(); 3].map(|()| looks(&mut idle, &bell)), [320, 0, 0]);
        idle.reset();
        assert_eq!(looks(&mut idle, &bell), 96);
    }

    #[test]
    fn who_has_something_to_do_sleeps_no_longer() {
        let (mut idle, bell) = (Idle::default(), Toy::default());
        let longest = |idle: &mut Idle, at_most| {
            bell.longest.set(Duration::ZERO);
            for _ in 0..1000 {
                let nothing = || Ok::<_, Infallible>(true);
                idle.wait_at_most(at_most, &bell, || {}, nothing).expect("it can't");
            }
            bell.longest.get()
        };
        assert_eq!(longest(&mut idle, Duration::from_micros(7)), Duration::from_micros(7));
        assert_eq!(longest(&mut idle, Duration::MAX), SLEEP);
    }

    #[test]
    fn nobody_sleeps_with_work_at_hand() {
        let (mut idle, bell) = (Idle::default(), Toy::default());
        for _ in 0..1000 {
            idle.wait(&bell, || {}, || Ok::<_, Infallible>(false)).expect("it can't");
        }
        assert_eq!((bell.sleeps.get(), bell.word.get()), (0, 0));
    }
}
