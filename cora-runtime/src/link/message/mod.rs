//! Messages: everything that travels on the rings.
//!
//! - *wire in*, host → NIC: `Frame`; [`Deals`]; `Change`, `Piece`…, `Changed`; `Quiet`;
//!   `WireEnd`.
//! - *wire out*, NIC → host: `Frame`, `Send`, [`Deals`], `Quiet`.
//! - *punt*, NIC → host: to a new host `Owned`… and `AllOwned`; `Punt`, [`Ownership`],
//!   [`Durability`], [`Records`], [`Hooks`], [`Merges`], `Load` and `Talker`…, answers of
//!   [`Questions`]; at the end `Drained`, `Piece`…, `Outcome`…, `Report`.
//! - *back*, host → NIC: `Piece`… (configuration), `Begin`; `Send`, `Ended`, [`Ownership`],
//!   [`Merges`], `Watch`, [`Questions`]; `Drained`.
//!
//! One table makes all of them: [`Kind`]. A message is decoded from a private copy. Bytes that
//! don't decode are the peer's fault: the run ends the peer, and goes on.
//!
//! | module | concept |
//! | --- | --- |
//! | `kind`, `asked` | the table |
//! | `protocols` | makes all kinds of the table |
//! | `field` | how fields lie in a record |
//! | `frame` | frames with their stamps, nearly all of the traffic, on a way of their own |
//! | `group` | a flow's group key in messages and replicas |
//! | `stamp` | what accompanies a frame |
//! | `report`, `load` | counts and load of a side |
//! | `answer`, `stay` | answers to an operator, and why a flow is at a side |

// First: the table uses their macros.
#[macro_use]
mod protocols;
#[macro_use]
mod asked;

mod answer;
mod field;
mod frame;
pub(crate) mod group;
mod kind;
mod load;
mod report;
mod stamp;
mod stay;
#[cfg(test)]
mod tests;

pub use answer::{Answer, NO_PLACE, OF_FLOW};
pub use field::{GroupKey, Keys, Label, Name};
pub use kind::{
    Control, Deals, Durability, Frames, Hooks, Kind, Merges, Ownership, Questions, Records,
    Telemetry,
};
pub use load::Load;
pub use report::Report;
pub use stamp::Stamp;
pub use stay::Stay;

use cora_core::state::table::{Ending, Why};

/// Bytes that a message needs beside its frame or piece, at most.
pub const MAX_HEAD: usize = 512;

/// Bytes of buffer that hold every message.
pub const MAX_MESSAGE: usize = cora_core::packet::MAX_FRAME + MAX_HEAD;

/// Keys of a flow that an offer may announce.
pub const MAX_KEYS: usize = 8;

/// A message of any protocol, its variable part borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A frame, or about one.
    Frames(Frames<'a>),
    /// About the owner of a flow.
    Ownership(Ownership<'a>),
    /// About a copy.
    Durability(Durability<'a>),
    /// About an entry that ended.
    Records(Records<'a>),
    /// About an entry whose hook is to run.
    Hooks(Hooks<'a>),
    /// About a merge that handlers read.
    Merges(Merges<'a>),
    /// About a bucket that moves.
    Deals(Deals<'a>),
    /// About the run.
    Control(Control<'a>),
    /// About what was counted.
    Telemetry(Telemetry<'a>),
    /// About what an operator asks.
    Questions(Questions<'a>),
}

impl<'a> Records<'a> {
    /// Tells that an entry of a recorded state ended.
    pub const fn of(state: u16, Ending { why, piece }: Ending<'a>) -> Self {
        match why {
            Why::Expired if piece.is_empty() => Self::Unkept { state },
            Why::Expired => Self::Expired { state, piece },
            Why::Removed => Self::Removed { state, piece },
            Why::Evicted => Self::Evicted { state, piece },
        }
    }

    /// The number of the state and the entry of it that ended.
    pub const fn ending(self) -> (u16, Ending<'a>) {
        let (state, why, piece): (u16, Why, &[u8]) = match self {
            Self::Expired { state, piece } => (state, Why::Expired, piece),
            Self::Removed { state, piece } => (state, Why::Removed, piece),
            Self::Evicted { state, piece } => (state, Why::Evicted, piece),
            Self::Unkept { state } => (state, Why::Expired, &[]),
        };
        (state, Ending { why, piece })
    }
}
