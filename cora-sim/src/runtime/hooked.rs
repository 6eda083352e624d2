//! Hooks of expired entries under kills: each runs once, whatever dies. A ticket that a hook gives
//! back is in one place at any time.

use super::{Planted, Ran, Runtime};
use crate::apps::Variant;
use crate::apps::tickets::Ticketing;
use crate::memory::Supply;
use crate::traffic::Case;

/// Runs a case with up to `kills` kills of a side. Without kills, its results must be those of the
/// host alone. An error describes the violation.
pub fn run_hooked<V: Variant>(case: &Case, seed: u64, kills: u64) -> Result<Ran, String> {
    hooked::<V>(case, seed, kills, None)
}

/// Runs a case with kills, and with a mistake if one is planted.
pub(super) fn hooked<V: Variant>(
    case: &Case,
    seed: u64,
    kills: u64,
    planted: Option<Planted>,
) -> Result<Ran, String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<Ticketing<V>>::new(case, seed, &mut supply);
    runtime.kills = kills;
    runtime.plant(planted);
    runtime.host.endanger_copies();
    runtime.run()?;
    let results = runtime.results()?;
    let (nic, host) = (&mut runtime.nic.core.half, &mut runtime.host.half);
    Ticketing::keeps_all(nic.engine().app(), host.engine().app())?;
    let faults = runtime.faults;
    if faults.nic_kills + faults.host_kills == 0 {
        results.difference(&case.expected).map_or(Ok(()), Err)?;
    }
    let left: usize = results.frames.values().map(Vec::len).sum();
    let lost = case.packets.len().saturating_sub(left) as u64;
    Ok(Ran { lost, ..runtime.ran() })
}
