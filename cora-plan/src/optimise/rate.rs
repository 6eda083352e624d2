//! Feasible rates: the highest for given host cores, and the one nearest to an infeasible ask.
//!
//! Resource use grows with the rate, so bisection finds the limit, to one part in ten thousand.

use super::allocation::Found;
use super::candidate::{Candidate, all};
use super::run::{best, of_candidate, out_of_reach};
use super::short::Short;
use super::{Inputs, PlanningError};
use crate::model::Resource;

/// The lowest rate tried, in million packets a second: one packet a second.
pub(super) const LOWEST: f64 = 1e-6;
/// The highest rate tried: more than any link carries.
pub(super) const HIGHEST: f64 = 1e4;
const PRECISION: f64 = 1e-4;

/// The highest rate with at most `cores` host cores, and its plan.
pub(super) fn highest(
    inputs: &Inputs<'_>,
    cores: f64,
) -> Result<(f64, (Candidate, Found)), Vec<PlanningError>> {
    let within = |found: &Found| found.predicted.host_cores <= cores + 1e-9;
    search_of_any(inputs, HIGHEST, within).ok_or_else(|| {
        let short = best(inputs, all(inputs), LOWEST).err();
        let short = short.unwrap_or(Short { resource: Resource::HostCores, cause: None });
        vec![out_of_reach(short, LOWEST, Some(0.0))]
    })
}

/// The highest feasible rate below `mpps`; 0 if there is none. Rounded down to four digits.
pub(super) fn nearest(inputs: &Inputs<'_>, mpps: f64) -> f64 {
    let found = search_of_any(inputs, mpps, |_| true);
    // Subtracts in advance the maximum that rounding to four digits may add.
    found.map_or(0.0, |(mpps, _)| format!("{:.3e}", mpps * 0.9995).parse().unwrap_or(0.0))
}

/// The highest rate up to `high` with a good plan of any candidate, and the best plan there.
///
/// Candidates are searched in turn, and most need a single probe: a candidate that fails just above
/// another's highest rate reaches no more. One-sided candidates come first, because their search is
/// small.
fn search_of_any(
    inputs: &Inputs<'_>,
    high: f64,
    good: impl Fn(&Found) -> bool,
) -> Option<(f64, (Candidate, Found))> {
    let candidates = all(inputs);
    let mut border: Option<Border> = None;
    for candidate in candidates.iter().rev() {
        let good = |mpps| of_candidate(inputs, candidate, mpps).is_ok_and(|found| good(&found));
        let before = border.as_ref().map_or(0.0, |border| border.above);
        if before.is_infinite() || (before > 0.0 && !good(before)) {
            continue;
        }
        border = search(LOWEST, high, |mpps| mpps <= before || good(mpps)).or(border);
    }
    let mpps = border?.below;
    Some((mpps, best(inputs, candidates, mpps).ok()?))
}

/// A feasible rate, and an infeasible one close above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Border {
    pub(super) below: f64,
    above: f64,
}

/// The highest good rate between two, if the lower one is good. The steps depend only on the
/// results.
pub(super) fn search(mut low: f64, mut high: f64, good: impl Fn(f64) -> bool) -> Option<Border> {
    if !good(low) {
        return None;
    }
    if good(high) {
        return Some(Border { below: high, above: f64::INFINITY });
    }
    while high / low > 1.0 + PRECISION {
        // Rates span magnitudes, so this is the geometric mean.
        let middle = (low * high).sqrt();
        *(if good(middle) { &mut low } else { &mut high }) = middle;
    }
    Some(Border { below: low, above: high })
}
