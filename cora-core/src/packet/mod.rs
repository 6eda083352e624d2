//! A frame, its headers and its metadata: what a handler reads and rewrites.
//!
//! [`Packet::new`] parses once, into offsets; getters read at those offsets and setters keep every
//! checksum right. A frame that does not parse still is a packet: what can't be known about it is
//! an `Err` with the reason, which a handler passes on with `?`.
//!
//! What is read, layer by layer:
//!
//! | layer | rule |
//! | --- | --- |
//! | Ethernet II | up to four VLAN tags (0x8100, 0x88a8, 0x9100), which are no part of the flow; bytes behind the IP packet are padding |
//! | IPv4 | the header checksum must be right (RFC 1812, 5.2.2); of options, only a source route is read |
//! | IPv6 | up to eight extension headers; an atomic fragment (RFC 6946) is no fragment; an IPv4-mapped address is refused, since it would name an IPv4 flow |
//! | TCP, UDP, SCTP | ports |
//! | ICMP, ICMPv6 | the identifier of a query; the packet that an error quotes |
//!
//! A length that reaches past the end of the frame is [`Truncated`]; what else can be wrong has a name in
//! [`reasons`](crate::verdict::reasons). Checksums of transports are not judged: a forwarder keeps them as right, or as
//! wrong, as they came, see [`checksum::verify`].

mod answer;
mod carried;
pub mod checksum;
mod crc32c;
mod datagrams;
mod flow;
mod fragment;
mod icmp;
mod ip;
mod layers;
mod plain;
mod resize;
mod rewrite;
mod room;
mod segment;
mod tcp;
mod tcp_options;
mod translate;
mod transport;
mod vlan;

use core::fmt;

use crate::verdict::Reason;
use crate::verdict::reasons::Truncated;
use carried::Carried;
use layers::{Layers, Version};

pub use answer::NotAnswered;
pub use datagrams::Datagrams;
pub use fragment::IpFragment;
pub use resize::NoRoom;
pub use rewrite::TtlExceeded;
pub use room::{ROOM, Roomy};
pub use segment::TcpSegment;
pub use tcp::{TcpFlags, TcpHeader};
pub use tcp_options::TcpOptions;
pub use translate::{BadChecksum, NotTranslated};
pub use vlan::Vlan;

/// A port of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Port(pub u8);

impl Port {
    /// The port towards the protected network.
    pub const INSIDE: Self = Self(0);
    /// The port towards the rest of the world.
    pub const OUTSIDE: Self = Self(1);

    /// The other port of the pair: ports are paired 0 with 1, 2 with 3, and so on.
    #[inline]
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// What is known of a packet beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Meta {
    /// The packet's own time stamp, in nanoseconds. Stamps of a capture may run backwards.
    pub time: u64,
    /// The run's time, in nanoseconds: never runs backwards. Expiry goes by it.
    pub now: u64,
    /// Where the packet came in.
    pub port: Port,
}

/// One Ethernet frame, parsed, with its metadata.
pub struct Packet<'a> {
    // Invariant, once parsed: the offsets in `layers` lie within the first `length` bytes of `frame`, and there are as
    // many. The setters write only fields that the parse does not go by; what changes others parses anew.
    /// The frame, and behind it the room that it may grow into.
    frame: &'a mut [u8],
    /// Bytes of the frame.
    length: usize,
    layers: Layers,
    /// Read once, since all ask for it; the setters keep it right. Means nothing beside a fault of
    /// the layers.
    flow: Carried,
    time: u64,
    now: u64,
    port: Port,
}

impl<'a> Packet<'a> {
    /// Parses `frame`. Any bytes will do: what does not parse is told by the getters.
    ///
    /// It has no room to grow, see [`Self::in_room`].
    pub fn new(frame: &'a mut [u8], meta: Meta) -> Self {
        Self::in_room(frame.into(), meta)
    }

    /// Likewise of a frame with room behind it.
    pub fn in_room(frame: Roomy<'a>, meta: Meta) -> Self {
        let mut packet = Self::unparsed(frame, meta);
        packet.parse();
        packet
    }

    /// The packet of a frame that was not looked at: [`Self::parse`] comes before all else.
    #[inline(always)]
    pub(crate) fn unparsed(frame: Roomy<'a>, meta: Meta) -> Self {
        let Meta { time, now, port } = meta;
        let (frame, length) = frame.into_parts();
        let (layers, flow) = (Layers::UNPARSED, Carried::UNPARSED);
        Self { frame, length, layers, flow, time, now, port }
    }
}

impl Packet<'_> {
    /// Parses the frame of an [unparsed](Self::unparsed) packet: the short way if it is as most are, see [`Layers::plain`].
    #[inline(always)]
    pub(crate) fn parse(&mut self) {
        if let Some((layers, flow)) = Layers::plain(self.frame, self.length) {
            self.layers.complete(&layers);
            self.flow.complete(&flow);
        } else {
            self.parse_any();
        }
    }

    #[inline(never)]
    fn parse_any(&mut self) {
        (self.layers, self.flow) = Layers::of_any(self.frame());
    }

    /// The whole frame, from the Ethernet header to the last byte of padding.
    #[inline]
    pub fn frame(&self) -> &[u8] {
        room::first(self.frame, self.length)
    }

    /// The frame, to be put back as it was when it had `length` bytes.
    #[inline]
    pub(crate) fn frame_of(&mut self, length: usize) -> &mut [u8] {
        self.length = length;
        self.frame_mut()
    }

    /// The frame, to be written to.
    #[inline]
    fn frame_mut(&mut self) -> &mut [u8] {
        room::first_mut(self.frame, self.length)
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
    #[inline(always)]
    pub(crate) const fn meta(&self) -> Meta {
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
        !matches!(self.layers.version, Version::NotIp)
    }

    /// Whether the frame says it carries IPv4, well-formed or not.
    #[inline]
    pub const fn is_ipv4(&self) -> bool {
        matches!(self.layers.version, Version::V4)
    }

    /// Whether the frame says it carries IPv6, well-formed or not.
    #[inline]
    pub const fn is_ipv6(&self) -> bool {
        // Of a plain packet, one question answers this and others.
        !self.layers.is_plain && matches!(self.layers.version, Version::V6)
    }

    /// What the transport carries, up to the end of the IP packet (for UDP, of the datagram): what
    /// follows the TCP header, or the eight bytes of UDP and ICMP, or the IP headers of a fragment
    /// and of a transport that Cora does not read. Empty when the headers don't parse.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.frame.get(self.layers.payload(self.frame)).unwrap_or_default()
    }

    /// The Ethernet address that the frame comes from.
    #[inline]
    pub fn mac_source(&self) -> Result<[u8; 6], Reason> {
        layers::chunk(self.frame(), layers::MAC_SOURCE).copied().ok_or(Truncated)
    }

    /// The Ethernet address that the frame goes to.
    #[inline]
    pub fn mac_destination(&self) -> Result<[u8; 6], Reason> {
        layers::chunk(self.frame(), layers::MAC_DESTINATION).copied().ok_or(Truncated)
    }

    /// The bytes at an offset that the parse found to be within the frame.
    ///
    /// Zeros otherwise, which the invariant excludes: so the compiler has no panic to place.
    #[inline]
    fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        layers::chunk(self.frame, at).copied().unwrap_or([0; N])
    }

    /// Likewise for a 16-bit number.
    #[inline]
    fn read_u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.read(at))
    }
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({} bytes, port {}, ", self.len(), self.port().0)?;
        match self.flow() {
            Ok(flow) => write!(f, "{flow})"),
            Err(reason) => write!(f, "{reason:?})"),
        }
    }
}
