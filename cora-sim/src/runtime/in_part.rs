//! Programs with results that outlive kills in part. What a kill must not change is checked;
//! without a kill, the results are those of the host alone.

use super::{Planted, Ran, Runtime};
use crate::apps::crowd::Crowd;
use crate::apps::tickets::Ticketing;
use crate::apps::{SimApp, Variant};
use crate::memory::Supply;
use crate::traffic::Case;

/// Runs a case with hooks of expired entries and up to `kills` kills of a side. Each hook runs
/// once, whatever dies: a ticket that it gives back is in one place at any time. An error describes
/// the violation.
pub fn run_hooked<V: Variant>(case: &Case, seed: u64, kills: u64) -> Result<Ran, String> {
    hooked::<V>(case, seed, kills, None)
}

/// Runs a case with hooks and kills, and with a mistake if one is planted.
pub(super) fn hooked<V: Variant>(
    case: &Case,
    seed: u64,
    kills: u64,
    planted: Option<Planted>,
) -> Result<Ran, String> {
    with_kills(case, seed, kills, planted, Ticketing::<V>::keeps_all)
}

/// Runs a case with states that are read as of a merge and up to `kills` kills of a side. A kill
/// loses a side's counts, but no packet waits for them for ever. An error describes the violation.
pub fn run_merged<V: Variant>(case: &Case, seed: u64, kills: u64) -> Result<Ran, String> {
    with_kills::<Crowd<V>>(case, seed, kills, None, |_, _| Ok(()))
}

/// Runs a case with up to `kills` kills. At its end, `check` gets the program at the NIC and at the
/// host.
fn with_kills<A: SimApp>(
    case: &Case,
    seed: u64,
    kills: u64,
    planted: Option<Planted>,
    check: impl FnOnce(&mut A, &mut A) -> Result<(), String>,
) -> Result<Ran, String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<A>::new(case, seed, &mut supply);
    runtime.kills = kills;
    runtime.plant(planted);
    runtime.host.endanger_copies();
    runtime.run()?;
    let results = runtime.results()?;
    let (nic, host) = (&mut runtime.nic.core.half, &mut runtime.host.half);
    check(nic.engine().app(), host.engine().app())?;
    let faults = runtime.faults;
    if faults.nic_kills + faults.host_kills == 0 {
        results.difference(&case.expected).map_or(Ok(()), Err)?;
    }
    let left: usize = results.frames.values().map(Vec::len).sum();
    let lost = case.packets.len().saturating_sub(left) as u64;
    Ok(Ran { lost, ..runtime.ran() })
}
