//! Where the packets of a shard come in: at its NIC half, or straight at its host half.
//!
//! A NIC half receives on *wire in*, and what leaves is on *wire out*. A host half that receives
//! packets itself has no NIC half. The wire is in its place, with the NIC's ends of the other two
//! rings: it passes packets and messages on as a NIC that has no state, and takes from *back* what
//! leaves.

use cora_runtime::link::message::{Control, Frames, Kind, Message, Stamp, Telemetry};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::SharedMemory;

/// The half at which the packets of a shard come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entrance {
    Nic,
    Host,
}

impl Entrance {
    /// The rings that the wire writes and reads.
    pub(crate) const fn rings(self, rings: &Rings) -> (SharedMemory, SharedMemory) {
        match self {
            Self::Nic => (rings.wire_in, rings.wire_out),
            Self::Host => (rings.punt, rings.back),
        }
    }

    /// The record of a frame that comes in.
    #[inline]
    pub(crate) const fn frame<'a>(self, stamp: Stamp, frame: &'a [u8]) -> Message<'a> {
        match self {
            Self::Nic => Message::Frames(Frames::Frame { stamp, frame }),
            Self::Host => Message::Frames(Frames::Punt { stamp, frame }),
        }
    }

    /// The kind of that record.
    pub(crate) const fn kind_of_frame(self) -> Kind {
        match self {
            Self::Nic => Kind::Frame,
            Self::Host => Kind::Punt,
        }
    }

    /// The record behind the last frame.
    pub(crate) const fn end(self, now: u64) -> Message<'static> {
        match self {
            Self::Nic => Message::Frames(Frames::WireEnd { now }),
            Self::Host => Message::Control(Control::Drained { now }),
        }
    }

    /// What the wire answers to a record that is no frame; `None` if such a record makes no sense.
    /// A host half tells a NIC its versions and orders, which nobody needs here. Once it has no
    /// packet left, it waits for the NIC's counts.
    pub(crate) fn answer(self, kind: u16) -> Option<Option<Message<'static>>> {
        if self == Self::Nic {
            return None;
        }
        if kind == Kind::Drained {
            return Some(Some(Telemetry::Report { report: Default::default() }.into()));
        }
        let is_for_a_nic = kind == Kind::Begin || kind == Kind::Piece || kind == Kind::Watch;
        is_for_a_nic.then_some(None)
    }
}
