//! A figure: Cora's rate beside a baseline's in the same run.

use std::fmt;

use serde_json::{Value, json};

/// A comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `wires/FUNCTION/` and `full`, `clean` or `memory`.
    pub name: String,
    /// Millions of frames a second.
    pub cora: f64,
    /// The sender could not send more: Cora's rate is at least this.
    pub sender_limits: bool,
    /// The baseline's millions of frames a second.
    pub baseline: f64,
    /// The baseline's name.
    pub baseline_name: String,
}

impl Figure {
    /// Returns Cora's rate divided by the baseline's, above 1 where Cora is faster.
    pub fn ratio(&self) -> f64 {
        self.cora / self.baseline
    }

    /// Returns it as one line of JSON.
    pub fn to_json(&self) -> Value {
        let round = |number: f64| (number * 1e4).round() / 1e4;
        json!({
            "name": self.name,
            "cora": round(self.cora),
            "sender_limits": self.sender_limits,
            "baseline": round(self.baseline),
            "baseline_name": self.baseline_name,
            "ratio": round(self.ratio()),
            "unit": "Mpps",
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, cora, sender_limits, baseline, baseline_name } = self;
        let mark = if *sender_limits { "≥" } else { " " };
        write!(f, "{name:<34} {mark}{cora:>7.3} Mpps {baseline:>8.3} {:>7.2}  ", self.ratio())?;
        f.write_str(baseline_name)
    }
}

/// The columns of such lines.
pub const HEAD: &str =
    "figure                                 Cora        baseline   ratio  baseline is";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_above_one_says_that_cora_is_faster() {
        let name = "wires/nat/full".to_owned();
        let figure = Figure {
            name,
            cora: 0.5,
            sender_limits: false,
            baseline: 0.25,
            baseline_name: "kernel".to_owned(),
        };
        let json = figure.to_json();
        assert_eq!((json["ratio"].as_f64(), json["unit"].as_str()), (Some(2.0), Some("Mpps")));
        assert!(figure.to_string().contains(" 2.00 "));
    }
}
