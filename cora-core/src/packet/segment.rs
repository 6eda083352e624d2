//! Rewriting of TCP segments: single fields, or the whole segment.
//!
//! Checksums are updated incrementally (RFC 1624), even if a whole segment is replaced. A damaged
//! segment remains recognisable, and its receiver drops it.

use super::checksum::{self, Change};
use super::layers::{Header, Layers};
use super::resize::NoRoom;
use super::rewrite::V4_CHECKSUM;
use super::tcp::{TcpFlags, TcpHeader};
use super::transport::TCP_HEADER;
use super::{Headers, Packet};
use crate::key::protocol;
use crate::packet::MAX_FRAME;
use crate::verdict::Reason;
use crate::verdict::reasons::{BadTransportLength, NoFlow, TooLong};

/// Offsets of the TCP header's fields.
const SEQ: usize = 4;
const ACK: usize = 8;
const WINDOW: usize = 14;
const SUM: usize = 16;
/// Maximum length of options in bytes: a header has at most 60.
const MOST_OPTIONS: usize = 40;

/// The fields of a segment except its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpSegment<'a> {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; valid with the ACK flag.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, not scaled.
    pub window: u16,
    /// Options: whole words, at most 40 bytes.
    pub options: &'a [u8],
    /// Its payload.
    pub data: &'a [u8],
}

impl TcpSegment<'_> {
    /// The header bytes between ports and checksum.
    fn head(&self) -> [u8; 12] {
        let Self { seq, ack, flags, window, options, .. } = self;
        let words = (TCP_HEADER + options.len()) / 4;
        let ([s0, s1, s2, s3], [a0, a1, a2, a3], [w0, w1]) =
            (seq.to_be_bytes(), ack.to_be_bytes(), window.to_be_bytes());
        [s0, s1, s2, s3, a0, a1, a2, a3, (words << 4) as u8, flags.0, w0, w1]
    }
}

/// Resets that their receivers accept (RFC 9293, 3.10.7). A reset itself is not answered.
impl TcpHeader {
    /// A reset to the receiver of the segment with this header, in its place.
    #[must_use]
    pub const fn reset_onward(&self) -> TcpSegment<'static> {
        reset(self.seq, 0, TcpFlags::RST)
    }

    /// A reset to the sender of the segment with this header.
    #[must_use]
    pub const fn reset_back(&self) -> TcpSegment<'static> {
        if self.flags.ack() {
            return reset(self.ack, 0, TcpFlags::RST);
        }
        // Its sender has nothing acknowledged yet, and takes only a reset that acknowledges all.
        let length = self.payload_len + self.flags.syn() as u32 + self.flags.fin() as u32;
        let flags = TcpFlags(TcpFlags::RST.0 | TcpFlags::ACK.0);
        reset(0, self.seq.wrapping_add(length), flags)
    }
}

const fn reset(seq: u32, ack: u32, flags: TcpFlags) -> TcpSegment<'static> {
    TcpSegment { seq, ack, flags, window: 0, options: &[], data: &[] }
}

impl Headers<'_> {
    /// Sets the sequence number. Like all setters of TCP, it is refused with the reason that
    /// [`flow`](Self::flow) gives, and with `no-flow` if [`tcp`](Self::tcp) is `None`. The packet
    /// is then unchanged.
    #[inline]
    pub fn set_tcp_seq(&mut self, seq: u32) -> Result<(), Reason> {
        self.set_tcp_field(SEQ, &seq.to_be_bytes())
    }

    /// Sets the acknowledgement number.
    #[inline]
    pub fn set_tcp_ack(&mut self, ack: u32) -> Result<(), Reason> {
        self.set_tcp_field(ACK, &ack.to_be_bytes())
    }

    /// Sets the window, not scaled.
    #[inline]
    pub fn set_tcp_window(&mut self, window: u16) -> Result<(), Reason> {
        self.set_tcp_field(WINDOW, &window.to_be_bytes())
    }

    #[inline(never)]
    fn set_tcp_field<const N: usize>(&mut self, place: usize, new: &[u8; N]) -> Result<(), Reason> {
        let at = self.tcp_start()?;
        let change = self.replace(at + place, new);
        self.apply_transport(&self.layers().outer, change);
        Ok(())
    }

    /// Offset of the TCP header, or the reason if there is none.
    pub(super) fn tcp_start(&self) -> Result<usize, Reason> {
        self.parsed.flow_fault().check()?;
        self.tcp_at().ok_or(NoFlow)
    }

    /// Adds `by` to the sequence number of the segment that an ICMP error quotes, and updates all
    /// checksums, as far as they are quoted. Other packets stay unchanged.
    #[inline(never)]
    pub fn shift_quoted_seq(&mut self, by: u32) {
        let Layers { inner, outer, end, .. } = self.layers();
        let at = usize::from(inner.transport) + SEQ;
        let is_there = at + 4 <= end as usize;
        if inner.ip == 0 || inner.protocol != protocol::TCP || !is_there {
            return;
        }
        let seq = u32::from_be_bytes(self.read(at)).wrapping_add(by);
        let change = self.replace(at, &seq.to_be_bytes());
        let all = change.and(self.apply_transport(&inner, change));
        self.apply_transport(&outer, all);
    }
}

impl Packet<'_> {
    /// Replaces the segment by another between the same ports. The urgent pointer becomes zero, the
    /// IP length is updated, and the frame ends with the segment.
    ///
    /// Refused as [`set_tcp_seq`](Headers::set_tcp_seq); with `bad-transport-length` if options are
    /// not whole words or exceed 40 bytes; with [`NoRoom`] if the frame would exceed its tailroom.
    /// The packet is then unchanged.
    #[inline(never)]
    pub fn set_tcp(&mut self, segment: &TcpSegment<'_>) -> Result<(), Reason> {
        let at = self.tcp_start()?;
        let TcpSegment { options, data, .. } = segment;
        if !options.len().is_multiple_of(4) || options.len() > MOST_OPTIONS {
            return Err(BadTransportLength);
        }
        let data_at = at + TCP_HEADER + options.len();
        if data_at + data.len() > MAX_FRAME {
            return Err(TooLong);
        }
        if data_at + data.len() > self.frame.len() {
            return Err(NoRoom);
        }
        let Layers { outer, end, .. } = self.layers();
        let old = self.segment_sum(at, end as usize);
        let old_length = (end as usize).saturating_sub(at);
        self.put(at + SEQ, &segment.head());
        self.put(at + SUM + 2, &[0; 2]);
        self.put_in_place(at + TCP_HEADER, self.length, options);
        self.put_in_place(data_at, self.length, data);
        let length = self.length - at;
        let lengths = Change::of_number(old_length as u16, length as u16);
        let change = Change::of_number(old, self.segment_sum(at, self.length)).and(lengths);
        self.apply_transport(&outer, change);
        self.set_transport_length(&outer, length);
        self.parse_again();
        Ok(())
    }

    /// The contribution of the segment up to `end` to a checksum, without ports and checksum.
    fn segment_sum(&self, at: usize, end: usize) -> u16 {
        let sum = |from, to| !checksum::internet(self.frame.get(from..to).unwrap_or_default());
        // Ones' complement: each part is added as a change from zero.
        let all = Change::of_number(0, sum(at + SEQ, at + SUM))
            .and(Change::of_number(0, sum(at + SUM + 2, end)));
        !all.applied_to(0xffff)
    }

    /// Sets the IP header's length field for a transport of `transport` bytes.
    pub(super) fn set_transport_length(&mut self, header: &Header, transport: usize) {
        let (ip, headers) = (usize::from(header.ip), usize::from(header.transport - header.ip));
        if self.is_ipv4() {
            let change = self.replace(ip + 2, &((headers + transport) as u16).to_be_bytes());
            self.apply(ip + V4_CHECKSUM, change);
        } else {
            // The length field excludes the fixed header of 40 bytes.
            self.replace(ip + 4, &((headers - 40 + transport) as u16).to_be_bytes());
        }
    }
}
