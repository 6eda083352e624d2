//! Sizes and times of an end.

use crate::frame::{HEADER, LONGEST_CALL};
use crate::pack::{LONGEST_RECORD, RECORD_HEADER};

/// Bytes of Ethernet's header.
const ETHERNET: usize = 14;
/// A call is in one frame, and so is a beginning of each record.
const LEAST_FRAME: usize = HEADER + RECORD_HEADER + LONGEST_CALL;

/// Sizes and times (ns) of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the longest frame, with Ethernet's header: the interface's MTU and 14.
    pub frame: usize,
    /// Frames that may be on their way.
    pub window: u16,
    /// How long an acknowledgement is waited for before the oldest frame goes again. The time
    /// doubles: the first one, and the longest.
    pub patience: (u64, u64),
    /// How long a frame that came may wait for one that says so.
    pub delay: u64,
    /// An end that has nothing else to say says where it stands, so often.
    pub beat: u64,
    /// A peer that was not heard for so long is gone.
    pub lost_after: u64,
}

impl Settings {
    /// The smallest MTU: a call is in one frame.
    pub const LEAST_MTU: usize = LEAST_FRAME - ETHERNET;

    /// For an interface with this MTU.
    pub const fn of_mtu(mtu: usize) -> Self {
        const MICROSECOND: u64 = 1_000;
        const MILLISECOND: u64 = 1_000_000;
        Self {
            frame: mtu + ETHERNET,
            window: 256,
            patience: (2 * MILLISECOND, 100 * MILLISECOND),
            delay: 50 * MICROSECOND,
            beat: 20 * MILLISECOND,
            lost_after: 200 * MILLISECOND,
        }
    }

    /// The same, with values that an end can work with.
    pub(crate) fn checked(self) -> Self {
        let longest = HEADER + usize::from(u16::MAX);
        Self {
            frame: self.frame.clamp(LEAST_FRAME, longest),
            // A record must fit into the window, however it lies in the frames.
            window: self.window.max(4 + (2 * LONGEST_RECORD / LONGEST_CALL) as u16),
            ..self
        }
    }
}
