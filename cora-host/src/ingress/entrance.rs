//! Where the packets of a shard come in: at its NIC half, or straight at its host half.
//!
//! A NIC half receives on *wire in*, and what leaves is on *wire out*. A host half that receives
//! packets itself has no NIC half. The wire is in its place, with the NIC's ends of the other two
//! rings: it passes packets and messages on as a NIC that has no state, and takes from *back* what
//! leaves.

use cora_runtime::link::message::{Control, Frames, Kind, Message, Report, Stamp, Telemetry};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::SharedMemory;

/// The half at which the packets of a shard come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entrance {
    Nic,
    Host,
}

/// What a record is to the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing that matters.
    Nothing,
    /// The host half asks for a NIC's counts.
    Asks,
    /// None that a sound half sends.
    Nonsense,
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
    pub(crate) const fn frame(self, stamp: Stamp, frame: &[u8]) -> Message<'_> {
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

    /// What a record is to the wire that is no frame. A host half tells a NIC its versions and
    /// orders, which nobody needs here. Once it has no packet left, it waits for the NIC's counts.
    pub(crate) fn heard(self, kind: u16) -> Heard {
        let is_for_a_nic = kind == Kind::Begin || kind == Kind::Piece || kind == Kind::Watch;
        match self {
            Self::Host if kind == Kind::Drained => Heard::Asks,
            Self::Host if is_for_a_nic => Heard::Nothing,
            Self::Host | Self::Nic => Heard::Nonsense,
        }
    }

    /// The counts of a NIC that handled nothing.
    pub(crate) fn counts() -> Message<'static> {
        Telemetry::Report { report: Report::default() }.into()
    }
}
