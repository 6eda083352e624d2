//! Fallback: after a long time of wrong predictions, the plan alone decides for a while.

use super::number::real;
use super::settings::Settings;

/// Longest time of the plan's decisions, in multiples of the first.
const LONGEST: u64 = 32;

/// State of the fallback.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fallback {
    /// Time since which predictions are wrong.
    wrong_since: Option<u64>,
    /// Time until which the plan decides.
    until: Option<u64>,
    /// Time of the plan's last decisions, in multiples of the first.
    times: u64,
}

/// The result of a judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// The controller decides.
    Trusted,
    /// The plan decides from now on, for this many seconds.
    Falls(f64),
    /// The plan decides.
    Plan,
    /// The controller decides again.
    Again,
}

impl Fallback {
    /// Judges predictions with this mean relative error.
    pub(super) fn judge(&mut self, now: u64, wrong: f64, settings: &Settings) -> State {
        if let Some(until) = self.until {
            if now < until {
                return State::Plan;
            }
            self.until = None;
            self.wrong_since = None;
            return State::Again;
        }
        if wrong <= settings.wrong {
            self.wrong_since = None;
            return State::Trusted;
        }
        let since = *self.wrong_since.get_or_insert(now);
        if now.saturating_sub(since) < settings.patience_ns {
            return State::Trusted;
        }
        self.times = (self.times * 2).clamp(1, LONGEST);
        let pause = settings.retry_ns.saturating_mul(self.times);
        self.until = Some(now.saturating_add(pause));
        State::Falls(real(pause) / 1e9)
    }
}
