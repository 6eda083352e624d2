//! The process of one half: started, watched, and restarted.
//!
//! A half that dies is restarted at once. If it dies repeatedly, each time before it has worked for
//! [`SETTLED`], it is restarted after a pause that doubles from [`SHORTEST`] to [`LONGEST`], and
//! its deaths are logged at most once per [`TELL_EVERY`].

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::RunError;
use crate::options::RunOptions;
use crate::process::nic_half::{BY_SIGNAL, EXIT_OVER};
use crate::process::sandbox;

/// Default number of failed starts in a row before the run ends.
const MOST_FAILURES: u16 = 5;

/// A half that worked this long is not considered to die repeatedly.
const SETTLED: Duration = Duration::from_millis(250);
/// Number of short lives in a row that are followed by an immediate restart.
const AT_ONCE: u32 = 3;
/// The pauses after that.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// Minimum interval between log lines about the deaths of a half.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Upper bound of the time counted between two checks: the supervisor itself may have been stopped.
const MOST_UNSEEN: Duration = Duration::from_millis(100);
/// The exit status of a half that reported an error ([`fail`](crate::fail)).
const COMPLAINED: i32 = 1;
/// The exit status after a panic that does not abort.
const PANICKED: i32 = 101;

/// A half, alive or not.
#[derive(Debug)]
pub(crate) struct Half {
    pub(crate) name: &'static str,
    child: Option<Child>,
    /// Kept open until an emulator has read it.
    files: Vec<OwnedFd>,
    /// Its last exit status, and the reason, if the supervisor ended it.
    ended: Option<ExitStatus>,
    why: Option<String>,
    /// It ended by its own fault.
    fell: bool,
    /// The packet in its handlers then, counted from 0.
    in_packet: Option<u64>,
    /// It was ended after this time without progress.
    silent_for: Option<Duration>,
    beat: u64,
    looked: Instant,
    /// How long it has been without progress, as far as observed.
    still: Duration,
    /// Maximum number of failures in a row. Without it, a NIC half that has worked is restarted
    /// forever.
    most_failures: Option<u32>,
    /// Number of starts since it last worked.
    failures: u32,
    /// Since when it works.
    works_since: Option<Instant>,
    pub(crate) has_worked: bool,
    /// Number of short lives in a row.
    short_lives: u32,
    /// The earliest time of the next start.
    not_before: Option<Instant>,
    told: Option<Instant>,
    untold: u32,
    /// Number of restarts.
    pub(crate) restarts: u64,
    /// How often it was ended for lack of progress, and for a protocol violation.
    pub(crate) stood_still: u64,
    pub(crate) lied: u64,
}

impl Half {
    pub(super) fn new(name: &'static str, options: &RunOptions) -> Self {
        Self {
            name,
            child: None,
            files: Vec::new(),
            ended: None,
            why: None,
            fell: false,
            in_packet: None,
            silent_for: None,
            beat: 0,
            looked: Instant::now(),
            still: Duration::ZERO,
            most_failures: options.restarts.map(u32::from),
            failures: 0,
            works_since: None,
            has_worked: false,
            short_lives: 0,
            not_before: None,
            told: None,
            untold: 0,
            restarts: 0,
            stood_still: 0,
            lied: 0,
        }
    }

    /// Records the start of its process.
    pub(super) fn began(&mut self, child: Child, files: Vec<OwnedFd>) {
        self.child = Some(child);
        self.files = files;
        self.why = None;
        (self.fell, self.in_packet, self.silent_for) = (false, None, None);
        self.not_before = None;
        (self.looked, self.still) = (Instant::now(), Duration::ZERO);
    }

    pub(crate) const fn is_alive(&self) -> bool {
        self.child.is_some()
    }

    /// Whether it made progress within half its patience.
    pub(crate) fn moves(&self, patience: Duration) -> bool {
        self.is_alive() && self.still <= patience / 2
    }

    /// Whether it ended in good order.
    pub(super) fn has_finished(&self) -> bool {
        !self.is_alive() && self.why.is_none() && self.ended.is_some_and(|status| status.success())
    }

    /// Checks its life and progress; ends it after more than `patience` without progress. Returns
    /// whether it died just now.
    pub(super) fn look(&mut self, beat: u64, patience: Duration) -> Result<bool, RunError> {
        let Some(child) = &mut self.child else { return Ok(false) };
        if let Some(status) = child.try_wait().map_err(waiting)? {
            self.died(status);
            return Ok(true);
        }
        let unseen = self.looked.elapsed();
        self.looked += unseen;
        self.still += unseen.min(MOST_UNSEEN);
        if beat != self.beat {
            self.beat = beat;
            self.still = Duration::ZERO;
        } else if self.still > patience {
            self.stood_still += 1;
            self.end(format!("stood still for {:.1} s and was ended", self.still.as_secs_f64()))?;
            self.fell = true;
            self.silent_for = Some(patience);
            return Ok(true);
        }
        Ok(false)
    }

    /// Records its arrival, which is progress before its first heartbeat. A start may take longer
    /// than the patience with a half that works.
    pub(super) const fn arrived(&mut self) {
        self.still = Duration::ZERO;
    }

    /// Returns whether it died of the packet in its handlers: they panicked, or did not return. A
    /// half killed from outside was in a packet only by chance.
    pub(super) fn fell_in(&mut self, packet: Option<u64>) -> bool {
        self.in_packet = packet.filter(|_| self.fell);
        self.in_packet.is_some()
    }

    /// Whether it was killed from outside, or with its card, or ended by its supervisor because it
    /// broke the protocol.
    pub(super) fn was_killed(&self) -> bool {
        let is_gone = |code: i32| code == i32::from(EXIT_OVER) || code > BY_SIGNAL;
        !self.fell && self.ended.is_some_and(|status| status.code().is_none_or(is_gone))
    }

    /// The error of a run that ends with it; this many packets were on their way.
    pub(super) fn cause(&self, packets: u64) -> RunError {
        let name = self.name;
        if let Some(patience) = self.silent_for {
            return RunError::Silent { name, seconds: patience.as_secs() };
        }
        let status = match self.ended.and_then(|status| status.code()) {
            Some(code) => format!("exit status {code}; its own words stand above"),
            None => self.how_it_ended(),
        };
        RunError::Died { name, status, packets }
    }

    /// Ends it, if it lives, for this reason.
    pub(super) fn end(&mut self, why: String) -> Result<(), RunError> {
        let Some(child) = &mut self.child else { return Ok(()) };
        child.kill().map_err(waiting)?;
        let status = child.wait().map_err(waiting)?;
        self.died(status);
        self.why = Some(why);
        Ok(())
    }

    fn died(&mut self, status: ExitStatus) {
        self.ended = Some(status);
        let fault = status.signal().or_else(|| status.code()?.checked_sub(BY_SIGNAL));
        self.fell = status.code() == Some(PANICKED) || fault.is_some_and(is_of_a_fault);
        self.child = None;
        let settled = self.works_since.take().is_some_and(|since| since.elapsed() >= SETTLED);
        self.short_lives = if settled { 0 } else { self.short_lives + 1 };
        let doublings = self.short_lives.saturating_sub(AT_ONCE);
        let pause = match doublings {
            0 => Duration::ZERO,
            _ => LONGEST.min(SHORTEST * 2_u32.pow((doublings - 1).min(10))),
        };
        self.not_before = Instant::now().checked_add(pause);
    }

    /// Whether the pause before its restart is over.
    pub(super) fn may_begin(&self) -> bool {
        self.not_before.is_none_or(|when| Instant::now() >= when)
    }

    /// Records that it works.
    pub(super) fn works(&mut self) {
        self.failures = 0;
        self.has_worked = true;
        self.works_since.get_or_insert_with(Instant::now);
    }

    /// Records a restart. An error if too many restarts failed, or this one would: it never worked,
    /// and reported the cause.
    pub(super) fn again(&mut self) -> Result<(), RunError> {
        if !self.has_worked && self.ended.and_then(|status| status.code()) == Some(COMPLAINED) {
            return Err(RunError::RefusedToBegin { name: self.name });
        }
        self.restarts += 1;
        self.failures += 1;
        let endless = self.has_worked && self.name == NIC;
        let most = self.most_failures.or((!endless).then_some(MOST_FAILURES.into()));
        if most.is_some_and(|most| self.failures > most) {
            let status = self.how_it_ended();
            return Err(RunError::KeepsDying { name: self.name, status, times: self.failures });
        }
        Ok(())
    }

    /// The log line about its death, if one is due.
    pub(super) fn news(&mut self) -> Option<String> {
        if self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            self.untold += 1;
            return None;
        }
        self.told = Some(Instant::now());
        let before = match std::mem::take(&mut self.untold) {
            0 => String::new(),
            times => format!(", after {times} times more that were not told"),
        };
        Some(format!("the {} process {}{before}", self.name, self.what_became()))
    }

    fn what_became(&self) -> String {
        let what = self.why.clone();
        let what = what.unwrap_or_else(|| format!("ended ({})", self.how_it_ended()));
        match self.in_packet {
            // Counted from 1, as in messages about a capture.
            Some(packet) => {
                let number = packet.saturating_add(1);
                format!("{what}, in a handler of packet {number} of this run")
            }
            None => what,
        }
    }

    pub(super) fn how_it_ended(&self) -> String {
        match (&self.why, self.ended) {
            (Some(why), _) => why.clone(),
            (None, Some(status)) if sandbox::ended(status) => {
                format!("{status}: it made a system call that its filter forbids")
            }
            (None, Some(status)) => status.to_string(),
            (None, None) => "never started".to_owned(),
        }
    }
}

/// Whether this signal results from a process's own fault.
fn is_of_a_fault(signal: i32) -> bool {
    let faults = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE, Signal::TRAP];
    faults.iter().any(|fault| fault.as_raw() == signal)
}

/// The name of the NIC half.
pub(super) const NIC: &str = "NIC";

fn waiting(cause: std::io::Error) -> RunError {
    RunError::System { what: "waiting for a process", cause }
}

impl Drop for Half {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // If it has already ended, both calls return errors, and nothing is left to do.
            let _ended = child.kill();
            let _status = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;
    use crate::options::parser;

    #[test]
    fn a_half_is_started_again_as_often_as_the_run_says() {
        for (line, times) in
            [(&[][..], MOST_FAILURES), (&["--restarts", "2"], 2), (&["--restarts", "0"], 0)]
        {
            let matches = parser().try_get_matches_from(line).expect("options");
            let options = RunOptions::from_arg_matches(&matches).expect("options");
            let mut half = Half::new("host", &options);
            assert!((0..times).all(|_| half.again().is_ok()), "{line:?}");
            let refused = half.again();
            assert!(matches!(refused, Err(RunError::KeepsDying { .. })), "{line:?}: {refused:?}");
            // Once it works, it may die as often again.
            half.works();
            assert_eq!(half.again().is_ok(), times > 0, "{line:?}");
        }
    }

    fn half(name: &'static str) -> Half {
        let matches = parser().try_get_matches_from([""; 0]).expect("no options");
        Half::new(name, &RunOptions::from_arg_matches(&matches).expect("options"))
    }

    fn sleeper() -> Child {
        std::process::Command::new("sleep").arg("60").spawn().expect("it starts")
    }

    #[test]
    fn a_half_that_stands_still_is_ended_and_named() {
        let mut half = half(NIC);
        half.began(sleeper(), Vec::new());
        let patience = Duration::from_millis(60);
        let begun = Instant::now();
        let mut beat = 0;
        while begun.elapsed() < 3 * patience {
            beat += 1;
            assert!(!half.look(beat, patience).expect("it is ours"), "it moves");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(half.moves(patience));
        while !half.look(beat, patience).expect("it is ours") {
            std::thread::sleep(Duration::from_millis(1));
        }
        let news = half.news().expect("the first one is told");
        assert!(news.starts_with("the NIC process stood still for 0.1 s"), "{news}");
        assert!(!half.has_finished() && half.stood_still == 1);
    }

    #[test]
    fn a_slow_start_is_not_held_against_a_half_that_arrived() {
        let mut half = half(NIC);
        half.began(sleeper(), Vec::new());
        let (starting, working) = (Duration::from_mins(1), Duration::from_millis(60));
        let begun = Instant::now();
        while begun.elapsed() < 3 * working {
            assert!(!half.look(0, starting).expect("it is ours"), "it starts");
            std::thread::sleep(Duration::from_millis(1));
        }
        half.arrived();
        assert!(!half.look(0, working).expect("it is ours"), "it beats only later");
    }

    #[test]
    fn a_packet_is_blamed_for_faults_alone() {
        // A panic that aborts, one that does not, a memory fault; killed, ended, refused to begin.
        for (status, packet, falls) in [
            (6, Some(30), true),
            (101 << 8, Some(30), true),
            (11, Some(0), true),
            (6, None, false),
            (9, Some(30), false),
            (15, Some(30), false),
            (1 << 8, Some(30), false),
            // On a card: a panic that aborts, killed, and a card that is gone.
            (134 << 8, Some(30), true),
            (137 << 8, Some(30), false),
            (6 << 8, Some(30), false),
        ] {
            let mut half = half(NIC);
            half.died(ExitStatus::from_raw(status));
            assert_eq!(half.fell_in(packet), falls, "{status} in {packet:?}");
            let news = half.news().expect("the first one is told");
            let named =
                format!("in a handler of packet {} of", packet.map_or(0, |packet| packet + 1));
            assert_eq!(news.contains(&named), falls, "{news}");
        }
    }

    #[test]
    fn who_watches_may_stand_still_itself() {
        let mut half = half(NIC);
        half.began(sleeper(), Vec::new());
        assert!(!half.look(1, Duration::from_millis(150)).expect("it is ours"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!half.look(1, Duration::from_millis(150)).expect("it is ours"), "it was not seen");
    }

    #[test]
    fn a_half_that_keeps_dying_is_started_after_longer_and_longer_pauses() {
        let mut half = half(NIC);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            half.began(sleeper(), Vec::new());
            half.works();
            half.end("was ended by this test".into()).expect("it is ours");
            let left = half.not_before.map(|when| when.saturating_duration_since(Instant::now()));
            pauses.push(left.expect("a time").as_millis() as u64);
            assert_eq!(half.may_begin(), pauses.last() == Some(&0), "{pauses:?}");
        }
        assert_eq!(pauses[..3], [0; 3], "{pauses:?}");
        assert!(pauses[3] <= 10 && pauses[6] > 40 && pauses[11] > 900, "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= 1000), "{pauses:?}");
        assert!(half.news().is_some() && half.news().is_none() && half.news().is_none());
        // After some time of work, it restarts at once.
        half.began(sleeper(), Vec::new());
        half.works_since = Instant::now().checked_sub(SETTLED);
        half.end("again".into()).expect("it is ours");
        assert!(half.may_begin());
        half.told = Instant::now().checked_sub(TELL_EVERY);
        let news = half.news().expect("a second is over");
        assert_eq!(news, "the NIC process again, after 2 times more that were not told");
    }

    #[test]
    fn a_nic_that_worked_once_is_started_for_ever() {
        for (name, lives) in [(NIC, true), ("host", false)] {
            let mut half = half(name);
            half.works();
            let all = (0..100).all(|_| half.again().is_ok());
            assert_eq!(all, lives, "{name}");
        }
    }

    #[test]
    fn a_half_that_refuses_to_begin_is_asked_once() {
        let ended = |status: i32| {
            let mut half = half("host");
            half.ended = Some(ExitStatus::from_raw(status));
            half
        };
        let refused = ended(1 << 8).again();
        assert!(matches!(refused, Err(RunError::RefusedToBegin { .. })), "{refused:?}");
        // Killed, or ended in another way: the next one may work.
        assert!(ended(9).again().is_ok() && ended(5 << 8).again().is_ok());
        let mut half = ended(1 << 8);
        half.works();
        assert!(half.again().is_ok(), "it worked before");
    }
}
