//! The hosts on all links, and their Ethernet addresses.

use cora::prelude::*;

use crate::SECOND;

/// After so long (ns) a silent neighbour is asked again, and after so long it is forgotten.
const STALE: u64 = 60 * SECOND;
const GONE: u64 = 120 * SECOND;
/// Sets of four neighbours: a further one takes the place of the one that was silent for longest.
const SETS: usize = 1_024;

/// A neighbour, by its IP address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Neighbour {
    address: Address,
}

/// The last message of each neighbour, as of the merge.
#[state(commutative, merged)]
pub(crate) struct Neighbours {
    macs: Latest<Neighbour, [u8; 6], SETS>,
}

impl Neighbours {
    /// The neighbour said that it is there.
    pub(crate) fn learn(&mut self, address: Address, mac: [u8; 6], now: u64) {
        self.macs.renew(&Neighbour { address }, mac, now);
    }

    /// The Ethernet address of a neighbour, if it is known, and whether to ask for it: if it is not
    /// known, or silent for long.
    pub(crate) fn resolve(&self, address: Address, now: u64) -> (Option<[u8; 6]>, bool) {
        let Some((mac, said)) = self.macs.get(&Neighbour { address }) else { return (None, true) };
        let age = now.saturating_sub(said);
        ((age < GONE).then_some(mac), age >= STALE)
    }
}
