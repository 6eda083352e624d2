//! Host cores over throughput for each way to split a program, up to its highest rate.

use super::{Case, Planner};
use crate::optimise::{Baseline, Planned};
use crate::statement::Ask;

/// The curve of one way of splitting.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `None` for Cora's own plan.
    pub baseline: Option<Baseline>,
    /// Rate in million packets a second, and host cores at that rate. Rates rise, up to the last
    /// feasible one.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Name of the baseline, or `Cora`, as in reports.
    pub fn name(&self) -> &'static str {
        self.baseline.map_or("Cora", Baseline::word)
    }
}

/// Number of rates on a curve.
const STEPS: u32 = 16;

/// Curves of Cora and of every baseline. They end at the highest rate that any plan reaches.
pub fn run(planner: &dyn Planner, case: &Case) -> Vec<Series> {
    let cores = case.nic.host.cores.value;
    let most = planner.probe(&Case { ask: Ask::HostCores(cores), ..case.clone() });
    let Ok(most) = most else { return Vec::new() };
    let rates: Vec<f64> =
        (1..=STEPS).map(|step| most.mpps * f64::from(step) / f64::from(STEPS)).collect();
    let points = planner.curve(case, &rates);
    let whose = std::iter::once(None).chain(Baseline::ALL.into_iter().map(Some));
    whose
        .enumerate()
        .map(|(number, baseline)| {
            let points = points.iter().filter_map(|point| {
                let cores = match number.checked_sub(1) {
                    None => point.cora,
                    Some(other) => point.baselines[other],
                };
                Some((point.mpps, cores?))
            });
            Series { baseline, points: points.collect() }
        })
        .collect()
}

/// Cora's rate over the better of state-only and flow-only with the same host cores, less 1.
/// `planned` must be a plan for the highest rate with a number of host cores. `None` for any other
/// plan, and if both baselines carry nothing.
pub fn speed_up(planner: &dyn Planner, case: &Case, planned: &Planned) -> Option<f64> {
    let Ask::HostCores(cores) = planned.ask else { return None };
    let splits = [Baseline::StateOnly, Baseline::FlowOnly];
    let best = splits.map(|split| planner.highest(case, split, cores));
    let best = best.into_iter().fold(0.0, f64::max);
    (best > 0.0).then(|| planned.mpps / best - 1.0)
}
