//! How far a run is, for somebody who watches: a line on standard error that is written over.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use cora_control::adaptive::Utilisation;

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(200);

/// The line; nothing when nobody watches.
#[derive(Debug)]
pub(crate) struct Progress {
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { next: stderr().is_terminal().then(|| Instant::now() + EVERY), shown: false }
    }

    /// Of a part of a run, which nobody watches by itself.
    pub(crate) const fn silent() -> Self {
        Self { next: None, shown: false }
    }

    /// So many packets came in, and so many left.
    pub(crate) fn tell(&mut self, packets_in: u64, packets_out: u64) {
        self.tell_more(packets_in, packets_out, || None);
    }

    /// The same, and how much both sides have to do.
    pub(crate) fn tell_more(
        &mut self,
        packets_in: u64,
        packets_out: u64,
        utilisation: impl FnOnce() -> Option<Utilisation>,
    ) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + EVERY);
        self.shown = true;
        // A line that can't be shown is no reason to stop.
        let _shown = match utilisation() {
            None => write!(stderr(), "\r{packets_in} packets in, {packets_out} out "),
            Some(utilisation) => {
                write!(stderr(), "\r{packets_in} packets in, {packets_out} out; {utilisation} ")
            }
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _cleared = write!(stderr(), "\r{:100}\r", "");
        }
    }
}
