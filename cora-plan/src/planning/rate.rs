//! Rates that can be met: the highest for given host cores, and the one nearest to an ask that can't.
//!
//! What a rate needs grows with it, so the border is found by bisection, to a part in ten thousand.

use super::candidate::Candidate;
use super::optimise::Found;
use super::run::best;
use super::{Inputs, PlanningError};
use crate::model::Resource;

/// The lowest rate that is tried, in million packets a second: a packet a second.
pub(super) const LOWEST: f64 = 1e-6;
/// The highest: more than any link carries.
pub(super) const HIGHEST: f64 = 1e4;
const PRECISION: f64 = 1e-4;

/// The highest rate with at most so many host cores, and its plan.
pub(super) fn highest(
    inputs: &Inputs<'_>,
    cores: f64,
) -> Result<(f64, (Candidate, Found)), Vec<PlanningError>> {
    let within = |mpps| {
        best(inputs, mpps).ok().filter(|(_, found)| found.predicted.host_cores <= cores + 1e-9)
    };
    search(LOWEST, HIGHEST, within).ok_or_else(|| {
        let resource = best(inputs, LOWEST).err().unwrap_or(Resource::HostCores);
        vec![PlanningError::OutOfReach { mpps: LOWEST, resource, nearest_mpps: Some(0.0) }]
    })
}

/// The highest rate below `mpps` that some plan handles; 0 when none is low enough. Rounded down to four digits.
pub(super) fn nearest(inputs: &Inputs<'_>, mpps: f64) -> f64 {
    let found = search(LOWEST, mpps, |mpps| best(inputs, mpps).ok());
    // What rounding to four digits may add is taken off before.
    found.map_or(0.0, |(mpps, _)| format!("{:.3e}", mpps * 0.9995).parse().unwrap_or(0.0))
}

/// The highest rate between two that `plan` has a result for, and that result.
pub(super) fn search<T>(
    mut low: f64,
    mut high: f64,
    plan: impl Fn(f64) -> Option<T>,
) -> Option<(f64, T)> {
    let mut best = (low, plan(low)?);
    if let Some(found) = plan(high) {
        return Some((high, found));
    }
    while high / low > 1.0 + PRECISION {
        // Rates span magnitudes: the middle of their logarithms.
        let middle = (low * high).sqrt();
        match plan(middle) {
            Some(found) => {
                best = (middle, found);
                low = middle;
            }
            None => high = middle,
        }
    }
    Some(best)
}
