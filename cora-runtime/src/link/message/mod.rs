//! What travels on the rings.
//!
//! | ring | messages |
//! | --- | --- |
//! | wire in, host → NIC | `Frame`, `WireEnd` |
//! | wire out, NIC → host | `Frame` |
//! | punt, NIC → host | `Owned`… + `AllOwned` (to a new host), `Punt`, `Release` + `Entry` or `Same`…, `Copy`, `Erase`, `Expired`, `Removed`, `Evicted`, `Fence`, `Decline`, `Load` + `Talker`…, `Drained`, then `Piece`…, `Outcome`…, `Report` |
//! | back, host → NIC | `Piece`… (configuration), `Begin`, `Send`, `Ended`, `Offer`, `Transfer` + `Entry`…, `Recall`, `MakeRoom`, `Watch`, `Drained` |
//!
//! A message is decoded from a private copy; what does not decode is the peer's fault and ends the
//! run with an error.

mod decode;
mod encode;
mod load;
mod report;
mod stamp;
#[cfg(test)]
mod tests;

pub use decode::offered_keys;
pub use load::Load;
pub use report::Report;
pub use stamp::Stamp;

use cora_core::state::table::{Ending, Why};

use crate::link::region::Parked;

/// Bytes that a message needs beside its frame or piece, at most.
pub const MAX_HEAD: usize = 512;

/// Bytes of buffer that hold every message.
pub const MAX_MESSAGE: usize = cora_core::packet::MAX_FRAME + MAX_HEAD;

/// Keys of a flow that an offer may announce.
pub const MAX_KEYS: usize = 8;

/// A message, its variable part borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A frame on the wire.
    Frame(Stamp, &'a [u8]),
    /// The wire has no more frames; the time of its last one, which may have come to another NIC
    /// core.
    WireEnd(u64),
    /// A packet for the host to handle; of a long one maybe the head alone, as its stamp says.
    Punt(Stamp, &'a [u8]),
    /// The NIC gives up a flow: this many entries follow.
    Release {
        /// How many punts the flow has had, this one included.
        punts: u32,
        /// Entries that follow.
        entries: u32,
        /// The flow's group key, encoded.
        group: &'a [u8],
    },
    /// An entry of the flow that the latest `Release` or `Transfer` is about; without bytes, if it
    /// expired meanwhile.
    Entry(u16, &'a [u8]),
    /// All packets of the offered flow that came before stand before this on the ring.
    Fence(u32),
    /// The NIC does not take the offered flow.
    Decline(u32),
    /// The host offers a flow to the NIC: its group key, encoded, and further keys that find it.
    Offer {
        /// What the answers refer to.
        ticket: u32,
        /// How many punts the flow has had.
        punts: u32,
        /// The group key, encoded.
        group: &'a [u8],
        /// Words of the keys that find the flow, eight bytes each, five to a key.
        keys: &'a [u8],
    },
    /// The host hands the offered flow over: this many entries follow.
    Transfer {
        /// The offer's ticket.
        ticket: u32,
        /// Entries that follow.
        entries: u32,
    },
    /// The host keeps the offered flow: it changed meanwhile.
    Withdraw(u32),
    /// A packet that the host handled, for the wire. If the host got its head alone, so does the
    /// NIC.
    Send(Stamp, &'a [u8]),
    /// Nothing of this side is on its way any more.
    Drained(u64),
    /// Part of a state: configuration at the start, contents at the end; between frames on the
    /// wire, part of a change, between two [marks](Self::MARK). The NIC passes those on to the
    /// host.
    Piece(u16, &'a [u8]),
    /// A count of outcomes of one name.
    Outcome(u64, &'a [u8]),
    /// What the NIC counted.
    Report(Report),
    /// The host is ready: the NIC may read the wire.
    Begin,
    /// The host wants a flow back: its group key, encoded. The NIC answers with `Release` if it
    /// owns the flow, and not at all otherwise.
    Recall(&'a [u8]),
    /// The host has flows that earn more than those which nobody used for so many nanoseconds of
    /// packet time: one of them should come back. The NIC answers with `Release` if it has any, and
    /// not at all otherwise.
    MakeRoom(u64),
    /// The NIC should tell its load every so many nanoseconds of its clock.
    Watch(u64),
    /// What the NIC has seen and done so far: so many `Talker` follow.
    Load(Load),
    /// One of the flows with most packets at the NIC.
    Talker {
        /// Its sampled packets, at most.
        count: u32,
        /// By how many that may be too high.
        error: u32,
        /// Its group key, encoded.
        group: &'a [u8],
    },
    /// An entry of a durable state that the NIC owns is this now.
    Copy {
        /// The state's number.
        state: u16,
        /// The group key of its flow, encoded.
        group: &'a [u8],
        /// The whole entry.
        piece: &'a [u8],
    },
    /// A durable entry that the NIC owned is no more: its state and key.
    Erase(u16, &'a [u8]),
    /// In place of `Entry`: the durable entry is as its copy says.
    Same {
        /// The state's number.
        state: u16,
        /// When a packet last found it.
        used: u64,
        /// Its key, encoded.
        key: &'a [u8],
    },
    /// To a host that was started anew: the NIC owns the flow with this group key.
    Owned(&'a [u8]),
    /// It owns none beside those, so many in all.
    AllOwned(u64),
    /// An entry of a recorded state expired at the NIC: this is what it was. Without bytes, there
    /// was no room to keep it.
    Expired(u16, &'a [u8]),
    /// A packet took an entry of a recorded state out at the NIC: this is what it was.
    Removed(u16, &'a [u8]),
    /// An entry of a recorded state made room for another one at the NIC: here it is, whole.
    Evicted(u16, &'a [u8]),
    /// A packet whose head the host got ends there: nobody wants the rest of its frame any more.
    Ended(Parked),
}

impl<'a> Message<'a> {
    /// The frame that this carries, and its stamp. Nearly all messages carry one: their payload is
    /// [`Stamp::words`] and the frame.
    #[inline(always)]
    pub const fn stamped(&self) -> Option<(&Stamp, &'a [u8])> {
        match self {
            Self::Frame(stamp, frame) | Self::Punt(stamp, frame) | Self::Send(stamp, frame) => {
                Some((stamp, frame))
            }
            _ => None,
        }
    }

    /// That an entry of a recorded state ended.
    pub const fn ended(state: u16, Ending { why, piece }: Ending<'a>) -> Self {
        match why {
            Why::Expired => Self::Expired(state, piece),
            Why::Removed => Self::Removed(state, piece),
            Why::Evicted => Self::Evicted(state, piece),
        }
    }

    /// The entry of a recorded state that ended at the NIC, and its state's number, if this tells
    /// of one.
    pub const fn ending(&self) -> Option<(u16, Ending<'a>)> {
        match *self {
            Self::Expired(state, piece) => Some((state, Ending { why: Why::Expired, piece })),
            Self::Removed(state, piece) => Some((state, Ending { why: Why::Removed, piece })),
            Self::Evicted(state, piece) => Some((state, Ending { why: Why::Evicted, piece })),
            _ => None,
        }
    }
}

impl Message<'_> {
    /// The kind of [`Self::Frame`].
    pub const FRAME: u16 = 1;
    /// The kind of [`Self::WireEnd`].
    pub const WIRE_END: u16 = 2;
    /// The kind of [`Self::Punt`].
    pub const PUNT: u16 = 3;
    /// The kind of [`Self::Entry`].
    pub const ENTRY: u16 = 5;
    /// The kind of [`Self::Send`].
    pub const SEND: u16 = 11;
    /// The kind of [`Self::Piece`].
    pub const PIECE: u16 = 13;
    /// In place of a state's number in [`Self::Piece`]: what follows or what came is a change of
    /// read-mostly states, whole. Its number stands there (4 bytes), at the end how many pieces it
    /// has, too (4 bytes).
    pub const MARK: u16 = u16::MAX;

    /// The kind in the record's header.
    #[must_use]
    pub const fn kind(&self) -> u16 {
        match self {
            Self::Frame(..) => 1,
            Self::WireEnd(_) => 2,
            Self::Punt(..) => 3,
            Self::Release { .. } => 4,
            Self::Entry(..) => 5,
            Self::Fence(_) => 6,
            Self::Decline(_) => 7,
            Self::Offer { .. } => 8,
            Self::Transfer { .. } => 9,
            Self::Withdraw(_) => 10,
            Self::Send(..) => 11,
            Self::Drained(_) => 12,
            Self::Piece(..) => 13,
            Self::Outcome(..) => 14,
            Self::Report(_) => 15,
            Self::Begin => 16,
            Self::Recall(_) => 17,
            Self::Load(_) => 18,
            Self::Talker { .. } => 19,
            Self::Watch(_) => 20,
            Self::Copy { .. } => 24,
            Self::Erase(..) => 25,
            Self::Same { .. } => 26,
            Self::Owned(_) => 27,
            Self::AllOwned(_) => 28,
            Self::Expired(..) => 29,
            Self::Removed(..) => 30,
            Self::MakeRoom(_) => 31,
            Self::Ended(_) => 32,
            Self::Evicted(..) => 33,
        }
    }
}
