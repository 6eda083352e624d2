//! When a live run ends: after so many seconds, or when somebody says so by a signal.
#![expect(unsafe_code, reason = "installs signal handlers")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Somebody said so.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Somebody asked for the program to be replaced.
static REPLACE: AtomicBool = AtomicBool::new(false);

/// Somebody asked for the configuration to be read again.
static READ_AGAIN: AtomicBool = AtomicBool::new(false);

extern "C" fn tell(signal: libc::c_int) {
    let word = match signal {
        libc::SIGHUP => &REPLACE,
        libc::SIGUSR1 => &READ_AGAIN,
        _ => &TOLD,
    };
    word.store(true, Ordering::Relaxed);
}

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    at: Option<Instant>,
}

impl Stop {
    /// By SIGINT and SIGTERM, or after so long; SIGHUP asks for the program to be replaced, SIGUSR1
    /// for the configuration to be read again.
    pub(super) fn new(after: Option<Duration>) -> Self {
        let handler = tell as extern "C" fn(libc::c_int) as libc::sighandler_t;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
            // SAFETY: the handler only stores to an atomic, which may be done at any point of the
            // program.
            let _before = unsafe { libc::signal(signal, handler) };
        }
        Self { at: after.and_then(|after| Instant::now().checked_add(after)) }
    }

    pub(super) fn is_now(self) -> bool {
        TOLD.load(Ordering::Relaxed) || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// Whether somebody asked for the program to be replaced since this was last asked.
pub(super) fn replaces() -> bool {
    REPLACE.swap(false, Ordering::Relaxed)
}

/// Whether somebody asked for the configuration to be read again since this was last asked.
pub(super) fn reads_again() -> bool {
    READ_AGAIN.swap(false, Ordering::Relaxed)
}
