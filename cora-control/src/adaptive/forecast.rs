//! Forecast of a load: Holt's two exponential means, of the load and of its trend, and the mean of
//! their error.

use super::number::fading;

/// Time constants (ns): of the load, of its trend, of their error.
const LEVEL: f64 = 2e6;
const TREND: f64 = 6e6;
const DEVIATION: f64 = 50e6;

/// Forecast of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forecast {
    level: Option<f64>,
    /// Per ns.
    trend: f64,
    deviation: f64,
}

impl Forecast {
    /// Adds the load during this time.
    pub(super) fn add(&mut self, time: f64, load: f64) {
        let Some(level) = self.level else {
            self.level = Some(load);
            return;
        };
        // A time much longer than the trend's constant says nothing of the load under that trend.
        let expected = level + self.trend * time.min(TREND);
        let wrong = load - expected;
        let new = expected + (1.0 - fading(time, LEVEL)) * wrong;
        let trend = (new - level) / time;
        self.trend += (1.0 - fading(time, TREND)) * (trend - self.trend);
        self.deviation += (1.0 - fading(time, DEVIATION)) * (wrong.abs() - self.deviation);
        self.level = Some(new);
    }

    /// Returns the load without chance.
    pub(super) fn level(&self) -> f64 {
        self.level.unwrap_or(0.0)
    }

    /// Returns the load expected in `time` ns. A trend counts as far as it is more than chance.
    pub(super) fn ahead(&self, time: f64) -> f64 {
        let change = self.trend * time;
        let sure = (change.abs() - self.deviation).max(0.0);
        (self.level() + change.signum() * sure).clamp(0.0, 2.0)
    }

    /// Returns the mean error.
    pub(super) const fn deviation(&self) -> f64 {
        self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_seen_before_it_is_there() {
        let mut forecast = Forecast::default();
        for step in 0..60_u32 {
            forecast.add(1e6, 0.2 + 0.01 * f64::from(step));
        }
        let (now, ahead) = (forecast.level(), forecast.ahead(10e6));
        assert!((0.76..0.81).contains(&now), "{now}");
        assert!(ahead > now + 0.05, "{now}, {ahead} ahead");
    }

    #[test]
    fn chance_is_no_trend() {
        let mut forecast = Forecast::default();
        for step in 0..200_u32 {
            forecast.add(1e6, if step % 2 == 0 { 0.4 } else { 0.6 });
        }
        assert!((forecast.ahead(5e6) - 0.5).abs() < 0.1, "{forecast:?}");
        assert!(forecast.deviation() > 0.1, "{forecast:?}");
    }
}
