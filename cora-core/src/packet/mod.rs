//! A frame, its headers and its metadata, for handlers to read and rewrite.
//!
//! [`Packet::new`] parses once, into offsets. Getters read at those offsets, and setters keep every
//! checksum correct. A frame that does not parse is still a packet: its getters return `Err` with
//! the reason, which a handler passes on with `?`.
//!
//! These layers are read:
//!
//! - Ethernet II: up to four VLAN tags (0x8100, 0x88a8, 0x9100), which are not part of the flow.
//!   Bytes behind the IP packet are padding.
//! - IPv4: the header checksum must be correct (RFC 1812, 5.2.2). Of the options, only a source
//!   route is read.
//! - IPv6: up to eight extension headers. An atomic fragment (RFC 6946) is not a fragment. An
//!   IPv4-mapped address is refused, since it would name an IPv4 flow.
//! - TCP, UDP, SCTP: ports.
//! - ICMP, ICMPv6: the identifier of a query; the packet that an error quotes.
//!
//! A length beyond the end of the frame is [`Truncated`](crate::verdict::reasons::Truncated). All
//! other faults have names in [`reasons`](crate::verdict::reasons). Transport checksums are not
//! verified: a forwarder preserves a correct or a wrong one, see [`checksum::verify`].

mod answer;
mod carried;
pub mod checksum;
mod crc32c;
mod cut;
mod datagram;
mod datagrams;
mod fast_head;
mod fast_path;
mod flow;
mod forwardable;
mod fragment;
mod headers;
mod icmp;
mod icmp_error;
mod icmp_type;
mod ip;
mod ip_header;
mod layers;
mod offsets;
mod parsed;
mod query;
mod resize;
mod rewrite;
mod room;
mod segment;
mod tcp;
mod tcp_options;
mod translate;
mod transport;
mod tunnel;
mod vlan;
mod whole;

use core::fmt;
use core::ops::{Deref, DerefMut};

pub use answer::NotAnswered;
pub(crate) use carried::Carried;
pub use cut::has_all_headers;
pub use datagrams::Datagrams;
pub use fragment::IpFragment;
pub use headers::is_told_by_head;
pub use headers::{HEAD, Headers};
pub use icmp_error::IcmpError;
pub use offsets::Offsets;
pub use query::Query;
pub use resize::NoRoom;
pub use rewrite::TtlExceeded;
pub use room::{MAX_FRAME, ROOM, Roomy};
pub use segment::TcpSegment;
pub use tcp::{TcpFlags, TcpHeader};
pub use tcp_options::{TcpOptions, TcpTimestamps};
pub use translate::{BadChecksum, NotTranslated};
pub use tunnel::{Encapsulation, Inner, NotTunnelled, Outer, Tunnel};
pub use vlan::Vlan;

use crate::bucket::Mark;

/// A port of the NIC: 0 is inside, 1 is outside, and a run may have further ones up to
/// [`LAST`](Self::LAST).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Port(pub u8);

impl Port {
    /// The port towards the protected network.
    pub const INSIDE: Self = Self(0);
    /// The port towards the rest of the world.
    pub const OUTSIDE: Self = Self(1);

    /// The last port that a run can have. A frame to a later one is dropped as `no-port`.
    pub const LAST: Self = Self(15);

    /// Where a packet from this port leaves with `Transmit`: from inside at the outside port, and
    /// from any other port at the inside one.
    #[inline]
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self((self.0 == Self::INSIDE.0) as u8)
    }

    /// The port in seven bits. Larger numbers become one that no run has: cut off, they would be
    /// another port's.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub const fn in_seven_bits(self) -> Self {
        if self.0 < 0x80 { self } else { Self(0x7f) }
    }
}

/// The metadata of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Meta {
    /// The packet's own time stamp, in nanoseconds. Stamps of a capture may run backwards.
    pub time: u64,
    /// The run's time, in nanoseconds; it never runs backwards. Entries expire by it.
    pub now: u64,
    /// The port where the packet came in.
    pub port: Port,
    /// What steering noted on the packet, in programs that need it
    /// ([`App::MARKED`](crate::app::App::MARKED)).
    pub mark: Mark,
}

/// One Ethernet frame, parsed, with its metadata: its [headers](Headers) and its payload.
#[repr(transparent)]
pub struct Packet<'a>(Headers<'a>);

impl<'a> Packet<'a> {
    /// Parses `frame`. Any bytes are accepted: getters return an error for parts that don't parse.
    ///
    /// The packet has no tailroom; see [`Self::in_room`].
    pub fn new(frame: &'a mut [u8], meta: Meta) -> Self {
        Self::in_room(frame.into(), meta)
    }

    /// The same for a frame with tailroom.
    pub fn in_room(frame: Roomy<'a>, meta: Meta) -> Self {
        let mut packet = Self::unparsed(frame, meta);
        packet.parse_again();
        packet
    }

    /// The packet of a frame that is not parsed yet: call [`Headers::parse`] before anything else.
    #[doc(hidden)]
    #[inline(always)]
    pub fn unparsed(frame: Roomy<'a>, meta: Meta) -> Self {
        Self(Headers::unparsed(frame, meta))
    }

    /// The same if only the head of the frame is here and `elsewhere` more bytes are not; see
    /// [`is_told_by_head`]. Only headers may be read.
    #[doc(hidden)]
    #[inline(always)]
    pub fn unparsed_head(head: &'a mut [u8], elsewhere: usize, meta: Meta) -> Self {
        let mut packet = Self::unparsed(head.into(), meta);
        packet.length += elsewhere;
        packet
    }
}

impl Packet<'_> {
    /// The whole frame, from the Ethernet header to the last byte of padding.
    #[inline]
    pub fn frame(&self) -> &[u8] {
        self.0.here()
    }

    /// The frame, to be restored to the bytes of an earlier version with `length` bytes.
    #[doc(hidden)]
    #[inline]
    pub fn frame_of(&mut self, length: usize) -> &mut [u8] {
        self.length = length;
        self.here_mut()
    }

    /// The payload of the transport, up to the end of the IP packet (for UDP, of the datagram). It
    /// follows the TCP header, the eight bytes of UDP and ICMP, or the IP headers of a fragment or
    /// of a transport that Cora does not read. Empty if the headers don't parse.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.frame.get(self.payload_range()).unwrap_or_default()
    }
}

/// A function that takes `Headers` accepts any packet.
impl<'a> Deref for Packet<'a> {
    type Target = Headers<'a>;

    #[inline(always)]
    fn deref(&self) -> &Headers<'a> {
        &self.0
    }
}

impl DerefMut for Packet<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Packet", f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_but_the_inside_one_is_opposite_to_it() {
        assert_eq!(Port::INSIDE.opposite(), Port::OUTSIDE);
        assert!((1..=u8::MAX).all(|port| Port(port).opposite() == Port::INSIDE));
        assert_eq!(Port(0x7f).in_seven_bits(), Port(0x7f));
        assert!((0x80..=u8::MAX).all(|port| Port(port).in_seven_bits() > Port::LAST));
    }
}
