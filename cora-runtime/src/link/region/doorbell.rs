//! The doorbell: an idle side sleeps, and the other wakes it.
//!
//! Each side has a word in the region, its bell. A side that goes to sleep
//!
//! 1. writes there that it is asleep,
//! 2. polls its rings once more, and
//! 3. waits until the word changes, for a bounded time.
//!
//! A side that has published something
//!
//! 1. reads the other's word, and
//! 2. if that is asleep, changes the word and tells the kernel.
//!
//! So a publication costs a fence and a load while the other is awake, and no system call. Between
//! its write and its read each side needs a sequentially consistent fence. Otherwise both could
//! read before either's write is visible, and one would sleep with a record on its ring. Loom finds
//! that (`tests/bell_loom.rs`).
//!
//! Waiting is the [`Futex`]'s part. If both sides run under one kernel it is a futex on the word. A
//! card has a kernel of its own. There a side that waits looks at the word again after each of many
//! short sleeps, and a wake only changes the word.
//!
//! A peer that writes nonsense into a bell causes needless wakes, needless system calls, or a sleep
//! to its time-out. None of these lasts longer than the time-out that this side chose.

use core::sync::atomic::{AtomicU64, Ordering, fence};
use core::time::Duration;

/// The bell of a side that is awake.
const AWAKE: u32 = 0;
/// The bell of a side that sleeps or is about to.
const ASLEEP: u32 = 1;

/// Waits until a word in shared memory changes.
pub trait Futex {
    /// Waits until woken, but at most `at_most`, and only while the low half of `word` is `value`.
    /// It may return early.
    fn wait(&self, word: &AtomicU64, value: u32, at_most: Duration);
    /// Wakes the waiter on `word`.
    fn wake(&self, word: &AtomicU64);
}

/// The accesses to one side's bell. [`Bell`] is the one that runs; the test has one on loom's
/// atomics.
pub trait BellWord {
    /// Reads the word, relaxed.
    fn load(&self) -> u32;
    /// Writes the word, relaxed.
    fn store(&self, value: u32);
    /// Orders this side's earlier writes before its later reads, sequentially consistent.
    fn fence(&self);
    /// Waits until woken, but at most `at_most`, and only while the word is `value`.
    fn wait(&self, value: u32, at_most: Duration);
    /// Wakes the waiter.
    fn wake(&self);
}

/// A side's bell in a region.
#[derive(Clone, Copy, Debug)]
pub struct Bell<F> {
    word: &'static AtomicU64,
    futex: F,
}

impl<F: Futex> Bell<F> {
    pub(super) const fn new(word: &'static AtomicU64, futex: F) -> Self {
        Self { word, futex }
    }
}

/// Two are one if they are the same word.
impl<F> PartialEq for Bell<F> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.word, other.word)
    }
}

impl<F: Futex> BellWord for Bell<F> {
    #[inline]
    fn load(&self) -> u32 {
        self.word.load(Ordering::Relaxed) as u32
    }

    fn store(&self, value: u32) {
        self.word.store(u64::from(value), Ordering::Relaxed);
    }

    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn wait(&self, value: u32, at_most: Duration) {
        self.futex.wait(self.word, value, at_most);
    }

    fn wake(&self) {
        self.futex.wake(self.word);
    }
}

/// Wakes the side with this bell, if it sleeps. Call it after publishing.
#[inline]
pub fn wake(bell: &impl BellWord) {
    bell.fence();
    if bell.load() == ASLEEP {
        bell.store(AWAKE);
        bell.wake();
    }
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There was work after all.
    Work,
    /// The other side rang.
    Bell,
    /// The time-out passed.
    Time,
}

/// Sleeps by the caller's own bell, unless `nothing` finds that there is work.
pub fn sleep<E>(
    bell: &impl BellWord,
    at_most: Duration,
    nothing: impl FnOnce() -> Result<bool, E>,
) -> Result<Woken, E> {
    bell.store(ASLEEP);
    bell.fence();
    let nothing = nothing();
    let mut woken = Woken::Work;
    if matches!(nothing, Ok(true)) {
        bell.wait(ASLEEP, at_most);
        woken = if bell.load() == ASLEEP { Woken::Time } else { Woken::Bell };
    }
    bell.store(AWAKE);
    nothing.map(|_| woken)
}

#[cfg(test)]
mod tests {
    use super::*;

    static WORD: AtomicU64 = AtomicU64::new(0);

    /// Looks once, and returns early: a waiter may.
    #[derive(Clone, Copy)]
    struct Early;

    impl Futex for Early {
        fn wait(&self, _: &AtomicU64, _: u32, _: Duration) {}
        fn wake(&self, _: &AtomicU64) {}
    }

    #[test]
    fn a_sleep_says_why_it_ended() {
        let bell = Bell::new(&WORD, Early);
        let asleep = || Ok::<_, ()>(bell.load() == ASLEEP);
        assert_eq!(sleep(&bell, Duration::MAX, asleep), Ok(Woken::Time));
        assert_eq!(sleep(&bell, Duration::MAX, || Ok::<_, ()>(false)), Ok(Woken::Work));
        // The other side wakes it between its last poll and its sleep.
        let woken = || {
            wake(&bell);
            Ok::<_, ()>(true)
        };
        assert_eq!(sleep(&bell, Duration::MAX, woken), Ok(Woken::Bell));
        assert_eq!(sleep(&bell, Duration::MAX, || Err(7)), Err(7));
        assert_eq!(bell.load(), AWAKE);
    }
}
