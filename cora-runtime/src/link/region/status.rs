//! The status of the NIC half, in the region's header.

/// The status of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicStatus {
    /// It was started and has not reported yet.
    Starting,
    /// It is attached and its states are made.
    Ready,
    /// It handles packets.
    Running,
    /// It was told to end, and did.
    Done,
    /// It can't run: [`AttachError::code`](super::AttachError::code), or a code of the runtime's
    /// own from 64 on.
    Refused(u32),
}

impl NicStatus {
    /// The status as a word.
    pub const fn encode(self) -> u64 {
        match self {
            Self::Starting => 1,
            Self::Ready => 2,
            Self::Running => 3,
            Self::Done => 4,
            Self::Refused(code) => (code as u64) << 32 | 5,
        }
    }

    /// The status with this word; `None` if it is none's.
    pub const fn decode(word: u64) -> Option<Self> {
        match word {
            1 => Some(Self::Starting),
            2 => Some(Self::Ready),
            3 => Some(Self::Running),
            4 => Some(Self::Done),
            _ if word as u32 == 5 => Some(Self::Refused((word >> 32) as u32)),
            _ => None,
        }
    }
}
