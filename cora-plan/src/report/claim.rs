//! The published claim in one table: host cores saved at equal throughput, and speed-up with equal
//! resources, over many programs and traffics.
//!
//! The maxima published for Cora's first version: 94.0 % of the host cores saved, 1.9 times the
//! savings of the baselines, and speed-ups of 44.9 % to 82.3 %. The figures here are predictions of
//! the model.

use super::facts::saved;
use super::numbers::{figure, percent};
use super::table::{Align, columns, markdown};
use crate::optimise::{Baseline, CurvePoint};

/// One program under one traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRow {
    /// Name of the program.
    pub program: String,
    /// Name of the traffic profile.
    pub traffic: String,
    /// The rate for the comparison of host cores, in million packets a second.
    pub mpps: f64,
    /// Host cores of host-only; `None` if it can't carry the rate.
    pub host_only: Option<f64>,
    /// Host cores of the best state-only split.
    pub state_only: Option<f64>,
    /// Host cores of the best flow-only split.
    pub flow_only: Option<f64>,
    /// Host cores of Cora's plan; `None` if no plan carries the rate.
    pub cora: Option<f64>,
    /// Cora's rate over the better of state-only and flow-only with the same host cores, less 1;
    /// `None` if neither carries anything.
    pub speed_up: Option<f64>,
}

impl ClaimRow {
    /// The row of a program at a rate. `speed_up` comes from
    /// [`curve::speed_up`](crate::what_if::curve::speed_up).
    pub fn of(program: &str, traffic: &str, at: &CurvePoint, speed_up: Option<f64>) -> Self {
        let cores = |which| {
            let number = Baseline::ALL.iter().position(|baseline| *baseline == which);
            number.and_then(|number| at.baselines[number])
        };
        Self {
            program: program.to_owned(),
            traffic: traffic.to_owned(),
            mpps: at.mpps,
            host_only: cores(Baseline::HostOnly),
            state_only: cores(Baseline::StateOnly),
            flow_only: cores(Baseline::FlowOnly),
            cora: at.cora,
            speed_up,
        }
    }

    /// Share of host-only's cores that Cora saves.
    pub fn saved(&self) -> Option<f64> {
        saved(self.host_only?, self.cora?)
    }

    /// Host cores of the better of state-only and flow-only.
    pub fn better_split(&self) -> Option<f64> {
        let splits = [self.state_only, self.flow_only].into_iter().flatten();
        splits.min_by(f64::total_cmp)
    }

    /// Host cores of the better split over those of Cora's plan; `None` if Cora needs none.
    pub fn fewer(&self) -> Option<f64> {
        let cora = self.cora.filter(|cora| *cora > 0.0)?;
        self.better_split().map(|split| split / cora)
    }

    /// Cores that Cora saves over those that the better split saves, both of host-only's.
    pub fn saved_ratio(&self) -> Option<f64> {
        let (host, split, cora) = (self.host_only?, self.better_split()?, self.cora?);
        (host - split > 1e-9).then(|| (host - cora) / (host - split))
    }
}

const ALIGN: [Align; 11] = [
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
];

fn cells(rows: &[ClaimRow]) -> Vec<Vec<String>> {
    let head = [
        "program",
        "traffic",
        "Mpps",
        "host-only",
        "state-only",
        "flow-only",
        "Cora",
        "saved",
        "fewer",
        "saves",
        "faster",
    ];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    cells.extend(rows.iter().map(|row| {
        vec![
            row.program.clone(),
            row.traffic.clone(),
            figure(row.mpps),
            or_dash(row.host_only.map(figure)),
            or_dash(row.state_only.map(figure)),
            or_dash(row.flow_only.map(figure)),
            or_dash(row.cora.map(figure)),
            or_dash(row.saved().map(percent)),
            or_dash(row.fewer().map(|ratio| format!("{}×", figure(ratio)))),
            or_dash(row.saved_ratio().map(|ratio| format!("{}×", figure(ratio)))),
            or_dash(row.speed_up.map(percent)),
        ]
    }));
    cells
}

/// Explanations of the columns, and the extremes over all rows.
fn notes(rows: &[ClaimRow]) -> Vec<String> {
    let most = |of: fn(&ClaimRow) -> Option<f64>| rows.iter().filter_map(of).max_by(f64::total_cmp);
    let least =
        |of: fn(&ClaimRow) -> Option<f64>| rows.iter().filter_map(of).min_by(f64::total_cmp);
    let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "none".to_owned());
    let times = |ratio: f64| format!("{}×", figure(ratio));
    vec![
        "Predicted by Cora's model, not measured. Host cores at the same rate. saved: of host-only's cores. fewer: \
         cores of the better of state-only and flow-only over Cora's. saves: cores that Cora saves over those that \
         the better of them saves. faster: the highest rate against the better of them, with the same host cores. \
         A dash: it can't carry the rate, or there is nothing to divide by."
            .to_owned(),
        format!(
            "At most: {} saved (published: 94.0 %), {} the savings of the better split (published: 1.9×). Faster: {} \
             to {} (published: 44.9 % to 82.3 %).",
            or_none(most(ClaimRow::saved).map(percent)),
            or_none(most(ClaimRow::saved_ratio).map(times)),
            or_none(least(|row| row.speed_up).map(percent)),
            or_none(most(|row| row.speed_up).map(percent)),
        ),
    ]
}

/// The table for a terminal.
pub fn text(rows: &[ClaimRow]) -> String {
    let mut out = columns(&ALIGN, &cells(rows)).join("\n");
    out.push('\n');
    for note in notes(rows) {
        out.push('\n');
        out.push_str(&super::table::wrapped(&note, 96, 0));
        out.push('\n');
    }
    out
}

/// The table for a document.
pub fn as_markdown(rows: &[ClaimRow]) -> String {
    format!("{}\n{}\n", markdown(&ALIGN, &cells(rows)), notes(rows).join("\n\n"))
}
