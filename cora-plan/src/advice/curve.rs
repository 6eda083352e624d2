//! Host cores against throughput: how far each way of splitting goes with how many.

use super::{Case, Planner};
use crate::planning::{Ask, Baseline, Planned};

/// The curve of one way of splitting.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Whose: none for Cora's own plan.
    pub baseline: Option<Baseline>,
    /// Host cores, and the highest rate with them in million packets a second; cores rise.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Whose it is, as reports spell it.
    pub fn name(&self) -> &'static str {
        self.baseline.map_or("Cora", Baseline::word)
    }
}

/// How many host cores are tried.
const STEPS: u32 = 12;

/// Curves of Cora and of every baseline, from no host core to all that the profile has.
pub fn run(planner: &dyn Planner, case: &Case) -> Vec<Series> {
    let most = case.nic.host.cores.value * case.nic.host.busy.value;
    let grid = (0..=STEPS).map(|step| most * f64::from(step) / f64::from(STEPS));
    let planned: Vec<(f64, Planned)> = grid
        .filter_map(|cores| {
            let case = Case { ask: Ask::HostCores(cores), ..case.clone() };
            planner.plan(&case).ok().map(|planned| (cores, planned))
        })
        .collect();
    let cora = planned.iter().map(|(cores, planned)| (*cores, planned.mpps)).collect();
    let mut series = vec![Series { baseline: None, points: cora }];
    series.extend(Baseline::ALL.into_iter().map(|baseline| {
        let points = planned.iter().filter_map(|(cores, planned)| {
            let found = planned.baselines.iter().find(|plan| plan.baseline == baseline)?;
            found.feasible.then_some((*cores, found.predicted.ceiling_mpps))
        });
        Series { baseline: Some(baseline), points: points.collect() }
    }));
    series
}
