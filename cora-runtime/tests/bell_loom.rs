//! The bell under loom: in no interleaving does a side sleep while something is published.
//! `RUSTFLAGS="--cfg loom" cargo test -p cora-runtime --release --test bell_loom`.
//!
//! Sleeping and waking are the code that runs; a lock and a condition variable replace the kernel.
//! No sleep times out here, so a lost wake is a deadlock, which loom reports. The last tests remove
//! a fence.
#![cfg(loom)]

use core::convert::Infallible;
use core::time::Duration;

use cora_runtime::link::region::{BellWord, sleep, wake};
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

struct Shared {
    word: AtomicU32,
    published: AtomicU64,
    kernel: Mutex<()>,
    woken: Condvar,
}

#[derive(Clone)]
struct LoomBell {
    shared: Arc<Shared>,
    /// Whether this side's fence is there.
    fenced: bool,
}

impl BellWord for LoomBell {
    fn load(&self) -> u32 {
        self.shared.word.load(Ordering::Relaxed)
    }
    fn store(&self, value: u32) {
        self.shared.word.store(value, Ordering::Relaxed);
    }
    fn fence(&self) {
        if self.fenced {
            fence(Ordering::SeqCst);
        }
    }
    fn wait(&self, value: u32, _at_most: Duration) {
        let guard = self.shared.kernel.lock().expect("no test panics here");
        if self.load() == value {
            drop(self.shared.woken.wait(guard));
        }
    }
    fn wake(&self) {
        let _guard = self.shared.kernel.lock().expect("no test panics here");
        self.shared.woken.notify_all();
    }
}

/// One side publishes twice; the other sleeps whenever it finds nothing new.
fn publish_and_sleep(sleeper_fenced: bool, waker_fenced: bool) {
    loom::model(move || {
        let shared = Arc::new(Shared {
            word: AtomicU32::new(0),
            published: AtomicU64::new(0),
            kernel: Mutex::new(()),
            woken: Condvar::new(),
        });
        let waker = LoomBell { shared: shared.clone(), fenced: waker_fenced };
        let publishing = thread::spawn(move || {
            for number in 1..=2 {
                waker.shared.published.store(number, Ordering::Release);
                wake(&waker);
            }
        });
        let sleeper = LoomBell { shared: shared.clone(), fenced: sleeper_fenced };
        let mut seen = 0;
        while seen < 2 {
            let look = || shared.published.load(Ordering::Acquire);
            sleep(&sleeper, Duration::MAX, || Ok::<_, Infallible>(look() == seen))
                .expect("it can't");
            seen = look();
        }
        publishing.join().expect("the publisher ends");
    });
}

#[test]
fn bell_loses_no_wake() {
    publish_and_sleep(true, true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn bell_without_the_sleepers_fence_is_caught() {
    publish_and_sleep(false, true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn bell_without_the_wakers_fence_is_caught() {
    publish_and_sleep(true, false);
}
