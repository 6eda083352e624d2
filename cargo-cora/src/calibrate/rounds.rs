//! Rounds: each measurement takes its turn in each, so that a disturbance of the machine disturbs
//! all alike; the median counts.

use std::fmt;

/// The measurements of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    /// Takes measurements, in any order.
    pub(crate) fn new(mut taken: Vec<f64>) -> Self {
        taken.sort_by(f64::total_cmp);
        Self(taken)
    }

    /// The middle one; 0 when nothing was measured.
    pub(crate) fn median(&self) -> f64 {
        self.at(50)
    }

    fn at(&self, percent: usize) -> f64 {
        let place = self.0.len().saturating_sub(1) * percent / 100;
        self.0.get(place).copied().unwrap_or_default()
    }
}

/// As a source tells it: `median of 9, 21.5 to 23.1`, the quarters in the middle.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (short(self.at(25)), short(self.at(75)));
        write!(
            f,
            "{} ns, median of {} rounds, middle half {low} to {high}",
            short(self.median()),
            self.0.len()
        )
    }
}

/// A number with three digits that mean something.
pub(crate) fn short(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let scale = 10_f64.powi(2 - number.abs().log10().floor() as i32);
    (number * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_middle_half_are_told() {
        let times = Times::new(vec![5.0, 1.0, 2.0, 100.0, 3.0]);
        assert!((times.median() - 3.0).abs() < 1e-12);
        assert_eq!(times.to_string(), "3 ns, median of 5 rounds, middle half 2 to 5");
        assert!(Times::new(Vec::new()).median().abs() < 1e-12);
    }

    #[test]
    fn three_digits_are_kept() {
        for (number, kept) in
            [(0.071_23, 0.071_2), (123.456, 123.0), (0.0, 0.0), (98_765.0, 98_800.0)]
        {
            assert!((short(number) - kept).abs() < 1e-9, "{number}");
        }
    }
}
