//! The TCP segment rewritten: its numbers one by one, or the whole of it.
//!
//! Checksums follow from what changed (RFC 1624), also where all of a segment gives way to another:
//! what was damaged on its way stays recognisably damaged, and who gets it drops it.

use super::checksum::{self, Change};
use super::layers::{Header, Layers};
use super::resize::NoRoom;
use super::rewrite::V4_CHECKSUM;
use super::tcp::TcpFlags;
use super::transport::TCP_HEADER;
use super::{Headers, Packet};
use crate::key::protocol;
use crate::packet::MAX_FRAME;
use crate::verdict::Reason;
use crate::verdict::reasons::{BadTransportLength, NoFlow, TooLong};

/// Where the TCP header has its fields.
const SEQ: usize = 4;
const ACK: usize = 8;
const WINDOW: usize = 14;
const SUM: usize = 16;
/// Most bytes of options: a header has 60.
const MOST_OPTIONS: usize = 40;

/// The fields of a segment beside its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpSegment<'a> {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; counts with the flag.
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
    /// The header between ports and checksum.
    fn head(&self) -> [u8; 12] {
        let Self { seq, ack, flags, window, options, .. } = self;
        let words = (TCP_HEADER + options.len()) / 4;
        let ([s0, s1, s2, s3], [a0, a1, a2, a3], [w0, w1]) =
            (seq.to_be_bytes(), ack.to_be_bytes(), window.to_be_bytes());
        [s0, s1, s2, s3, a0, a1, a2, a3, (words << 4) as u8, flags.0, w0, w1]
    }
}

impl Headers<'_> {
    /// Makes this the sequence number. As all setters of TCP, refused with the reason that
    /// [`flow`](Self::flow) gives, and with `no-flow` where [`tcp`](Self::tcp) is `None`; then
    /// nothing has changed.
    #[inline]
    pub fn set_tcp_seq(&mut self, seq: u32) -> Result<(), Reason> {
        self.set_tcp_field(SEQ, &seq.to_be_bytes())
    }

    /// Makes this the acknowledgement number.
    #[inline]
    pub fn set_tcp_ack(&mut self, ack: u32) -> Result<(), Reason> {
        self.set_tcp_field(ACK, &ack.to_be_bytes())
    }

    /// Makes this the window, not scaled.
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

    /// Where the TCP header begins, or why there is none.
    pub(super) fn tcp_start(&self) -> Result<usize, Reason> {
        self.parsed.flow_fault().check()?;
        self.tcp_at().ok_or(NoFlow)
    }

    /// Adds to the sequence number of the segment that an ICMP error quotes, and lets all checksums
    /// follow, as far as they are quoted. Packets of other kinds stay as they are.
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
    /// Puts another segment in the place of this one, between the same ports. The urgent pointer is
    /// zero, the IP packet is as long as it then has to be, and the frame ends with it.
    ///
    /// Refused as [`set_tcp_seq`](Headers::set_tcp_seq); with `bad-transport-length` when options
    /// are not of whole words or more than 40 bytes, [`NoRoom`] when the frame would outgrow its
    /// room; then nothing has changed.
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

    /// The part of a sum that comes from the segment up to `end`, but for ports and checksum.
    fn segment_sum(&self, at: usize, end: usize) -> u16 {
        let sum = |from, to| !checksum::internet(self.frame.get(from..to).unwrap_or_default());
        // Ones' complement: as a change of nothing to both.
        let all = Change::of_number(0, sum(at + SEQ, at + SUM))
            .and(Change::of_number(0, sum(at + SUM + 2, end)));
        !all.applied_to(0xffff)
    }

    /// The length that the IP header says follows from the transport's.
    fn set_transport_length(&mut self, header: &Header, transport: usize) {
        let (ip, headers) = (usize::from(header.ip), usize::from(header.transport - header.ip));
        if self.is_ipv4() {
            let change = self.replace(ip + 2, &((headers + transport) as u16).to_be_bytes());
            self.apply(ip + V4_CHECKSUM, change);
        } else {
            // The fixed header of 40 bytes does not count.
            self.replace(ip + 4, &((headers - 40 + transport) as u16).to_be_bytes());
        }
    }
}
