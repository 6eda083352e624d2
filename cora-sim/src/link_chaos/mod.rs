//! The link between host and card under faults: seeded simulations of `cora-link`.
//!
//! ```
//! let (ends, region) = (cora_sim::link_chaos::one(2), cora_sim::link_chaos::one(3));
//! assert!(ends.is_ok() && region.is_ok(), "{ends:?} {region:?}");
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | `network` | a network with faults |
//! | [`ends`] | two ends with records |
//! | [`region`] | a region in two memories, and all that uses it |
//! | [`fates`] | fates of a region, and the conditions that must hold then |
//! | [`mistakes`] | mistakes of mirrors, made in their place |
//! | `host` | the wire and a host half |
//! | `nic` | a NIC half, in turn with the rest or in a thread of its own |
//! | `numbered` | the records on the rings |
//! | `lent` | memory for regions |
//! | `tally` | counts |
//! | `many` | one seed after another |

pub mod ends;
pub mod fates;
mod host;
mod lent;
mod many;
pub mod mistakes;
mod network;
mod nic;
mod numbered;
pub mod region;
mod tally;

use cora_link::Addresses;

pub use many::{Summary, many};
pub use network::Done;
pub use tally::Tally;

use crate::chaos::caught;
use region::Case;

pub const HOST: Addresses = Addresses { own: [2, 0, 0, 0, 0, 1], peer: [2, 0, 0, 0, 0, 2] };
pub const CARD: Addresses = Addresses { own: HOST.peer, peer: HOST.own };

/// Whether the simulation of a seed is of two ends.
const fn is_of_ends(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Runs the simulation of a seed: two ends if it is even, else a region.
///
/// In one of 32 regions the NIC half is in a thread of its own: then the seed does not determine
/// everything. Returns anything that is wrong, also a panic, as an error.
pub fn one(seed: u64) -> Result<Tally, String> {
    if is_of_ends(seed) {
        return caught(|| ends::run(seed)).map_err(|what| format!("two ends: {what}"));
    }
    let case = Case { is_apart: seed % 64 == 33, ..Case::of(seed) };
    let how = if case.is_apart { ", with a NIC half that a seed does not determine" } else { "" };
    caught(|| fates::run(case)).map_err(|what| format!("a region{how}: {what}"))
}
