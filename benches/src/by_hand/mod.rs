//! What somebody would write who has one network function to make fast, and no framework: fixed headers,
//! a table of one line per entry, bursts with prefetch.
//!
//! Each does what its example does: the same checks, the same entry per connection, idle times, both
//! directions, IPv4 and IPv6. What is neither TCP nor UDP without options or extensions is left to a slow
//! path, which is there but which the benchmark's traffic does not take.

pub(crate) mod firewall;
pub(crate) mod tuple;

use crate::traffic::FRAME;

/// A loop over frames.
pub(crate) trait ByHand {
    /// Handles a burst of frames that came in at the inside port; gives how many may leave.
    fn burst(&mut self, frames: &mut [[u8; FRAME]]) -> u64;

    /// Copies all frames once, burst by burst, and handles them; gives their number.
    fn replay(&mut self, bytes: &[u8], buffer: &mut [[u8; FRAME]; 32]) -> u64 {
        let (frames, _) = bytes.as_chunks::<FRAME>();
        let mut left = 0;
        for burst in frames.chunks(buffer.len()) {
            let copies = &mut buffer[..burst.len()];
            copies.copy_from_slice(burst);
            left += self.burst(copies);
        }
        assert_eq!(left, frames.len() as u64, "all of it may pass");
        left
    }
}
