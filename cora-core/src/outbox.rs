//! Packets that a handler sends besides the one that it handles: a reset to both ends, an ICMP
//! error, a copy for an analyser.
//!
//! They are part of the handled packet's transaction. If it punts, nothing was sent, and its other
//! side sends them. Otherwise they leave before it, in the order of the calls.

use core::fmt;

use crate::packet::{MAX_FRAME, Packet, Port};
use crate::state::{Memory, OutOfMemory, bytes_for};
use crate::verdict::Reason;
use crate::verdict::reasons::{NoFlow, TooLong};

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
/// # use cora_core::packet::{Packet, Port};
/// # use cora_core::verdict::{Transmit, Verdict};
/// /// An analyser at port 2 gets a copy of each packet.
/// fn mirror(packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
///     out.send(packet, Port(2))?;
///     Transmit
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

    /// Sends a reset to both ends of the packet's TCP connection: one that goes on in the packet's
    /// place, and one that goes back to its sender. For a packet that nobody answers, a reset for
    /// instance, or one to a group, the second or both are left out. The packet is changed
    /// meanwhile: drop it.
    ///
    /// Refused with `no-flow` if the packet is not of TCP, and as [`Self::send`].
    pub fn reset_both(&mut self, packet: &mut Packet<'_>) -> Result<(), Reason> {
        let tcp = packet.tcp().ok_or(NoFlow)?;
        if tcp.flags.rst() {
            return Ok(());
        }
        let port = packet.port();
        packet.set_tcp(&tcp.reset_onward())?;
        self.send(packet, port.opposite())?;
        if packet.turn_back().is_err() {
            return Ok(());
        }
        packet.set_tcp(&tcp.reset_back())?;
        self.send(packet, port)
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
    use crate::packet::{Meta, TcpFlags, checksum};
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

    /// A TCP segment from 10.0.0.1:5000 to 192.0.2.1:80, or to a group.
    fn segment(flags: TcpFlags, last: u8, data: &[u8]) -> Vec<u8> {
        let total = (40 + data.len()) as u16;
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
        frame.extend_from_slice(&total.to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, last, 0, 2, 1]);
        let sum = checksum::internet(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(&[0x13, 0x88, 0, 80, 0, 0, 0, 100, 0, 0, 0, 200, 0x50, flags.0]);
        frame.extend_from_slice(&[0x10, 0, 0, 0, 0, 0]);
        frame.extend_from_slice(data);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// What [`Outbox::reset_both`] sends for a segment: ports, and fields of the segment.
    fn resets(flags: TcpFlags, last: u8, data: &[u8]) -> Vec<(u8, u16, u32, u32, TcpFlags)> {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        let mut frame = segment(flags, last, data);
        let meta = Meta { port: Port::INSIDE, ..Meta::default() };
        out.reset_both(&mut Packet::new(&mut frame, meta)).unwrap();
        let read = |(port, mut frame): (u8, Vec<u8>)| {
            let packet = Packet::new(&mut frame, Meta::default());
            let tcp = packet.tcp().unwrap();
            assert_eq!((tcp.payload_len, tcp.window), (0, 0));
            (port, tcp.destination_port, tcp.seq, tcp.ack, tcp.flags)
        };
        frames(&out).into_iter().map(read).collect()
    }

    #[test]
    fn both_ends_accept_their_resets() {
        let (rst, ack) = (TcpFlags::RST, TcpFlags::ACK);
        assert_eq!(resets(ack, 192, b"data"), [(1, 80, 100, 0, rst), (0, 5000, 200, 0, rst)]);
        let syn = TcpFlags::SYN;
        assert_eq!(resets(syn, 192, b""), [(1, 80, 100, 0, rst), (0, 5000, 0, 101, rst | ack)]);
        let fin = TcpFlags::FIN;
        assert_eq!(resets(fin, 192, b"ab"), [(1, 80, 100, 0, rst), (0, 5000, 0, 103, rst | ack)]);
        assert_eq!(resets(rst, 192, b""), [], "nobody answers a reset");
        assert_eq!(resets(ack, 224, b""), [(1, 80, 100, 0, rst)], "nobody answers a group");
    }

    #[test]
    fn only_connections_are_reset() {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        let mut frame = vec![0; 60];
        assert_eq!(out.reset_both(&mut Packet::new(&mut frame, Meta::default())), Err(NoFlow));
        assert!(out.is_empty());
    }
}
