//! What somebody would write who has one network function to make fast, and no framework: fixed headers,
//! a table of one line per entry, bursts with prefetch.
//!
//! Each does what its example does: the same checks, the same entry per connection, idle times, both
//! directions, IPv4 and IPv6. What is neither TCP nor UDP without options or extensions is left to a slow
//! path, which the benchmark's traffic does not take.

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

/// Most frames of a burst.
pub(crate) const BURST: usize = 32;

/// Which port frames come in at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Inside,
    Outside,
}

/// A loop over frames.
pub(crate) trait ByHand {
    /// Handles a burst of frames that came in at one port; gives how many may leave.
    fn burst(&mut self, frames: &mut [[u8; FRAME]], side: Side) -> u64;

    /// Copies the frames from number `from` on once, burst by burst, and handles them; gives their number.
    fn replay(&mut self, traffic: &Traffic, from: usize, buffer: &mut [[u8; FRAME]; BURST]) -> u64 {
        let (frames, _) = traffic.bytes[from * FRAME..].as_chunks::<FRAME>();
        let mut left = 0;
        let mut bursts = frames.chunks(buffer.len()).peekable();
        while let Some(burst) = bursts.next() {
            // As a NIC puts the frames of the next burst into the cache.
            bursts.peek().into_iter().copied().flatten().for_each(prefetch);
            let copies = &mut buffer[..burst.len()];
            copies.copy_from_slice(burst);
            left += self.burst(copies, traffic.side);
        }
        assert_eq!(left, frames.len() as u64, "all of it may pass");
        left
    }
}

/// Whether a frame that the fast path does not read may pass: ARP, which keeps the link going.
const fn is_arp(frame: &[u8; FRAME]) -> bool {
    matches!((frame[12], frame[13]), (0x08, 0x06))
}
