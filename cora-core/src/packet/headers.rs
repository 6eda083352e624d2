//! The headers of a packet and its metadata, which suffice for most handlers.
//!
//! A handler that takes `&mut Headers` instead of `&mut Packet` cannot access the payload. If all
//! handlers of a program do, a long frame that the NIC forwards crosses to the host as its
//! [head](HEAD) only; the rest waits at the NIC until the head returns.

use core::fmt;

use super::fast_path::FastFrame;
use super::layers::{self, Layers, Version};
use super::parsed::Parsed;
use super::{Meta, Port, Roomy, room};
use crate::bucket::Mark;
use crate::verdict::Reason;
use crate::verdict::reasons::Truncated;

/// Bytes of a frame's head: two cache lines, enough for the headers of every frame that is sent as
/// a head. The longest are TCP over IPv6 with 40 bytes of options: 114.
pub const HEAD: usize = 128;

/// Whether the first [`HEAD`] bytes and the length of a frame give everything but its payload. This
/// needs headers at the usual offsets: a whole packet of IPv4 without options or IPv6 without
/// extensions, with TCP or UDP and no VLAN tag.
pub fn is_told_by_head(frame: &[u8]) -> bool {
    frame.len() > HEAD
        && (FastFrame::parse(frame, frame.len()).is_some()
            || Layers::fast_v6(frame, frame.len()).is_some())
}

/// The headers of one Ethernet frame, parsed, with its metadata.
pub struct Headers<'a> {
    // Invariant, once parsed: the offsets in `parsed` lie within the first `length` bytes of
    // `frame`, which exist. For a head, the offsets of headers lie within its `HEAD` bytes, which
    // exist. The setters write only fields that the parse does not depend on; other changes parse
    // again.
    /// The frame with its tailroom; or its head and nothing else.
    pub(super) frame: &'a mut [u8],
    /// Bytes of the whole frame.
    pub(super) length: usize,
    pub(super) parsed: Parsed,
    time: u64,
    now: u64,
    port: Port,
    mark: Mark,
}

impl<'a> Headers<'a> {
    #[inline(always)]
    pub(super) fn unparsed(frame: Roomy<'a>, meta: Meta) -> Self {
        let Meta { time, now, port, mark } = meta;
        let (frame, length) = frame.into_parts();
        Self { frame, length, parsed: Parsed::Unparsed, time, now, port, mark }
    }
}

impl Headers<'_> {
    /// Parses the frame of an [unparsed](super::Packet::unparsed) packet, on the fast path for most
    /// frames; see [`FastFrame`].
    #[doc(hidden)]
    #[inline(always)]
    pub fn parse(&mut self) {
        if let Some(fast) = FastFrame::parse(self.frame, self.length) {
            self.parsed = Parsed::Fast(fast);
        } else {
            core::hint::cold_path();
            self.parse_any();
        }
    }

    /// Parses a single packet, or one with changes in bytes that the parse depends on. Not inlined:
    /// one copy serves all of these.
    #[doc(hidden)]
    #[inline(never)]
    pub fn parse_again(&mut self) {
        self.parse();
    }

    #[inline(never)]
    pub(super) fn parse_any(&mut self) {
        self.parsed = Parsed::of_any(self.here(), self.length);
    }

    /// The bytes of the frame that are here: the head of a head, otherwise all.
    #[inline]
    pub(super) fn here(&self) -> &[u8] {
        room::first(self.frame, self.length)
    }

    /// The same, mutable.
    #[inline]
    pub(super) fn here_mut(&mut self) -> &mut [u8] {
        room::first_mut(self.frame, self.length)
    }

    /// Whether the frame takes the fast path; see [`FastFrame`].
    #[doc(hidden)]
    #[inline(always)]
    pub const fn takes_fast_path(&self) -> bool {
        matches!(self.parsed, Parsed::Fast(_))
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

    /// The port where the packet came in.
    #[inline]
    pub const fn port(&self) -> Port {
        self.port
    }

    /// The packet's metadata.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn meta(&self) -> Meta {
        Meta { time: self.time, now: self.now, port: self.port, mark: self.mark }
    }

    /// Whether the packet came in at the inside port. Packets from any other port, of which there
    /// may be several, come from outside.
    #[inline]
    pub const fn from_inside(&self) -> bool {
        self.port.0 == Port::INSIDE.0
    }

    /// Whether the Ethernet type is IP, well-formed or not.
    #[inline]
    pub const fn is_ip(&self) -> bool {
        !matches!(self.parsed.version(), Version::NotIp)
    }

    /// Whether the Ethernet type is IPv4, well-formed or not.
    #[inline]
    pub const fn is_ipv4(&self) -> bool {
        matches!(self.parsed.version(), Version::V4)
    }

    /// Whether the Ethernet type is IPv6, well-formed or not.
    #[inline]
    pub const fn is_ipv6(&self) -> bool {
        matches!(self.parsed.version(), Version::V6)
    }

    /// The source Ethernet address.
    #[inline]
    pub fn mac_source(&self) -> Result<[u8; 6], Reason> {
        layers::chunk(self.here(), layers::MAC_SOURCE).copied().ok_or(Truncated)
    }

    /// The destination Ethernet address.
    #[inline]
    pub fn mac_destination(&self) -> Result<[u8; 6], Reason> {
        layers::chunk(self.here(), layers::MAC_DESTINATION).copied().ok_or(Truncated)
    }

    /// The bytes at an offset that the parse found within the frame.
    ///
    /// Zeros otherwise, which the invariant excludes: this avoids a panic path.
    #[inline]
    pub(super) fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        layers::chunk(self.frame, at).copied().unwrap_or([0; N])
    }

    /// The 16-bit number at such an offset.
    #[inline]
    pub(super) fn read_u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.read(at))
    }

    /// Writes bytes at an offset that the parse found within the frame. The parse does not depend
    /// on them.
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.frame.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Formats length, port and flow.
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
