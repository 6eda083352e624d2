//! When what is predicted is wrong for long, the plan alone decides for a while.

use super::number::real;
use super::settings::Settings;

/// The longest time that the plan alone decides, in first ones.
const LONGEST: u64 = 32;

/// Whether the controller or the plan decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fallback {
    /// Predictions are wrong since then.
    wrong_since: Option<u64>,
    /// The plan decides until then.
    until: Option<u64>,
    /// For how many first times the plan decided last.
    times: u64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// The controller decides.
    Trusted,
    /// From now on the plan decides, for so many seconds.
    Falls(f64),
    /// The plan decides.
    Plan,
    /// The controller decides again.
    Again,
}

impl Fallback {
    /// Predictions are wrong by this part, on average.
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
