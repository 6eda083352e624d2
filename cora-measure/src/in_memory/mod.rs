//! Both halves in this process, joined by a region like that of a run. So they can be measured
//! together, without processes and captures.
//!
//! | module | concept |
//! | --- | --- |
//! | `nic_end` | the NIC's half at its end of the region |
//! | `wire` | frames from memory |
//! | `out` | sink of the NIC's messages and packets |
//! | `patience` | a half waits for the other |
//! | `told` | reports of the host's thread to the NIC's |

mod nic_end;
mod out;
mod patience;
mod told;
mod wire;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cora_core::app::App;
use cora_core::state::RegionMemory;
use cora_host::parts::{Apart, Supply, Worker, configure, region_layout};
use cora_host::{RunError, shared_memory};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::region::{HashSeed, Identity, Region};
use cora_runtime::link::ring::{Consumer, SharedMemory};
use cora_runtime::nic_half::NicHalf;
use rustix::io::Errno;

use crate::cores::Cores;
use crate::traffic::Traffic;

pub(crate) use nic_end::{NicEnd, Untimed};
pub(crate) use out::Out;
pub(crate) use patience::Patience;
pub(crate) use told::Told;
pub(crate) use wire::Wire;

/// The NIC's half with a wire in memory that counts leaving packets.
pub(crate) type CountingNic<'a, A> = NicEnd<A, Wire<'a>, Consumer<SharedMemory>, Out<'a, u64>>;

/// The memory between the sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    /// The region with the rings.
    pub(crate) region: Region,
    /// The items of the host that the NIC may read.
    items: &'static [AtomicU64],
}

impl Between {
    /// What the NIC half may read.
    pub(crate) fn read_only(&self) -> RegionMemory {
        RegionMemory::away(self.items)
    }
}

/// Creates the memory between the sides of this program.
pub(crate) fn between<A: App>(supply: Supply) -> Result<Between, RunError> {
    Ok(Between { region: region::<A>(supply)?, items: items::<A>()? })
}

/// Memory for the items of a program's regions.
fn items<A: App>() -> Result<&'static [AtomicU64], RunError> {
    let failed = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
    // The kernel maps a page at least.
    Ok(shared_memory(A::ITEMS.max(4096)).map_err(failed)?.1)
}

/// The states of a NIC half without a host. What it reads of the host's items is zeroes.
pub(crate) fn states_of_nic<A: App>(supply: Supply) -> Result<A, RunError> {
    let items = if A::ITEMS > 0 { Some(RegionMemory::away(items::<A>()?)) } else { None };
    supply.app_with::<A>(items, NicHalf::bytes)
}

/// Creates an empty region for this program.
fn region<A: App>(supply: Supply) -> Result<Region, RunError> {
    let system = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
    let layout = region_layout::<A>();
    let (_file, words) = shared_memory(layout.bytes()).map_err(system)?;
    // All pages are there, as in a live run.
    words.iter().step_by(512).for_each(|word| word.store(0, Ordering::Relaxed));
    let Supply { seed, resident, .. } = supply;
    let identity = Identity {
        plan: A::PLAN.hash,
        generation: 1,
        seed: HashSeed(seed),
        resident,
        afresh: false,
    };
    Region::create(words, &layout, identity).map_err(RunError::Region)
}

/// Creates the host's half at its end of the region, and tells the NIC to begin.
pub(crate) fn worker<A: App>(
    Between { region, items }: &Between,
    supply: Supply,
    configurations: &[(String, PathBuf)],
) -> Result<Worker<A>, RunError> {
    let items = (A::ITEMS > 0).then(|| RegionMemory::at_home(items, 1));
    let mut app = supply.app_with::<A>(items, HostHalf::bytes)?;
    let configured = configure(&mut app, configurations)?;
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let half = HostHalf::create(app, &mut memory, true).map_err(RunError::Memory)?;
    let mut worker = Worker::new(half, &region.rings());
    worker.begin(&configured, None);
    Ok(worker)
}

/// Creates the NIC's half at its end, with a wire in memory. Packets that leave are counted.
pub(crate) fn nic<'a, A: App>(
    between: &Between,
    supply: Supply,
    traffic: &'a Traffic,
    told: &'a Told,
) -> Result<CountingNic<'a, A>, RunError> {
    let rings = between.region.rings();
    let wire = (Wire::new(traffic), Consumer::new(rings.back));
    NicEnd::new((supply, between), wire, Out::new(&rings, told))
}

/// Runs both sides on a core each, `host` in a thread of its own, until both have ended. The side
/// that ends first tells the other.
pub(crate) fn on_a_core_each<T>(
    host: impl FnOnce(&Told) -> Result<(), RunError> + Send,
    nic: impl FnOnce(&Told) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let cores = Cores::of_this_process();
    let told = Apart::new(Told::default());
    let told = &told.0;
    thread::scope(|scope| {
        let cores = &cores;
        let host = scope.spawn(move || {
            cores.stay_on(1);
            told.begin();
            let served = host(told);
            // The other side would wait for this one in vain.
            told.end();
            served
        });
        cores.stay_on(0);
        let measured = nic(told);
        told.end();
        let served = host.join().unwrap_or(Err(RunError::RingToNic));
        served.and(measured)
    })
}
