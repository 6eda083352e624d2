//! The end of a live run, and the other requests of signals.

use std::time::{Duration, Instant};

use crate::process::log::{self, Part};
use crate::process::signals::{Signal, Signals};

/// The end of a run, and the requests by signals.
#[derive(Debug)]
pub(crate) struct Stop {
    signals: Signals,
    at: Option<Instant>,
    told: bool,
    replaces: bool,
    reads_again: bool,
}

impl Stop {
    /// Ends the run by SIGINT and SIGTERM, or after this time. SIGHUP requests a replacement of the
    /// program, SIGUSR1 a new reading of the configuration. Must be called before any other thread
    /// takes signals: only the polling one may take them.
    pub(crate) fn new(after: Option<Duration>) -> Self {
        let at = after.and_then(|after| Instant::now().checked_add(after));
        Self { signals: Signals::listen(), at, told: false, replaces: false, reads_again: false }
    }

    /// Takes the pending signals. A program that `leaves` for a successor takes only those that end
    /// the run.
    pub(crate) fn look(&mut self, leaves: bool) {
        let next = if leaves { Signals::next_end } else { Signals::next };
        while let Some(signal) = next(&self.signals) {
            log::note(Part::Control, format_args!("a signal asks: {signal:?}"));
            match signal {
                Signal::End => self.told = true,
                Signal::Replace => self.replaces = true,
                Signal::ReadAgain => self.reads_again = true,
            }
        }
    }

    pub(crate) fn is_now(&self) -> bool {
        self.told || self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// Whether a replacement of the program was requested since the last call.
    pub(crate) const fn replaces(&mut self) -> bool {
        std::mem::replace(&mut self.replaces, false)
    }

    /// Whether a new reading of the configuration was requested since the last call.
    pub(crate) const fn reads_again(&mut self) -> bool {
        std::mem::replace(&mut self.reads_again, false)
    }
}
