//! One parse of a frame, into offsets.
//!
//! 1. Ethernet: skip the VLAN tags, read the type ([`ethernet`]).
//! 2. IP: check version and lengths, find the transport ([`super::ip`]). From here on only the
//!    bytes of the IP packet are looked at: the rest is padding.
//! 3. Transport: check its header, find ports and checksum, and for an ICMP error repeat 2 and 3
//!    on the packet that it quotes ([`super::transport`]).
//!
//! Every step reads through [`chunk`], which checks; there is nothing to index past.

use core::hint;
use core::ops::Range;

use super::{Vlan, ip, transport};
use crate::key::protocol::{TCP, UDP};
use crate::key::{Address, FiveTuple};
use crate::verdict::{Reason, reasons};

/// Where the Ethernet header has its fields.
pub(super) const MAC_DESTINATION: usize = 0;
pub(super) const MAC_SOURCE: usize = 6;
pub(super) const ETHERTYPE: usize = 12;

/// Where the transport of an untagged packet of IPv6 begins that has no extension headers.
const PLAIN_V6: usize = 54;
/// Where the payload of a datagram then begins.
const PLAIN_UDP_V6: usize = PLAIN_V6 + 8;

/// VLAN tags that are skipped; a frame with more is not looked into.
const MAX_TAGS: usize = 4;

pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(super) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(super) const ETHERTYPE_ARP: u16 = 0x0806;

/// The `N` bytes at `at`, if they are all there.
#[inline(always)]
pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.first_chunk()
}

/// The 16-bit number at `at`, if it is there.
#[inline]
pub(super) fn number(bytes: &[u8], at: usize) -> Option<u16> {
    chunk(bytes, at).map(|two| u16::from_be_bytes(*two))
}

/// Which IP the Ethernet type announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    NotIp,
    V4,
    V6,
}

/// The fault of a packet; a small stand-in for a [`Reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    NotIp,
    Truncated,
    Malformed,
    BadIpLength,
    BadIpChecksum,
    TooManyHeaders,
    BadTransportLength,
    Fragment,
    NoFlow,
}

impl Fault {
    /// The reason, unless there is none.
    #[inline(always)]
    pub(super) const fn check(self) -> Result<(), Reason> {
        match self {
            Self::None => Ok(()),
            fault => Err(fault.reason()),
        }
    }

    /// Whether the headers can be read to their end: only what can't be keeps a packet from being
    /// rewritten.
    #[inline]
    pub(super) const fn is_readable(self) -> bool {
        matches!(self, Self::None | Self::Fragment | Self::NoFlow)
    }

    /// The reason; out of the way of packets that have none.
    #[cold]
    #[inline(never)]
    pub(super) const fn reason(self) -> Reason {
        match self {
            Self::NotIp => reasons::NotIp,
            Self::Truncated => reasons::Truncated,
            Self::None | Self::Malformed => reasons::Malformed,
            Self::BadIpLength => reasons::BadIpLength,
            Self::BadIpChecksum => reasons::BadIpChecksum,
            Self::TooManyHeaders => reasons::TooManyHeaders,
            Self::BadTransportLength => reasons::BadTransportLength,
            Self::Fragment => reasons::Fragment,
            Self::NoFlow => reasons::NoFlow,
        }
    }
}

/// Which part of an IP packet this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// The first fragment, which holds the beginning of the transport header.
    First,
    /// Another fragment, which holds none of it.
    Later,
}

/// An IP header and the transport header behind it: of the packet itself, or of the one that it
/// quotes. Offsets count from the start of the frame. They fit 16 bits, since the walks are
/// bounded: at most 30 + 40 + 8 · 2048 bytes of headers, twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The IP header; 0 when there is none.
    pub(super) ip: u16,
    /// The transport header: the bytes behind the last IP header that was read.
    pub(super) transport: u16,
    /// Two ports in a row, or one identifier; 0 when there is none.
    pub(super) ports: u16,
    /// Whole or a fragment.
    pub(super) part: Part,
    /// `ports` is one identifier, which stands for both ports.
    pub(super) identifier: bool,
    /// The transport's internet checksum; 0 when there is none to keep right.
    pub(super) sum: u16,
    /// The transport's protocol number.
    pub(super) protocol: u8,
    /// A routing header of IPv6 or a source route of IPv4 has stops left, so the checksum covers
    /// the last stop's address in place of the destination (RFC 8200, 8.1; RFC 1122, 4.1.3.4 and
    /// 4.2.3.8).
    pub(super) routed: bool,
}

impl Header {
    /// No header at all.
    pub(super) const NONE: Self = Self {
        ip: 0,
        transport: 0,
        ports: 0,
        sum: 0,
        protocol: 0,
        part: Part::Whole,
        identifier: false,
        routed: false,
    };
}

/// Where all that the parse found stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    /// Where the transport's payload begins. Offsets fit 32 bits: lengths on the wire have 16.
    payload: u32,
    /// Where it ends.
    payload_end: u32,
    /// Where the IP packet ends.
    pub(super) end: u32,
    /// The packet's own headers.
    pub(super) outer: Header,
    /// The headers of the packet that an ICMP error quotes; [`Header::NONE`] otherwise.
    pub(super) inner: Header,
    /// Why addresses and protocol can't be told.
    pub(super) network_fault: Fault,
    /// Why the flow can't be told; at least `network_fault`.
    pub(super) flow_fault: Fault,
    /// An ICMP error, by its type.
    pub(super) icmp_error: bool,
    /// The Ethernet type behind the tags; 0 when the frame ends before it.
    pub(super) ethertype: u16,
    pub(super) version: Version,
}

impl Layers {
    /// A frame that can't be read past its Ethernet header.
    pub(super) const fn none(ethertype: u16, version: Version, fault: Fault) -> Self {
        Self {
            outer: Header::NONE,
            inner: Header::NONE,
            payload: 0,
            payload_end: 0,
            end: 0,
            ethertype,
            version,
            network_fault: fault,
            flow_fault: fault,
            icmp_error: false,
        }
    }

    /// What is found in a frame as most of IPv6 are: without extension headers, carrying TCP or
    /// UDP, with no VLAN tag. `None` for all others; for these, what [`Self::parse`] gives. (Those
    /// of IPv4 are [plain](super::plain::PlainFrame).)
    // The NIC's program is to be small, and has two uses of it.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn plain_v6(memory: &[u8], length: usize) -> Option<(Self, FiveTuple)> {
        let head: &[u8; PLAIN_UDP_V6] = memory.first_chunk()?;
        let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (protocol, end) = (head[20], PLAIN_V6 + usize::from(number(18)));
        if number(ETHERTYPE) != ETHERTYPE_IPV6 || head[14] >> 4 != 6 || end > length {
            return None;
        }
        let (sum, payload, payload_end) = match protocol {
            TCP => (16, PLAIN_V6 + usize::from(*memory.get(PLAIN_V6 + 12)? >> 4) * 4, end),
            UDP => (6, PLAIN_UDP_V6, PLAIN_V6 + usize::from(number(PLAIN_V6 + 4))),
            _ => return None,
        };
        let least = if protocol == TCP { PLAIN_V6 + 20 } else { PLAIN_UDP_V6 };
        let source = Address::v6(*chunk(head, 22)?);
        let destination = Address::v6(*chunk(head, 38)?);
        let fits = least <= payload && payload <= payload_end && payload_end <= end;
        if !fits || source.is_v4() || destination.is_v4() {
            return None;
        }
        let at = PLAIN_V6 as u16;
        let outer =
            Header { ip: 14, transport: at, ports: at, sum: at + sum, protocol, ..Header::NONE };
        let layers = Self {
            outer,
            payload: payload as u32,
            payload_end: payload_end as u32,
            end: end as u32,
            ..Self::none(ETHERTYPE_IPV6, Version::V6, Fault::None)
        };
        let (source_port, destination_port) = (number(PLAIN_V6), number(PLAIN_V6 + 2));
        Some((layers, FiveTuple { source, destination, source_port, destination_port, protocol }))
    }

    /// Parses a frame of any bytes.
    #[inline(never)]
    pub(super) fn parse(frame: &[u8]) -> Self {
        let mut layers = Self::none(0, Version::NotIp, Fault::None);
        match layers.network(frame) {
            Err(fault) => (layers.network_fault, layers.flow_fault) = (fault, fault),
            Ok(end) => {
                layers.end = end as u32;
                let packet = frame.get(..end).unwrap_or_default();
                if let Err(fault) = transport::parse(packet, &mut layers) {
                    layers.flow_fault = fault;
                }
            }
        }
        layers
    }

    /// Reads the headers before the transport; tells where the IP packet ends.
    #[inline]
    fn network(&mut self, frame: &[u8]) -> Result<usize, Fault> {
        let (ethertype, at) = ethernet(frame).ok_or(Fault::Truncated)?;
        self.ethertype = ethertype;
        match ethertype {
            ETHERTYPE_IPV4 => {
                self.version = Version::V4;
                ip::v4(frame, at, ip::Length::Whole, &mut self.outer)
            }
            ETHERTYPE_IPV6 => {
                self.version = Version::V6;
                ip::v6(frame, at, ip::Length::Whole, &mut self.outer)
            }
            _ => Err(Fault::NotIp),
        }
    }

    /// The payload of the transport.
    #[inline]
    pub(super) const fn payload(&self) -> Range<usize> {
        self.payload as usize..self.payload_end as usize
    }

    /// Notes where the transport's payload begins and ends.
    #[inline]
    pub(super) const fn set_payload(&mut self, begin: usize, end: usize) {
        (self.payload, self.payload_end) = (begin as u32, end as u32);
    }
}

/// The Ethernet type behind the tags, and where its payload begins.
#[inline]
pub(super) fn ethernet(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = ETHERTYPE;
    let mut ethertype = number(frame, at)?;
    // The compiler would write four copies of the loop, did it know the number.
    let most = ETHERTYPE + 4 * hint::black_box(MAX_TAGS);
    while Vlan::is_tag(ethertype) && at < most {
        at += 4;
        ethertype = number(frame, at)?;
    }
    Some((ethertype, at + 2))
}

/// Kind and control word of each tag, the outermost first; one that ends before its EtherType has
/// none.
pub(super) fn tags(frame: &[u8]) -> impl Iterator<Item = (u16, u16)> {
    let places = (0..MAX_TAGS).map(|tag| ETHERTYPE + 4 * tag);
    places.map_while(|at| {
        let kind = number(frame, at).filter(|kind| Vlan::is_tag(*kind))?;
        number(frame, at + 4)?;
        Some((kind, number(frame, at + 2)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A plain frame of TCP or UDP over IPv6, 80 bytes.
    fn frame_v6(udp: bool) -> Vec<u8> {
        let mut frame = std::vec![0; 80];
        frame[12..20].copy_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 26]);
        frame[20] = if udp { UDP } else { TCP };
        (frame[22], frame[38]) = (0x20, 0x20);
        frame[58..60].copy_from_slice(&[0, 26]);
        if !udp {
            frame[66] = 0x50;
        }
        frame
    }

    #[test]
    fn what_is_plain_is_found_to_be() {
        for udp in [false, true] {
            assert!(Layers::plain_v6(&frame_v6(udp), 80).is_some());
        }
    }

    proptest! {
        #[test]
        fn the_short_way_of_ipv6_finds_what_the_long_one_does(
            udp in any::<bool>(),
            changes in prop::collection::vec((12..70_usize, prop_oneof![any::<u8>(), 0..64_u8, Just(0xff)]), 0..4),
            mapped in any::<bool>(),
            length in 50..80_usize,
        ) {
            let mut frame = frame_v6(udp);
            if mapped {
                frame[22..38].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4]);
            }
            for (at, byte) in changes {
                frame[at] = byte;
            }
            for frame in [&frame[..], &frame[..length]] {
                if let Some((plain, flow)) = Layers::plain_v6(frame, frame.len()) {
                    let parsed = Layers::parse(frame);
                    prop_assert_eq!(flow, parsed.flow(frame));
                    prop_assert_eq!(std::format!("{plain:?}"), std::format!("{parsed:?}"));
                }
            }
        }
    }
}
