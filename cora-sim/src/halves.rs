//! Makes halves, each in memory of its own.

use cora_core::migration::{HostHalf, NicHalf};

use crate::apps::SimApp;
use crate::memory::Supply;

/// A host half that owns every flow; without a NIC it handles all packets itself. It must not
/// outlive the supply.
pub(crate) fn host<A: SimApp>(supply: &mut Supply, seed: u64, nic: bool) -> HostHalf<A> {
    let mut app = A::new(&mut supply.lend(A::MEMORY, seed)).expect("memory");
    let mut memory = supply.lend(HostHalf::bytes(&mut app), seed);
    let mut half = HostHalf::create(app, &mut memory, nic).expect("memory");
    half.watch();
    half
}

/// A NIC half that owns no flow, with so many bytes for packets that wait. With `refuses`, its
/// tables refuse entries at random. It must not outlive the supply.
pub(crate) fn nic<A: SimApp>(
    supply: &mut Supply,
    seed: u64,
    hold: usize,
    refuses: Option<u64>,
) -> NicHalf<A> {
    let mut app = A::new(&mut supply.lend(A::MEMORY, seed)).expect("memory");
    if let Some(refuses) = refuses {
        app.refuse(refuses);
    }
    let mut memory = supply.lend(NicHalf::bytes_to_hold(&mut app, hold), seed);
    let mut half = NicHalf::create_to_hold(app, &mut memory, hold).expect("memory");
    half.watch();
    half
}
