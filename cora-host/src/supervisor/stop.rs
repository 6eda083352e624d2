//! When a live run ends, and what else signals ask of it.

use std::time::{Duration, Instant};

use crate::signals::{Signal, Signals};

/// The end of a run, and the wishes that came by signals.
#[derive(Debug)]
pub(super) struct Stop {
    signals: Signals,
    at: Option<Instant>,
    told: bool,
    replaces: bool,
    reads_again: bool,
}

impl Stop {
    /// By SIGINT and SIGTERM, or after so long; SIGHUP asks for the program to be replaced, SIGUSR1
    /// for the configuration to be read again. Before this process has any other thread that takes
    /// signals: they are for the one that looks.
    pub(super) fn new(after: Option<Duration>) -> Self {
        let at = after.and_then(|after| Instant::now().checked_add(after));
        Self { signals: Signals::listen(), at, told: false, replaces: false, reads_again: false }
    }

    /// Takes the signals that came. A program that makes place for another one, and `leaves`, takes
    /// those alone that end the run.
    pub(super) fn look(&mut self, leaves: bool) {
        let next = if leaves { Signals::next_end } else { Signals::next };
        while let Some(signal) = next(&self.signals) {
            match signal {
                Signal::End => self.told = true,
                Signal::Replace => self.replaces = true,
                Signal::ReadAgain => self.reads_again = true,
            }
        }
    }

    pub(super) fn is_now(&self) -> bool {
        self.told || self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// Whether somebody asked for the program to be replaced since this was last asked.
    pub(super) const fn replaces(&mut self) -> bool {
        std::mem::replace(&mut self.replaces, false)
    }

    /// Whether somebody asked for the configuration to be read again since this was last asked.
    pub(super) const fn reads_again(&mut self) -> bool {
        std::mem::replace(&mut self.reads_again, false)
    }
}
