//! Handwritten loops for one network function each, without a framework: fixed headers, a table of
//! one line per entry, bursts with prefetch.
//!
//! Each loop equals its example: frames of any length, the same checks (the IPv4 header's checksum
//! among them), the same entry per connection, both directions, IPv4 and IPv6; but one idle time
//! for all states.
//! A slow path handles all packets except TCP and UDP without options or extensions. The
//! benchmark's traffic has none of them.

pub(crate) mod balancer;
pub(crate) mod firewall;
pub(crate) mod heavy_hitter;
pub(crate) mod nat;
mod places;
mod rewrite;
mod sessions;
mod tcp;
mod top;
mod tuple;

use cora_core::prefetch::prefetch;

use crate::traffic::{FRAME, Traffic};

/// Largest number of frames in a burst.
pub(crate) const BURST: usize = 32;
/// Upper bound on the bytes of a burst's frames.
pub(crate) const BUFFER: usize = BURST * 2048;
/// Prefetch distance in bytes of the traffic: a burst of short frames, as in Cora's loop.
const AHEAD: usize = 1920;

/// The port at which frames come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Inside,
    Outside,
}

impl Side {
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }
}

/// A loop over frames.
pub(crate) trait ByHand {
    /// Handles a burst of frames that came in at one port; returns the number that may leave.
    fn burst(&mut self, frames: &mut [&mut [u8]], side: Side) -> u64;

    /// Copies the frames from number `from` on once, burst by burst, and handles them; returns
    /// their number. The buffer has [`BUFFER`] bytes.
    fn replay(&mut self, traffic: &Traffic, from: usize, buffer: &mut [u8]) -> u64 {
        let mut bytes = &traffic.bytes[from * FRAME..];
        let mut left = 0;
        for (burst, side) in traffic.bursts(from, BURST) {
            let mut frames = heapless::Vec::<&mut [u8], BURST>::new();
            let mut room = &mut *buffer;
            for length in burst {
                let (frame, behind) = bytes.split_at(usize::from(*length));
                bytes = behind;
                // A NIC also puts the frames of the next burst into the cache.
                if let Some(ahead) = bytes.get(AHEAD) {
                    prefetch(ahead);
                }
                // The next frame begins at a line.
                let (place, rest) =
                    std::mem::take(&mut room).split_at_mut((frame.len() + 63) & !63);
                room = rest;
                let (copy, _) = place.split_at_mut(frame.len());
                copy.copy_from_slice(frame);
                // A burst has no more frames.
                let _ = frames.push(copy);
            }
            left += self.burst(&mut frames, side);
        }
        assert_eq!(left, traffic.lengths[from..].len() as u64, "all of it may pass");
        left
    }
}

/// Returns whether a frame outside the fast path may pass: ARP, which keeps the link going.
fn is_arp(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&[0x08, 0x06])
}

/// Handles a frame as a burst of one; returns whether it may leave.
#[cfg(test)]
fn passes(by_hand: &mut impl ByHand, frame: &mut [u8], side: Side) -> bool {
    by_hand.burst(&mut [frame], side) == 1
}
