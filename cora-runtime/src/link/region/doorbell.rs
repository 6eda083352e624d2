//! How a side that found nothing to do for a while sleeps, and how the other wakes it.
//!
//! Each side has a word in the region, its bell. Who goes to sleep
//!
//! 1. writes there that it is asleep,
//! 2. looks at its rings once more, and
//! 3. waits until the word changes, for a bounded time.
//!
//! Who has published something
//!
//! 1. looks at the other's word, and
//! 2. when that is asleep, changes the word and tells the kernel.
//!
//! So a publication costs a fence and a load while the other is awake, and no system call. Between
//! writing and looking each side needs a sequentially consistent fence: without, both could look
//! before either's write is visible, and one would sleep with a record on its ring. Loom finds that
//! (`tests/bell_loom.rs`).
//!
//! Waiting is the [`Futex`]'s part. Where both sides run under one kernel it is a futex on the
//! word. A card that reaches the host's memory over PCIe shares no kernel with the host: there both
//! take [`Polling`], for which a sleep is a short watch of the word and a wake is no more than its
//! change.
//!
//! A peer that writes nonsense into a bell makes this side wake in vain, make system calls in vain,
//! or sleep to the end of its time: none of it lasts longer than the time it set itself.

use core::sync::atomic::{AtomicU64, Ordering, fence};
use core::time::Duration;

/// What a bell says while its side is awake.
const AWAKE: u32 = 0;
/// What it says while its side sleeps or is about to.
const ASLEEP: u32 = 1;

/// How a process waits for a word in shared memory to change.
pub trait Futex {
    /// Waits until woken, as long as the low half of `word` is `value`, for `at_most` so long. It
    /// may return early.
    fn wait(&self, word: &AtomicU64, value: u32, at_most: Duration);
    /// Wakes who waits there.
    fn wake(&self, word: &AtomicU64);
}

/// No common kernel: who waits looks at the word for a moment. It costs a core, as polling does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polling;

impl Futex for Polling {
    fn wait(&self, word: &AtomicU64, value: u32, _at_most: Duration) {
        /// Some ten microseconds, as there is no clock here.
        const LOOKS: u32 = 1024;
        let mut looks = 0;
        while word.load(Ordering::Relaxed) as u32 == value && looks < LOOKS {
            core::hint::spin_loop();
            looks += 1;
        }
    }

    fn wake(&self, _word: &AtomicU64) {}
}

/// The accesses to one side's bell. [`Bell`] is the one that runs; the test brings one on loom's
/// atomics.
pub trait BellWord {
    /// Reads the word, relaxed.
    fn load(&self) -> u32;
    /// Writes the word, relaxed.
    fn store(&self, value: u32);
    /// Orders what this side wrote before what it reads after, sequentially consistent.
    fn fence(&self);
    /// Waits until woken, as long as the word is `value`.
    fn wait(&self, value: u32, at_most: Duration);
    /// Wakes who waits.
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

/// Wakes the side whose bell it is, if it sleeps. Call it after what it should see was published.
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
    /// There was something after all.
    Work,
    /// The other side rang.
    Bell,
    /// Time is up.
    Time,
}

/// Sleeps by the bell, its own, unless `nothing` finds that there is something to do.
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

    #[test]
    fn polling_ends_by_itself_and_says_why() {
        let bell = Bell::new(&WORD, Polling);
        let asleep = || Ok::<_, ()>(bell.load() == ASLEEP);
        assert_eq!(sleep(&bell, Duration::MAX, asleep), Ok(Woken::Time));
        assert_eq!(sleep(&bell, Duration::MAX, || Ok::<_, ()>(false)), Ok(Woken::Work));
        // The other side wakes it between its last look and its sleep.
        let woken = || {
            wake(&bell);
            Ok::<_, ()>(true)
        };
        assert_eq!(sleep(&bell, Duration::MAX, woken), Ok(Woken::Bell));
        assert_eq!(sleep(&bell, Duration::MAX, || Err(7)), Err(7));
        assert_eq!(bell.load(), AWAKE);
    }
}
