//! The host half of a shard, with the first version of its read-mostly states in force.

use std::path::PathBuf;

use cora_core::app::App;
use cora_core::state::{Kind, RegionMemory};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::region::RegionLayout;

use crate::RunError;
use crate::ingress::versions::Version;
use crate::memory::supply::Supply;
use crate::node::back::{RING_BYTES, RING_BYTES_AT_AGENT};
use crate::options::{NicMode, RunOptions};

/// The layout of a shard's region. It includes payload buffers if the host may get only the heads
/// of frames.
pub fn region_layout<A: App>() -> RegionLayout {
    const LAYOUT: RegionLayout = RegionLayout::known(RING_BYTES);
    if A::HEADS { LAYOUT.with_payloads() } else { LAYOUT }
}

/// The same for a run with these options. Rests of frames stay where the host can read them.
pub(crate) fn layout_of_run<A: App>(options: &RunOptions) -> RegionLayout {
    if options.nic == NicMode::Agent {
        return LAYOUT_AT_AGENT;
    }
    let layout = region_layout::<A>();
    if options.nic.shares_memory() { layout } else { layout.without_payloads() }
}

/// The layout of a region at an agent. Rests of frames stay with the heads.
pub(crate) const LAYOUT_AT_AGENT: RegionLayout = RegionLayout::known(RING_BYTES_AT_AGENT);

/// The host half of a shard, and the numbers of the states to send to its NIC, if it has one. The
/// items of regions are in this memory, or in that of the half.
pub(crate) fn half<A: App>(
    (supply, regions): (Supply, Option<RegionMemory>),
    version: &Version,
    nic: bool,
) -> Result<(HostHalf<A>, Vec<usize>), RunError> {
    let mut app = supply.app_with::<A>(regions, HostHalf::bytes)?;
    let configured = put_in_force(&mut app, version)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, nic);
    Ok((half.map_err(RunError::Memory)?, configured))
}

/// Puts configurations in force; returns the numbers of the states to send to the NIC.
pub fn configure<A: App>(
    app: &mut A,
    configurations: &[(String, PathBuf)],
) -> Result<Vec<usize>, RunError> {
    put_in_force(app, &Version::first(1, configurations)?)
}

fn put_in_force<A: App>(app: &mut A, version: &Version) -> Result<Vec<usize>, RunError> {
    version.put_in_force(app)?;
    // The host sends the NIC all its states of one value: on bare metal they begin as zeroes.
    let mut is_one = |number: &usize| {
        matches!(app.state(*number).kind(), Kind::ReadMostly | Kind::Singleton | Kind::PerBucket)
            && !A::PLACES[*number].1.is_of_host()
    };
    Ok((0..A::STATES).filter(|number| is_one(number)).collect())
}
