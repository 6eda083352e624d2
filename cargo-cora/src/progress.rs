//! How far something is, for somebody who watches: a line on a terminal's standard error that is
//! written over.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(100);

/// Takes the line away.
const CLEAR: &str = "\r\x1b[K";

/// The line.
#[derive(Debug)]
pub(crate) struct Progress {
    /// When it changes next; none when nobody watches.
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// One that shows nothing before so much time has passed: what is done by then needs no line.
    pub(crate) fn after(patience: Duration) -> Self {
        let next = stderr().is_terminal().then(|| Instant::now() + patience);
        Self { next, shown: false }
    }

    /// Shows this, unless the line was changed a moment ago.
    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            self.show(&line(), now);
        }
    }

    /// Shows a step that takes its time: at once, and as a line among others where there is no
    /// terminal.
    pub(crate) fn step(&mut self, what: &str) {
        if self.next.is_some() {
            self.show(&format!("{what} …"), Instant::now());
        } else {
            let _shown = writeln!(stderr(), "{what}");
        }
    }

    fn show(&mut self, line: &str, now: Instant) {
        self.next = Some(now + EVERY);
        self.shown = true;
        // A line that can't be shown is no reason to stop.
        let _shown = write!(stderr(), "{CLEAR}{line} ");
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _cleared = write!(stderr(), "{CLEAR}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
