//! Host cores over the rate, for Cora and every baseline.

use super::baseline::one;
use super::candidate::all;
use super::run::best;
use super::{Baseline, Inputs};

/// Host cores at one rate; `None` if the rate is out of reach.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// Million packets a second.
    pub mpps: f64,
    /// Cora's plan.
    pub cora: Option<f64>,
    /// The baselines, in the order of [`Baseline::ALL`].
    pub baselines: [Option<f64>; 5],
}

/// Points at these rates.
pub fn curve(inputs: &Inputs<'_>, rates: &[f64]) -> Vec<CurvePoint> {
    rates
        .iter()
        .map(|mpps| CurvePoint {
            mpps: *mpps,
            cora: best(inputs, all(inputs), *mpps)
                .ok()
                .map(|(_, found)| found.predicted.host_cores),
            baselines: Baseline::ALL.map(|baseline| {
                let plan = one(inputs, baseline, *mpps);
                plan.feasible.then_some(plan.predicted.host_cores)
            }),
        })
        .collect()
}
