//! Progress of a run for a user at a terminal. On a capture it is a line on standard error that is
//! overwritten; live it is a periodic line of the log.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use cora_control::adaptive::Utilisation;

use crate::process::log::{self, Part};

/// Update period of the line.
const EVERY: Duration = Duration::from_millis(200);

/// Period of a live run's lines.
const LIVE_EVERY: Duration = Duration::from_secs(3);

/// The progress line; disabled without a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { next: stderr().is_terminal().then(|| Instant::now() + EVERY), shown: false }
    }

    /// Updates the counters of input and output packets.
    pub(crate) fn tell(&mut self, packets_in: u64, packets_out: u64) {
        self.tell_more(packets_in, packets_out, || None);
    }

    /// The same with the utilisation of both sides.
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
        // A failed write of the line is no reason to stop.
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

/// The lines of a live run; disabled without a terminal.
#[derive(Debug)]
pub(crate) struct Telling {
    next: Option<Instant>,
    every: Duration,
    /// Input and output counters at the last line.
    before: (u64, u64),
}

impl Telling {
    pub(crate) fn begin() -> Self {
        Self::by(stderr().is_terminal(), LIVE_EVERY)
    }

    fn by(is_watched: bool, every: Duration) -> Self {
        Self { next: is_watched.then(|| Instant::now() + every), every, before: (0, 0) }
    }

    /// Reports the frames that came, left, or were dropped because no half took them, and whether
    /// both halves work.
    pub(crate) fn tell(&mut self, came: u64, left: u64, dropped: u64, works: bool) {
        if let Some(line) = self.line(came, left, dropped, works) {
            log::info(Part::Run, line);
        }
    }

    fn line(&mut self, came: u64, left: u64, dropped: u64, works: bool) -> Option<String> {
        let now = Instant::now();
        self.next.filter(|next| now >= *next)?;
        self.next = Some(now + self.every);
        let (came_before, left_before) = std::mem::replace(&mut self.before, (came, left));
        let (more, gone) = (came - came_before, left - left_before);
        let dropped = match dropped {
            0 => String::new(),
            dropped => format!(", {dropped} dropped as nic-away"),
        };
        let away = if works { "" } else { "; a half is away" };
        Some(format!("{came} frames came (+{more}), {left} left (+{gone}){dropped}{away}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_run_says_how_far_it_is_to_whoever_watches() {
        let mut telling = Telling::by(true, Duration::ZERO);
        assert_eq!(telling.line(7, 5, 0, true).as_deref(), Some("7 frames came (+7), 5 left (+5)"));
        assert_eq!(
            telling.line(9, 6, 1, false).as_deref(),
            Some("9 frames came (+2), 6 left (+1), 1 dropped as nic-away; a half is away")
        );
        telling.every = Duration::from_hours(1);
        assert!(telling.line(9, 6, 1, true).is_some() && telling.line(9, 6, 1, true).is_none());
        assert_eq!(Telling::by(false, Duration::ZERO).line(7, 5, 0, true), None);
    }
}
