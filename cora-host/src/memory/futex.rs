//! The kernel's futex, on a word that the NIC process maps too.
#![expect(unsafe_code, reason = "the kernel waits for half a word")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cora_runtime::link::region::Futex;
use rustix::thread::futex::{Flags, Timespec, wait, wake};

/// A futex between processes of one kernel.
#[derive(Clone, Copy, Debug)]
pub struct SharedFutex;

impl Futex for SharedFutex {
    fn wait(&self, word: &AtomicU64, value: u32, at_most: Duration) {
        let at_most = Timespec {
            tv_sec: at_most.as_secs().cast_signed(),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // Woken or not, the caller checks its condition again.
        let _woken = wait(low_half(word), Flags::empty(), value, Some(&at_most));
    }

    fn wake(&self, word: &AtomicU64) {
        let _how_many = wake(low_half(word), Flags::empty(), 1);
    }
}

/// How this half is woken by the other one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waking {
    /// By the kernel that both run under.
    Futex,
    /// Not at all: the other half runs under another kernel. So this one looks again and again.
    Looks,
}

/// Interval between two looks. A punt to a sleeping half takes half as long on average; an idle
/// half takes about a hundredth of a processor.
const LOOK_EVERY: Duration = Duration::from_micros(100);

impl Futex for Waking {
    fn wait(&self, word: &AtomicU64, value: u32, at_most: Duration) {
        match self {
            Self::Futex => SharedFutex.wait(word, value, at_most),
            Self::Looks => {
                let begun = Instant::now();
                while word.load(Ordering::Relaxed) as u32 == value && begun.elapsed() < at_most {
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        }
    }

    fn wake(&self, word: &AtomicU64) {
        if let Self::Futex = self {
            SharedFutex.wake(word);
        }
    }
}

/// The futex word for the kernel: on little-endian machines, the first four bytes of a word.
fn low_half(word: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the first half of an aligned word is aligned for its size, lives as long, and may
    // change under a shared reference in the same way. Rust code never accesses memory through this
    // reference, so the word is accessed in one size only; the kernel gets its address.
    unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_without_a_common_kernel_looks_until_it_is_rung_or_late() {
        let (word, start) = (AtomicU64::new(1), Instant::now());
        Waking::Looks.wait(&word, 1, Duration::from_millis(5));
        assert!(start.elapsed() >= Duration::from_millis(5), "nobody rang");
        std::thread::scope(|scope| {
            scope.spawn(|| Waking::Looks.wait(&word, 1, Duration::from_secs(1000)));
            std::thread::sleep(Duration::from_millis(5));
            word.store(0, Ordering::Relaxed);
        });
        assert!(start.elapsed() < Duration::from_secs(500), "it did not wait to its end");
    }

    #[test]
    fn a_sleep_ends_by_a_wake_or_by_itself() {
        let (word, start) = (AtomicU64::new(1), Instant::now());
        SharedFutex.wait(&word, 1, Duration::from_millis(5));
        assert!(start.elapsed() >= Duration::from_millis(5), "nobody woke it");
        SharedFutex.wait(&word, 0, Duration::from_secs(1000));
        std::thread::scope(|scope| {
            scope.spawn(|| SharedFutex.wait(&word, 1, Duration::from_secs(1000)));
            std::thread::sleep(Duration::from_millis(5));
            word.store(0, Ordering::Relaxed);
            SharedFutex.wake(&word);
        });
        assert!(start.elapsed() < Duration::from_secs(500), "neither waited to its end");
    }
}
