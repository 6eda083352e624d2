//! The errors of shared memory, as sentences.

use core::fmt;

use cora_core::sentence::Sentence;

use crate::link::region::layout::LAYOUT_VERSION;

/// The reason to refuse shared memory as a region for this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// It is shorter than its header states, or than a header is.
    TooShort {
        /// Bytes that it has.
        has: usize,
        /// Bytes that it needs.
        needs: usize,
    },
    /// It does not begin with the magic.
    NotARegion {
        /// Its first word.
        magic: u64,
    },
    /// The other side was built with another version of Cora.
    OtherLayout {
        /// The region's layout version.
        region: u64,
    },
    /// The other side was built for another plan.
    OtherPlan {
        /// The region's plan.
        region: u64,
        /// The program's plan.
        program: u64,
    },
    /// It was left behind by a process that ended.
    Stale {
        /// The region's generation.
        region: u64,
        /// The latest generation that this side has seen.
        seen: u64,
    },
    /// A part does not lie within the region, overlaps another one, or has an impossible size. It
    /// is a ring, or the payload buffers, which are laid out as one.
    BadRing {
        /// Its number in [`RING_NAMES`](super::RING_NAMES); the payload buffers follow.
        ring: usize,
        /// Its offset by the header.
        offset: u64,
        /// Its bytes of data by the header.
        bytes: u64,
        /// Bytes of the region.
        region: usize,
    },
}

impl AttachError {
    /// A number for [`NicStatus::Refused`](super::NicStatus::Refused), below 64.
    pub const fn code(&self) -> u32 {
        match self {
            Self::TooShort { .. } => 1,
            Self::NotARegion { .. } => 2,
            Self::OtherLayout { .. } => 3,
            Self::OtherPlan { .. } => 4,
            Self::BadRing { .. } => 5,
            Self::Stale { .. } => 6,
        }
    }
}

impl AttachError {
    /// The error as a sentence.
    pub fn sentence(&self) -> Sentence {
        match *self {
            Self::TooShort { has, needs } => Sentence::new(
                &["the shared region has ", " bytes where it needs ", ""],
                &[has as u64, needs as u64],
            ),
            Self::NotARegion { magic } => Sentence::new(
                &["the shared memory is not a Cora region: it begins with 0x", ""],
                &[magic],
            ),
            Self::OtherLayout { region } => Sentence::new(
                &[
                    "the shared region has layout version ",
                    ", but this program was built with version ",
                    ": build both halves with one version of Cora",
                ],
                &[region, LAYOUT_VERSION],
            ),
            Self::OtherPlan { region, program } => Sentence::new(
                &[
                    "the shared region carries plan 0x",
                    ", but this program was built for plan 0x",
                    ": build both halves from one source (cargo build --features nic)",
                ],
                &[region, program],
            ),
            Self::BadRing { ring, offset, bytes, region } => Sentence::new(
                &[
                    "part ",
                    " of wire-in, wire-out, punt, back and payload buffers (offset ",
                    ", ",
                    " bytes) does not fit the shared region of ",
                    " bytes",
                ],
                &[ring as u64 + 1, offset, bytes, region as u64],
            ),
            Self::Stale { region, seen } => Sentence::new(
                &[
                    "the shared region is of generation ",
                    ", and generation ",
                    " was seen before: attach to the region that the living side made last",
                ],
                &[region, seen],
            ),
        }
    }
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl core::error::Error for AttachError {}
