//! Overload of a side: two thresholds with a gap between them, lower and further apart as the load
//! gets less steady.

use super::forecast::Forecast;
use super::number::{fading, real};
use super::rates::Step;
use super::settings::Settings;

/// The thresholds go down by this many mean deviations, and by this at most.
const WIDENED: f64 = 1.0;
const MOST: f64 = 0.10;
/// The effect of orders is assumed to be seen after about this time (ns).
const SEEN_AFTER: f64 = 4e6;

/// A forecast exceeds the measured load by this at most.
const STEEPEST: f64 = 0.05;
/// Memory of peaks (ns): the shortest, the longest, and the time constant of its decay.
const SHORTEST: f64 = 5e6;
const LONGEST: f64 = 2_000e6;
const FORGIVEN: f64 = 5_000e6;

/// The pressure on a side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pressure {
    forecast: Forecast,
    ahead: f64,
    /// Part of the time that orders will add, as far as it is not seen yet.
    ordered: f64,
    over: bool,
    high: f64,
    target: f64,
    /// The highest recent need, adjusted by later orders.
    peak: f64,
    /// Memory of peaks (ns).
    memory: f64,
}

impl Pressure {
    /// Adds a step of the side.
    pub(super) fn add(&mut self, step: &Step, settings: &Settings) {
        self.forecast.add(step.time, step.utilisation());
        let margin = (WIDENED * self.forecast.deviation()).min(MOST);
        self.high = settings.high - margin;
        self.target = self.high - settings.gap - margin / 2.0;
        self.ordered *= fading(step.time, SEEN_AFTER);
        let ahead = self.forecast.ahead(real(settings.ahead_ns));
        // A steep trend is capped: the next period shows the rest.
        let ahead = ahead.min(self.forecast.level().max(step.utilisation()) + STEEPEST);
        self.ahead = (ahead + self.ordered).max(0.0);
        self.remember(step.time);
        self.over = if self.over { self.ahead > self.target } else { self.ahead > self.high };
    }

    /// Doubles the memory of peaks at each overload, so that a load that goes up and down moves
    /// fewer flows each time.
    fn remember(&mut self, time: f64) {
        if !self.over && self.ahead > self.high {
            self.memory = (2.0 * self.memory).clamp(SHORTEST, LONGEST);
        } else {
            self.memory *= fading(time, FORGIVEN);
        }
        let kept = fading(time, self.memory.max(SHORTEST));
        self.peak = self.ahead.max(self.ahead + (self.peak - self.ahead) * kept);
    }

    /// Returns whether it is, or soon will be, overloaded. That ends at its target.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Returns the part of its time above its target; negative below.
    pub(super) const fn excess(&self) -> f64 {
        self.ahead - self.target
    }

    /// Returns the part of its time up to its target that it is not expected to need, and did not
    /// need recently.
    pub(super) const fn headroom(&self) -> f64 {
        self.target - self.peak
    }

    /// Returns the part of its time that it will need.
    pub(super) const fn ahead(&self) -> f64 {
        self.ahead
    }

    /// Returns the part of its time that it needs now.
    pub(super) fn level(&self) -> f64 {
        self.forecast.level()
    }

    /// Returns whether it was overloaded in the last seconds.
    pub(super) fn was_over(&self) -> bool {
        self.memory > SHORTEST / 2.0
    }

    /// Returns the distance from its target to overload.
    pub(super) const fn reserve(&self) -> f64 {
        self.high - self.target
    }

    /// Returns the threshold of overload.
    pub(super) const fn high(&self) -> f64 {
        self.high
    }

    /// Notes that orders will add this part of its time.
    pub(super) fn expect(&mut self, part: f64) {
        self.ordered += part;
        self.ahead = (self.ahead + part).max(0.0);
        self.peak = (self.peak + part).max(0.0);
    }
}
