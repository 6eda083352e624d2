//! The NIC's egress.

use crate::link::message::{Deals, Stamp};
use crate::link::payload::Parking;

/// The egress of packets.
pub trait Wire {
    /// Transmits the packet at the egress port in its stamp.
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]);

    /// The same of a packet that the host handled.
    #[inline]
    fn relay(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.transmit(stamp, frame);
    }

    /// Tells the wire of buckets that move, behind the packets so far.
    fn tell(&mut self, message: Deals<'_>) {
        let _ = message;
    }

    /// Answers the wire's question: behind what was sent so far, nothing is to come of what was in
    /// front of it.
    fn quiet(&mut self, wave: u64) {
        let _ = wave;
    }

    /// The payload buffers for the rest of frames with their head at the host; `None` if frames go
    /// whole.
    #[inline]
    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        None
    }
}
