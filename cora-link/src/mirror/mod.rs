//! A region that is in two memories: the host's, and the card's. Each side uses its own as if the
//! other were there. A mirror at each end carries over the records of its side.
//!
//! ```text
//!   host                                                                card
//!   host half ─ back ──→┐                                          ┌──→ back ─ NIC half
//!   wire ─── wire in ──→┤ host's mirror ══ a link ══ card's mirror ├──→ wire in
//!   host half ←─ punt ──┤                                          ├←── punt
//!   wire ←── wire out ──┘                                          └←── wire out
//! ```
//!
//! # Invariants
//!
//! 1. *Rings are equal.* Both memories have rings of the same sizes, and the same records go into
//!    them in the same order. So a record has the same position in both.
//! 2. *Room.* A record leaves a ring only when the peer's consumer has taken it from the ring over
//!    there: then its position comes back (`Word::Took`). So the peer's ring has room for all
//!    records on their way, none waits in between, and no ring holds up another one. Records that a
//!    lost card had not taken stay in the host's rings, and the next card gets them.
//! 3. *Cuts.* A side tells first how much it has taken, and then its answers; *punt* comes before
//!    *wire out*, as a half publishes them. So at the host no packet leaves before the messages
//!    that it rests on are there, and no packet is handed out again that has left.
//! 4. *Generations.* When a host half died, its supervisor makes the next region. The card's mirror
//!    makes its own, and follows when the NIC half has left the old one: all records of that come
//!    before (`Word::Arrived`).
//!
//! There are no payload buffers: the host could not read them if the card's NIC half died. Frames
//! cross whole.
//!
//! | module | content |
//! | --- | --- |
//! | [`hello`] | the host's call: which region it has |
//! | `word` | words between mirrors, besides records |
//! | `rings` | the ends of a region's rings, and cuts of the records on them |
//! | `receives` | how records from the link reach a side |
//! | [`host`] | the host's mirror |
//! | [`card`] | the card's mirror |

pub mod card;
pub mod hello;
pub mod host;
mod receives;
mod rings;
mod word;

use cora_runtime::link::region::AttachError;
use cora_runtime::link::ring::RingError;

use crate::Fault;

pub use card::{CardMirror, Memory, Regions};
pub use hello::{Build, Hello};
pub use host::HostMirror;

/// Why a mirror can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The peer's end of the link did something that no sound one does.
    #[error("the other end of the link broke its protocol: {0:?}")]
    Link(Fault),
    /// The peer's mirror said something senseless.
    #[error("the other end of the link said something senseless: {0}")]
    Nonsense(&'static str),
    /// A ring of this side is broken.
    #[error("a ring of this side is broken: {0}")]
    Ring(RingError),
    /// The region of this side is none.
    #[error("{0}")]
    Region(AttachError),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Link(fault)
    }
}

impl From<RingError> for Broken {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl From<AttachError> for Broken {
    fn from(error: AttachError) -> Self {
        Self::Region(error)
    }
}
