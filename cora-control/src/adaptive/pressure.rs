//! Whether a side has too much to do: two bounds with a distance between them, lower and further
//! apart as the load gets less steady.

use super::forecast::Forecast;
use super::number::{fading, real};
use super::rates::Step;
use super::settings::Settings;

/// The bounds go down by so many mean deviations, and by this at most.
const WIDENED: f64 = 1.0;
const MOST: f64 = 0.10;
/// What orders are expected to do is believed to be seen after about this time (ns).
const SEEN_AFTER: f64 = 4e6;

/// A forecast goes so far beyond what is seen at most.
const STEEPEST: f64 = 0.05;
/// How long peaks are remembered (ns), at least and at most, and how long it takes to forget that
/// they were many.
const SHORTEST: f64 = 5e6;
const LONGEST: f64 = 2_000e6;
const FORGIVEN: f64 = 5_000e6;

/// A side's pressure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pressure {
    forecast: Forecast,
    ahead: f64,
    /// The part of the time that orders will add, as far as it is not seen yet.
    ordered: f64,
    over: bool,
    high: f64,
    target: f64,
    /// The highest need of late, as it would be with what was ordered since.
    peak: f64,
    /// How long peaks are remembered (ns).
    memory: f64,
}

impl Pressure {
    /// A side did this.
    pub(super) fn add(&mut self, step: &Step, settings: &Settings) {
        self.forecast.add(step.time, step.utilisation());
        let margin = (WIDENED * self.forecast.deviation()).min(MOST);
        self.high = settings.high - margin;
        self.target = self.high - settings.gap - margin / 2.0;
        self.ordered *= fading(step.time, SEEN_AFTER);
        let ahead = self.forecast.ahead(real(settings.ahead_ns));
        // However steep it is: what is beyond is seen in the next period.
        let ahead = ahead.min(self.forecast.level().max(step.utilisation()) + STEEPEST);
        self.ahead = (ahead + self.ordered).max(0.0);
        self.remember(step.time);
        self.over = if self.over { self.ahead > self.target } else { self.ahead > self.high };
    }

    /// Peaks are remembered twice as long each time that it gets overloaded, so that a load which
    /// goes up and down makes flows move less each time.
    fn remember(&mut self, time: f64) {
        if !self.over && self.ahead > self.high {
            self.memory = (2.0 * self.memory).clamp(SHORTEST, LONGEST);
        } else {
            self.memory *= fading(time, FORGIVEN);
        }
        let kept = fading(time, self.memory.max(SHORTEST));
        self.peak = self.ahead.max(self.ahead + (self.peak - self.ahead) * kept);
    }

    /// Whether it is, or soon will be, overloaded; no more when it has come down to its target.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// The part of its time by which it is above its target; negative when it is below.
    pub(super) const fn excess(&self) -> f64 {
        self.ahead - self.target
    }

    /// The part of its time that it may have beside what it is expected to have, or had not long
    /// ago.
    pub(super) const fn headroom(&self) -> f64 {
        self.target - self.peak
    }

    /// The part of its time that it will need.
    pub(super) const fn ahead(&self) -> f64 {
        self.ahead
    }

    /// The part of its time that it needs now.
    pub(super) fn level(&self) -> f64 {
        self.forecast.level()
    }

    /// Whether it was overloaded in the last seconds.
    pub(super) fn was_over(&self) -> bool {
        self.memory > SHORTEST / 2.0
    }

    /// How far its need may go beyond its target before it is overloaded.
    pub(super) const fn reserve(&self) -> f64 {
        self.high - self.target
    }

    /// Above this it is overloaded.
    pub(super) const fn high(&self) -> f64 {
        self.high
    }

    /// Orders will add this part of its time.
    pub(super) fn expect(&mut self, part: f64) {
        self.ordered += part;
        self.ahead = (self.ahead + part).max(0.0);
        self.peak = (self.peak + part).max(0.0);
    }
}
