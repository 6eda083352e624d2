//! Why shared memory is refused, in sentences.

use core::fmt;

use super::layout::{LAYOUT_VERSION, ring_name};

/// Why shared memory is not a region for this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// It is shorter than its header says, or than a header is.
    TooShort {
        /// Bytes that are there.
        has: usize,
        /// Bytes that should be.
        needs: usize,
    },
    /// It does not begin with the magic.
    NotARegion {
        /// What it begins with.
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
        /// The program's.
        program: u64,
    },
    /// A ring does not lie within the region, lies on another, or has an impossible size.
    BadRing {
        /// Which one, in the order of [`RING_NAMES`](super::RING_NAMES).
        ring: usize,
        /// Where it is said to be.
        offset: u64,
        /// How many bytes of data it is said to have.
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
        }
    }
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { has, needs } => {
                write!(f, "the shared region has {has} bytes where it needs {needs}")
            }
            Self::NotARegion { magic } => {
                write!(f, "the shared memory is no Cora region: it begins with {magic:#018x}")
            }
            Self::OtherLayout { region } => write!(
                f,
                "the shared region has layout version {region}, but this program was built with version \
                 {LAYOUT_VERSION}: build both halves with one version of Cora"
            ),
            Self::OtherPlan { region, program } => write!(
                f,
                "the shared region carries plan {region:#018x}, but this program was built for plan \
                 {program:#018x}: build both halves from one source (cargo build --features nic)"
            ),
            Self::BadRing { ring, offset, bytes, region } => {
                f.write_str("the ring ")?;
                // Written as it is: text with a format would be the only one in the NIC half.
                f.write_str(ring_name(ring))?;
                write!(
                    f,
                    " (offset {offset}, {bytes} bytes) does not fit the shared region of {region} bytes"
                )
            }
        }
    }
}

impl core::error::Error for AttachError {}
