//! Packets that a handler sends besides the one that it handles: a reset to both ends, an ICMP
//! error, a copy for an analyser.
//!
//! They are part of the handled packet's transaction. If it punts, nothing was sent, and its other
//! side sends them. Otherwise they leave before it, in the order of the calls.

use core::fmt;

use crate::packet::{MAX_FRAME, Packet, Port};
use crate::state::{Memory, OutOfMemory, bytes_for};
use crate::verdict::Reason;
use crate::verdict::reasons::TooLong;

/// The handler has sent as many packets, or as many bytes, as it may for one packet.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(OutboxFull)`")]
pub const OutboxFull: Reason = Reason::new("outbox-full");

/// Maximum number of packets that are sent for one packet, by all handlers of the chain.
const MOST: usize = 8;
/// Bytes of memory for them: a copy of the longest frame, and some short ones.
const BYTES: usize = MAX_FRAME.next_multiple_of(64) + 16_384;

/// One packet to be sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    port: Port,
    from: usize,
    to: usize,
}

/// The packets that handlers send besides the one that they handle.
///
/// A handler takes it as `out: &mut Outbox`, at any place behind the packet.
///
/// ```
/// # use cora_core::outbox::Outbox;
/// # use cora_core::packet::Packet;
/// # use cora_core::verdict::{Drop, Reason, Verdict};
/// # const REFUSED: Reason = Reason::new("refused");
/// /// Resets the connection at both ends.
/// fn reset(packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
///     let port = packet.port();
///     // … make it a reset to its destination
///     out.send(packet, port.opposite())?;
///     packet.turn_back()?;
///     out.send(packet, port)?;
///     Drop(REFUSED)
/// }
/// ```
#[derive(Default)]
pub struct Outbox {
    memory: &'static mut [u64],
    sent: heapless::Vec<Sent, MOST>,
}

impl Outbox {
    /// Bytes of [`Memory`] that one with room takes.
    pub const BYTES: usize = bytes_for::<u64>(BYTES / 8);

    /// Without room, for programs that send nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self { memory: &mut [], sent: heapless::Vec::new() }
    }

    /// With room, in `memory`.
    pub fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { memory: memory.take_u64(BYTES / 8)?, sent: heapless::Vec::new() })
    }

    /// Sends a copy of the packet, as it is now, at this port. The packet itself goes on as the
    /// verdict says.
    ///
    /// Refused with [`OutboxFull`] beyond eight packets or 80 KB for one packet.
    pub fn send(&mut self, packet: &Packet<'_>, port: Port) -> Result<(), Reason> {
        self.send_frame(packet.frame(), port)
    }

    /// Sends these bytes as a frame at this port; refused as [`Self::send`], or with `too-long`
    /// beyond [`MAX_FRAME`] bytes.
    pub fn send_frame(&mut self, frame: &[u8], port: Port) -> Result<(), Reason> {
        if frame.len() > MAX_FRAME {
            return Err(TooLong);
        }
        let from = self.sent.last().map_or(0, |last| last.to.next_multiple_of(8));
        let to = from + frame.len();
        let bytes = zerocopy::IntoBytes::as_mut_bytes(&mut *self.memory);
        let place = bytes.get_mut(from..to).filter(|_| !self.sent.is_full()).ok_or(OutboxFull)?;
        place.copy_from_slice(frame);
        let _ = self.sent.push(Sent { port: port.in_seven_bits(), from, to });
        Ok(())
    }

    /// Number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether nothing was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Visits the packets in order.
    pub fn each(&self, mut visit: impl FnMut(Port, &[u8])) {
        let bytes = zerocopy::IntoBytes::as_bytes(&*self.memory);
        for Sent { port, from, to } in &self.sent {
            visit(*port, bytes.get(*from..*to).unwrap_or_default());
        }
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.sent.clear();
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("sent", &self.sent).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::memory_for_tests;

    fn frames(out: &Outbox) -> Vec<(u8, Vec<u8>)> {
        let mut all = Vec::new();
        out.each(|port, frame| all.push((port.0, frame.to_vec())));
        all
    }

    #[test]
    fn packets_are_kept_in_order_and_within_bounds() {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        for number in 0..MOST as u8 {
            out.send_frame(&[number; 61], Port(number)).unwrap();
        }
        assert_eq!(out.send_frame(&[0], Port(0)), Err(OutboxFull));
        assert_eq!(frames(&out)[7], (7, vec![7; 61]));
        assert_eq!(out.len(), MOST);
        out.clear();
        out.send_frame(&vec![1; MAX_FRAME], Port(1)).unwrap();
        assert_eq!(out.send_frame(&vec![2; MAX_FRAME], Port(1)), Err(OutboxFull));
        out.send_frame(&[3; 1500], Port(0)).unwrap();
        assert_eq!(out.send_frame(&vec![4; MAX_FRAME + 1], Port(0)), Err(TooLong));
        assert_eq!(frames(&out), [(1, vec![1; MAX_FRAME]), (0, vec![3; 1500])]);
    }

    #[test]
    fn a_port_beyond_seven_bits_is_none_that_a_run_has() {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        for port in [0x7f, 0x80, 0xff] {
            out.send_frame(&[0; 61], Port(port)).unwrap();
        }
        assert!(frames(&out).iter().all(|(port, _)| *port == 0x7f));
    }

    #[test]
    fn without_room_nothing_is_sent() {
        let mut out = Outbox::none();
        assert_eq!(out.send_frame(&[1], Port(0)), Err(OutboxFull));
        assert!(out.is_empty());
    }
}
