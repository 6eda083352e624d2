//! Predicted and measured side by side.

use std::fmt::Write as _;

use cora_plan::model::Prediction;
use serde_json::{Value, json};

use super::cases::Case;
use super::measure::{Measured, Taken};

/// The goals: the median of all errors, and their 95th percentile.
pub(crate) const GOALS: (f64, f64) = (0.05, 0.15);

/// One case, with the pass of the median error.
pub(crate) struct Row {
    pub(crate) case: Case,
    /// The prediction for the moment of that pass.
    predicted: Prediction,
    taken: Taken,
    /// The largest and the smallest error of the passes.
    errors: (f64, f64),
    /// Undisturbed passes, and all passes.
    passes: (usize, usize),
}

impl Row {
    /// Makes a row from a prediction for each pass; `None` without passes.
    pub(crate) fn of(case: Case, measured: Measured, predicted: Vec<Prediction>) -> Option<Self> {
        let passes = (measured.undisturbed, measured.made);
        let off = |(predicted, taken): &(Prediction, Taken)| error(predicted, taken);
        let mut pairs: Vec<_> = predicted.into_iter().zip(measured.passes).collect();
        pairs.sort_by(|a, b| off(a).total_cmp(&off(b)));
        let errors = (off(pairs.last()?), off(pairs.first()?));
        let (predicted, taken) = pairs.swap_remove(pairs.len() / 2);
        Some(Self { case, predicted, taken, errors, passes })
    }

    /// Returns the error of the prediction, relative to the measurement; positive if the prediction
    /// is too high.
    pub(crate) fn error(&self) -> f64 {
        error(&self.predicted, &self.taken)
    }

    /// Returns the predicted nanoseconds per packet that came in, at the NIC and at the host.
    fn predicted_ns(&self) -> (f64, f64) {
        // At a million packets a second a thousandth of a core is a nanosecond of a packet.
        (self.predicted.nic_cores * 1e3, self.predicted.host_cores * 1e3)
    }

    fn name(&self) -> String {
        let Case { nf, flows, skew, plan } = &self.case;
        format!("{} / {flows} / {} / {}", nf.name, skew.name(), plan.name())
    }

    /// Returns the main cause of a large error: the side that was the bottleneck in the
    /// measurement, and the error of its time.
    fn why(&self) -> String {
        let (nic, host) = self.predicted_ns();
        let (nic_ns, host_ns) = (self.taken.nic_ns(), self.taken.host_ns());
        let (side, predicted, measured) =
            if nic_ns >= host_ns { ("NIC", nic, nic_ns) } else { ("host", host, host_ns) };
        let mut why = format!(
            "the {side} takes {measured:.0} ns of a packet where {predicted:.0} were predicted"
        );
        let (most, least) = self.errors;
        if most - least > GOALS.1 {
            let _ = write!(why, "; passes {:+.0} to {:+.0} %", least * 100.0, most * 100.0);
        }
        if self.taken.moved > GOALS.0 {
            let moved = self.taken.moved * 100.0;
            let _ = write!(why, "; the machine changed by {moved:.0} % meanwhile");
        }
        why
    }

    pub(crate) fn line(&self) -> String {
        let (nic, host) = self.predicted_ns();
        let Taken { moment, .. } = &self.taken;
        let (most, least) = self.errors;
        format!(
            "{:52} {:7.2} {:7.2} {:+6.1} %  nic {nic:5.0} {:5.0}  host {host:5.0} {:5.0}  at nic {:.3} {:.3}  left {:.3}  crossing {:.0} {:.0}  work {:.0}  {:+.0} to {:+.0} %  {}/{}",
            self.name(),
            self.predicted.ceiling_mpps,
            self.taken.mpps(),
            self.error() * 100.0,
            self.taken.nic_ns(),
            self.taken.host_ns(),
            self.predicted.at_nic / 1e3,
            self.taken.at_nic(),
            self.taken.left(),
            moment.crossing.nic_ns,
            moment.crossing.host_ns,
            moment.work_ns,
            least * 100.0,
            most * 100.0,
            self.passes.0,
            self.passes.1,
        )
    }

    fn json(&self) -> Value {
        let (nic, host) = self.predicted_ns();
        json!({
            "nf": self.case.nf.name,
            "flows": self.case.flows,
            "skew": self.case.skew.name(),
            "plan": self.case.plan.name(),
            "unseen": self.case.nf.unseen,
            "predicted_mpps": self.predicted.ceiling_mpps,
            "measured_mpps": self.taken.mpps(),
            "error": self.error().abs(),
            "signed_error": self.error(),
            "errors_of_passes": { "least": self.errors.1, "most": self.errors.0 },
            "bottleneck": self.predicted.bottleneck,
            "predicted_ns": { "nic": nic, "host": host },
            "measured_ns": { "nic": self.taken.nic_ns(), "host": self.taken.host_ns() },
            "at_nic": self.taken.at_nic(),
            "crossing_ns": {
                "nic": self.taken.moment.crossing.nic_ns,
                "host": self.taken.moment.crossing.host_ns,
            },
            "work_ns": self.taken.moment.work_ns,
            "passes": { "undisturbed": self.passes.0, "made": self.passes.1 },
        })
    }
}

fn error(predicted: &Prediction, taken: &Taken) -> f64 {
    predicted.ceiling_mpps / taken.mpps() - 1.0
}

/// Returns the median and the 95th percentile of the errors of some rows.
fn percentiles(rows: &[&Row]) -> Option<(f64, f64)> {
    let mut errors: Vec<f64> = rows.iter().map(|row| row.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = |part: f64| {
        // The nearest rank, from 1.
        let rank = (1..=errors.len()).find(|rank| *rank as f64 >= part * errors.len() as f64)?;
        errors.get(rank - 1).copied()
    };
    Some((at(0.5)?, at(0.95)?))
}

/// Returns all rows as one JSON object.
pub(crate) fn json(rows: &[Row]) -> Value {
    let all: Vec<&Row> = rows.iter().collect();
    let (median, p95) = percentiles(&all).unwrap_or((f64::NAN, f64::NAN));
    json!({
        "cases": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "median_error": median,
        "p95_error": p95,
    })
}

/// Summarises the rows by kind, and lists the outliers.
pub(crate) fn summary(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut say = |name: &str, rows: &mut dyn Iterator<Item = &Row>| {
        let rows: Vec<&Row> = rows.collect();
        if let Some((median, p95)) = percentiles(&rows) {
            let count = rows.len();
            let _ = writeln!(
                text,
                "{name:24} {count:4} cases   median {:5.1} %   95th percentile {:5.1} %",
                median * 100.0,
                p95 * 100.0
            );
        }
    };
    say("all", &mut rows.iter());
    say("the four examples", &mut rows.iter().filter(|row| !row.case.nf.unseen));
    say("the three others", &mut rows.iter().filter(|row| row.case.nf.unseen));
    for plan in super::cases::Plan::ALL {
        say(plan.name(), &mut rows.iter().filter(|row| row.case.plan == plan));
    }
    for flows in super::cases::FLOWS {
        let about = |row: &&Row| (row.case.flows * 2 > flows) && row.case.flows <= flows;
        say(&format!("{flows} flows"), &mut rows.iter().filter(about));
    }
    let outside: Vec<&Row> = rows.iter().filter(|row| row.error().abs() > GOALS.1).collect();
    let _ =
        writeln!(text, "\noutside {:.0} %: {} of {}", GOALS.1 * 100.0, outside.len(), rows.len());
    for row in outside {
        let _ = writeln!(text, "  {} {:+.0} %: {}", row.name(), row.error() * 100.0, row.why());
    }
    text
}
