//! One half's process: started, watched, and started again.

use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::RunError;
use crate::options::RunOptions;

/// Starts in a row that come to nothing before the run is given up, unless the run says otherwise.
const MOST_FAILURES: u16 = 5;

/// A half, and whether it lives.
#[derive(Debug)]
pub(super) struct Half {
    pub(super) name: &'static str,
    child: Option<Child>,
    /// Kept open until an emulator has read it.
    image: Option<OwnedFd>,
    /// How it ended last.
    ended: Option<ExitStatus>,
    beat: u64,
    moved: Instant,
    patience: Duration,
    /// After so many of these in a row the run ends.
    most_failures: u32,
    /// Times that it was started since it last came so far as to work.
    failures: u32,
    /// Times that it was started again.
    pub(super) restarts: u64,
}

impl Half {
    pub(super) fn new(name: &'static str, options: &RunOptions) -> Self {
        Self {
            name,
            child: None,
            image: None,
            ended: None,
            beat: 0,
            moved: Instant::now(),
            patience: options.patience(),
            most_failures: options.restarts.unwrap_or(MOST_FAILURES).into(),
            failures: 0,
            restarts: 0,
        }
    }

    /// It runs from now on.
    pub(super) fn began(&mut self, child: Child, image: Option<OwnedFd>) {
        self.child = Some(child);
        self.image = image;
        self.moved = Instant::now();
    }

    pub(super) const fn is_alive(&self) -> bool {
        self.child.is_some()
    }

    /// It ended in good order.
    pub(super) fn has_finished(&self) -> bool {
        !self.is_alive() && self.ended.is_some_and(|status| status.success())
    }

    /// Notes whether it lives and moves; one that stands still is ended. Whether it died just now.
    pub(super) fn look(&mut self, beat: u64) -> Result<bool, RunError> {
        let Some(child) = &mut self.child else { return Ok(false) };
        let waiting = |cause| RunError::System { what: "waiting for a process", cause };
        let mut ended = child.try_wait().map_err(waiting)?;
        if beat != self.beat {
            self.beat = beat;
            self.moved = Instant::now();
        } else if ended.is_none() && self.moved.elapsed() > self.patience {
            child.kill().map_err(waiting)?;
            ended = Some(child.wait().map_err(waiting)?);
        }
        if ended.is_none() {
            return Ok(false);
        }
        self.ended = ended;
        self.child = None;
        Ok(true)
    }

    /// It works.
    pub(super) const fn works(&mut self) {
        self.failures = 0;
    }

    /// It is about to be started again; an error when that has been in vain too often.
    pub(super) fn again(&mut self) -> Result<(), RunError> {
        self.failures += 1;
        self.restarts += 1;
        if self.failures > self.most_failures {
            let status = self.how_it_ended();
            return Err(RunError::KeepsDying { name: self.name, status, times: self.failures });
        }
        Ok(())
    }

    pub(super) fn how_it_ended(&self) -> String {
        self.ended.map_or_else(|| "never started".to_owned(), |status| status.to_string())
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already; then both say so, and nothing is left to do.
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
}
