//! The headers of a packet, and its metadata: all that most handlers ask for.
//!
//! A handler that takes `&mut Headers` in place of `&mut Packet` can't reach what the packet
//! carries. Of a program whose handlers all do, a long frame that the NIC passes on goes to the
//! host as its [head](HEAD) alone; the rest waits at the NIC until the head comes back.

use core::fmt;

use super::layers::{self, Layers, Version};
use super::parsed::Parsed;
use super::plain::PlainFrame;
use super::{Meta, Port, Roomy, room};
use crate::verdict::Reason;
use crate::verdict::reasons::Truncated;

/// Bytes of a frame's head: two lines, which hold the headers of every frame that goes as a head.
/// The longest are those of TCP with all of 40 bytes of options over IPv6: 114.
pub const HEAD: usize = 128;

/// Whether a frame's headers stand where they do in most frames, so that its first [`HEAD`] bytes
/// and its length tell all about it but what it carries: IPv4 without options or IPv6 without
/// extensions, whole, with TCP or UDP, and no VLAN tag.
pub fn is_told_by_head(frame: &[u8]) -> bool {
    frame.len() > HEAD
        && (PlainFrame::parse(frame, frame.len()).is_some()
            || Layers::plain_v6(frame, frame.len()).is_some())
}

/// The headers of one Ethernet frame, parsed, with its metadata.
pub struct Headers<'a> {
    // Invariant, once parsed: the offsets in `parsed` lie within the first `length` bytes of
    // `frame`, and there are as many; or, of a head, those of headers do, and there are `HEAD`. The
    // setters write only fields that the parse does not go by; what changes others parses anew.
    /// The frame, and behind it the room that it may grow into; or its head and nothing else.
    pub(super) frame: &'a mut [u8],
    /// Bytes of the whole frame.
    pub(super) length: usize,
    pub(super) parsed: Parsed,
    time: u64,
    now: u64,
    port: Port,
}

impl<'a> Headers<'a> {
    #[inline(always)]
    pub(super) fn unparsed(frame: Roomy<'a>, meta: Meta) -> Self {
        let Meta { time, now, port } = meta;
        let (frame, length) = frame.into_parts();
        Self { frame, length, parsed: Parsed::Unparsed, time, now, port }
    }
}

impl Headers<'_> {
    /// Parses the frame of an [unparsed](super::Packet::unparsed) packet: the short way if it is as
    /// most are, see [`PlainFrame`].
    #[doc(hidden)]
    #[inline(always)]
    pub fn parse(&mut self) {
        if let Some(plain) = PlainFrame::parse(self.frame, self.length) {
            self.parsed = Parsed::Plain(plain);
        } else {
            core::hint::cold_path();
            self.parse_any();
        }
    }

    /// Likewise, of a packet that comes alone, or whose bytes were changed that the parse goes by:
    /// one copy for all of these.
    #[doc(hidden)]
    #[inline(never)]
    pub fn parse_again(&mut self) {
        self.parse();
    }

    #[inline(never)]
    pub(super) fn parse_any(&mut self) {
        self.parsed = Parsed::of_any(self.here(), self.length);
    }

    /// As much of the frame as is here: of a head the head, otherwise all.
    #[inline]
    pub(super) fn here(&self) -> &[u8] {
        room::first(self.frame, self.length)
    }

    /// The same, to be written to.
    #[inline]
    pub(super) fn here_mut(&mut self) -> &mut [u8] {
        room::first_mut(self.frame, self.length)
    }

    /// Whether the frame is one as most are, see [`PlainFrame`].
    #[doc(hidden)]
    #[inline(always)]
    pub const fn is_plain(&self) -> bool {
        matches!(self.parsed, Parsed::Plain(_))
    }

    /// Bytes of the frame.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a frame's length; no collection")]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// The packet's own time stamp, in nanoseconds.
    #[inline]
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// The run's time, in nanoseconds; never runs backwards.
    #[inline]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Where the packet came in.
    #[inline]
    pub const fn port(&self) -> Port {
        self.port
    }

    /// All that is known of the packet beside its bytes.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn meta(&self) -> Meta {
        Meta { time: self.time, now: self.now, port: self.port }
    }

    /// Whether the packet came in at the inside port.
    #[inline]
    pub const fn from_inside(&self) -> bool {
        self.port.0 == Port::INSIDE.0
    }

    /// Whether the frame says it carries IP, well-formed or not.
    #[inline]
    pub const fn is_ip(&self) -> bool {
        !matches!(self.parsed.version(), Version::NotIp)
    }

    /// Whether the frame says it carries IPv4, well-formed or not.
    #[inline]
    pub const fn is_ipv4(&self) -> bool {
        matches!(self.parsed.version(), Version::V4)
    }

    /// Whether the frame says it carries IPv6, well-formed or not.
    #[inline]
    pub const fn is_ipv6(&self) -> bool {
        matches!(self.parsed.version(), Version::V6)
    }

    /// The Ethernet address that the frame comes from.
    #[inline]
    pub fn mac_source(&self) -> Result<[u8; 6], Reason> {
        layers::chunk(self.here(), layers::MAC_SOURCE).copied().ok_or(Truncated)
    }

    /// The Ethernet address that the frame goes to.
    #[inline]
    pub fn mac_destination(&self) -> Result<[u8; 6], Reason> {
        layers::chunk(self.here(), layers::MAC_DESTINATION).copied().ok_or(Truncated)
    }

    /// The bytes at an offset that the parse found to be within the frame.
    ///
    /// Zeros otherwise, which the invariant excludes: so the compiler has no panic to place.
    #[inline]
    pub(super) fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        layers::chunk(self.frame, at).copied().unwrap_or([0; N])
    }

    /// Likewise for a 16-bit number.
    #[inline]
    pub(super) fn read_u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.read(at))
    }

    /// Writes bytes at an offset that the parse found to be within the frame; they don't change
    /// what the parse goes by.
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.frame.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Its length, its port and its flow, in a few words.
    pub(super) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}({} bytes, port {}, ", self.len(), self.port().0)?;
        match self.flow() {
            Ok(flow) => write!(f, "{flow})"),
            Err(reason) => write!(f, "{reason:?})"),
        }
    }
}

impl fmt::Debug for Headers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("Headers", f)
    }
}
