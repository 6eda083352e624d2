//! One figure: Cora's value, its baseline's value, and the goal.

use serde::Serialize;

use crate::additive::Additive;
use crate::link::Carried;
use crate::turns::Turns;

/// A comparison. `ratio` is above 1 where Cora is better.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) cora: f64,
    pub(crate) baseline: f64,
    pub(crate) baseline_name: &'static str,
    pub(crate) ratio: f64,
    /// The smallest ratio that reaches the goal.
    pub(crate) goal: f64,
    pub(crate) unit: &'static str,
    /// The larger half interquartile range of the two, as a part of the median.
    pub(crate) spread: f64,
    /// The parts of a sum, if it is one.
    #[serde(flatten)]
    pub(crate) additive: Option<Additive>,
    /// What a link carried.
    #[serde(flatten)]
    pub(crate) carried: Option<Carried>,
}

impl Figure {
    /// Makes a figure of times per operation: less is better.
    pub(crate) fn of_times(
        name: String,
        cora: &Turns,
        baseline: &Turns,
        baseline_name: &'static str,
        goal: f64,
    ) -> Self {
        let spread = cora.spread().max(baseline.spread());
        let (cora, baseline) = (cora.median(), baseline.median());
        let ratio = baseline / cora;
        Self {
            name,
            cora,
            baseline,
            baseline_name,
            ratio,
            goal,
            unit: "ns",
            spread,
            additive: None,
            carried: None,
        }
    }

    /// Converts times to microseconds.
    pub(crate) fn in_micros(self) -> Self {
        Self { cora: self.cora / 1e3, baseline: self.baseline / 1e3, unit: "us", ..self }
    }

    /// Converts times to rates: more is better.
    pub(crate) fn into_rates(self) -> Self {
        self.per(1e3, "M/s")
    }

    /// Converts times to rates in thousands a second: more is better.
    pub(crate) fn into_thousands(self) -> Self {
        self.per(1e6, "k/s")
    }

    /// Converts times to numbers in so many nanoseconds.
    fn per(self, ns: f64, unit: &'static str) -> Self {
        Self { cora: ns / self.cora, baseline: ns / self.baseline, unit, ..self }
    }

    /// Makes a figure of counts per operation, which are equal in every turn: less is better.
    pub(crate) fn of_counts(
        name: String,
        cora: f64,
        baseline: f64,
        baseline_name: &'static str,
        unit: &'static str,
        goal: f64,
    ) -> Self {
        let ratio = baseline / cora;
        Self {
            name,
            cora,
            baseline,
            baseline_name,
            ratio,
            goal,
            unit,
            spread: 0.0,
            additive: None,
            carried: None,
        }
    }

    /// Makes a figure of one measurement with an upper limit.
    ///
    /// A difference of two measurements may be 0, or negative by noise: it counts as a thousandth
    /// of the limit.
    pub(crate) fn of_limit(name: String, cora: f64, limit: f64, unit: &'static str) -> Self {
        let ratio = limit / cora.max(limit / 1000.0);
        let baseline_name = "at most";
        Self {
            name,
            cora,
            baseline: limit,
            baseline_name,
            ratio,
            goal: 1.0,
            unit,
            spread: 0.0,
            additive: None,
            carried: None,
        }
    }

    /// Makes a figure of the sizes of two containers with equal contents: less is better.
    #[cfg(dpdk)]
    pub(crate) fn of_sizes(
        name: String,
        cora: f64,
        baseline: f64,
        baseline_name: &'static str,
    ) -> Self {
        let ratio = baseline / cora;
        Self {
            name,
            cora,
            baseline,
            baseline_name,
            ratio,
            goal: 1.0,
            unit: "bytes",
            spread: 0.0,
            additive: None,
            carried: None,
        }
    }

    /// Returns one line: JSON, or text.
    pub(crate) fn line(&self, json: bool) -> String {
        if json {
            return serde_json::to_string(self).unwrap_or_default();
        }
        let Self {
            name, cora, baseline, baseline_name, ratio, goal, unit, spread, carried, ..
        } = self;
        let more = carried.map_or_else(String::new, |carried| carried.line());
        let reached = if ratio >= goal { "reached" } else { "missed" };
        format!(
            "{name:<41} {cora:>8.1} {unit:<6} {baseline_name} {baseline:.1}, ratio {ratio:.2} \
             ± {:.0} %, goal {goal:.2} {reached}{more}",
            spread * 100.0
        )
    }
}

/// Describes the machine of the measurement.
pub(crate) fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{} × {}, {}; ratios above 1: Cora is better",
        count,
        name.map_or("unknown CPU", |(_, name)| name),
        std::env::consts::ARCH,
    )
}
