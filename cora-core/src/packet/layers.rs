//! A single parse of a frame, into offsets.
//!
//! 1. Ethernet: skip the VLAN tags, read the type ([`ethernet`]).
//! 2. IP: check version and lengths, find the transport ([`super::ip`]). From here on only the
//!    bytes of the IP packet are read: the rest is padding.
//! 3. Transport: check its header, find ports and checksum. For an ICMP error, repeat 2 and 3 for
//!    the quoted packet ([`super::transport`]).
//!
//! Every step reads through [`chunk`], which checks bounds, so no index can be out of range.

use core::hint;
use core::ops::Range;

use super::{Vlan, ip, transport};
use crate::key::protocol::{TCP, UDP};
use crate::key::{Address, FiveTuple};
use crate::verdict::{Reason, reasons};

/// Offsets of the Ethernet header's fields.
pub(super) const MAC_DESTINATION: usize = 0;
pub(super) const MAC_SOURCE: usize = 6;
pub(super) const ETHERTYPE: usize = 12;

/// Offset of the transport in an untagged IPv6 packet without extension headers.
const FAST_V6: usize = 54;
/// Offset of a datagram's payload in such a packet.
const FAST_UDP_V6: usize = FAST_V6 + 8;

/// Maximum number of VLAN tags; the contents of a frame with more are not read.
const MAX_TAGS: usize = 4;

pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(super) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(super) const ETHERTYPE_ARP: u16 = 0x0806;

/// The `N` bytes at `at`, if all exist.
#[inline(always)]
pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.first_chunk()
}

/// The 16-bit number at `at`, if it exists.
#[inline]
pub(super) fn number(bytes: &[u8], at: usize) -> Option<u16> {
    chunk(bytes, at).map(|two| u16::from_be_bytes(*two))
}

/// The IP version that the Ethernet type announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    NotIp,
    V4,
    V6,
}

/// The fault of a packet, as a small equivalent of a [`Reason`].
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
    /// `Ok` without a fault, otherwise its reason.
    #[inline(always)]
    pub(super) const fn check(self) -> Result<(), Reason> {
        match self {
            Self::None => Ok(()),
            fault => Err(fault.reason()),
        }
    }

    /// Whether all headers can be read; only then can the packet be rewritten.
    #[inline]
    pub(super) const fn is_readable(self) -> bool {
        matches!(self, Self::None | Self::Fragment | Self::NoFlow)
    }

    /// The reason. Cold, since most packets have none.
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

/// The part of an IP packet that a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// The first fragment, with the beginning of the transport header.
    First,
    /// A later fragment, without any of it.
    Later,
}

/// An IP header and the transport header behind it, either of the packet itself or of the packet
/// that it quotes. Offsets count from the start of the frame. They fit 16 bits, since the walks are
/// bounded: at most 30 + 40 + 8 · 2048 bytes of headers, twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The IP header; 0 when there is none.
    pub(super) ip: u16,
    /// The transport header: the bytes behind the last IP header read.
    pub(super) transport: u16,
    /// Two consecutive ports, or one identifier; 0 if there is none.
    pub(super) ports: u16,
    /// Whole packet or fragment.
    pub(super) part: Part,
    /// `ports` is one identifier, which stands for both ports.
    pub(super) identifier: bool,
    /// The transport's internet checksum; 0 if there is none to update.
    pub(super) sum: u16,
    /// The transport's protocol number.
    pub(super) protocol: u8,
    /// A routing header of IPv6 or a source route of IPv4 has stops left. The checksum then covers
    /// the address of the last stop instead of the destination (RFC 8200, 8.1; RFC 1122, 4.1.3.4
    /// and 4.2.3.8).
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

/// The offsets of everything that the parse found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    /// Start of the transport's payload. Offsets fit 32 bits: lengths on the wire have 16.
    payload: u32,
    /// End of the payload.
    payload_end: u32,
    /// End of the IP packet.
    pub(super) end: u32,
    /// The packet's own headers.
    pub(super) outer: Header,
    /// The headers of the packet that an ICMP error quotes; [`Header::NONE`] otherwise.
    pub(super) inner: Header,
    /// Why addresses and protocol can't be read.
    pub(super) network_fault: Fault,
    /// Why the flow can't be read; a `network_fault` is always included.
    pub(super) flow_fault: Fault,
    /// An ICMP error, by its type.
    pub(super) icmp_error: bool,
    /// The Ethernet type behind the tags; 0 when the frame ends before it.
    pub(super) ethertype: u16,
    pub(super) version: Version,
}

impl Layers {
    /// A frame that can't be read beyond its Ethernet header.
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

    /// The fast path for most IPv6 frames: TCP or UDP, no extension headers, no VLAN tag. The
    /// result equals that of [`Self::parse`]; `None` for all other frames. (Most IPv4 frames are
    /// on the [fast path](super::fast_path::FastFrame).)
    // Saves code size in the NIC's program, which calls it twice.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn fast_v6(memory: &[u8], length: usize) -> Option<(Self, FiveTuple)> {
        let head: &[u8; FAST_UDP_V6] = memory.first_chunk()?;
        let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (protocol, end) = (head[20], FAST_V6 + usize::from(number(18)));
        if number(ETHERTYPE) != ETHERTYPE_IPV6 || head[14] >> 4 != 6 || end > length {
            return None;
        }
        let (sum, payload, payload_end) = match protocol {
            TCP => (16, FAST_V6 + usize::from(*memory.get(FAST_V6 + 12)? >> 4) * 4, end),
            UDP => (6, FAST_UDP_V6, FAST_V6 + usize::from(number(FAST_V6 + 4))),
            _ => return None,
        };
        let least = if protocol == TCP { FAST_V6 + 20 } else { FAST_UDP_V6 };
        let source = Address::v6(*chunk(head, 22)?);
        let destination = Address::v6(*chunk(head, 38)?);
        let fits = least <= payload && payload <= payload_end && payload_end <= end;
        if !fits || source.is_v4() || destination.is_v4() {
            return None;
        }
        let at = FAST_V6 as u16;
        let outer =
            Header { ip: 14, transport: at, ports: at, sum: at + sum, protocol, ..Header::NONE };
        let layers = Self {
            outer,
            payload: payload as u32,
            payload_end: payload_end as u32,
            end: end as u32,
            ..Self::none(ETHERTYPE_IPV6, Version::V6, Fault::None)
        };
        let (source_port, destination_port) = (number(FAST_V6), number(FAST_V6 + 2));
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

    /// Parses an IP packet at `at`, which ends with `bytes`. Offsets count from their start.
    #[inline(never)]
    pub(super) fn parse_ip(bytes: &[u8], at: usize) -> Self {
        let version = match bytes.get(at).map(|first| first >> 4) {
            Some(4) => Version::V4,
            Some(6) => Version::V6,
            _ => return Self::none(0, Version::NotIp, Fault::NotIp),
        };
        let mut layers = Self::none(0, version, Fault::None);
        let read = if version == Version::V4 { ip::v4 } else { ip::v6 };
        match read(bytes, at, ip::Length::Whole, &mut layers.outer) {
            Err(fault) => (layers.network_fault, layers.flow_fault) = (fault, fault),
            Ok(end) => {
                layers.end = end as u32;
                let packet = bytes.get(..end).unwrap_or_default();
                if let Err(fault) = transport::parse(packet, &mut layers) {
                    layers.flow_fault = fault;
                }
            }
        }
        layers
    }

    /// Reads the headers before the transport. Returns the end of the IP packet.
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

    /// Sets start and end of the transport's payload.
    #[inline]
    pub(super) const fn set_payload(&mut self, begin: usize, end: usize) {
        (self.payload, self.payload_end) = (begin as u32, end as u32);
    }
}

/// The Ethernet type behind the tags, and the offset of the payload.
#[inline]
pub(super) fn ethernet(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = ETHERTYPE;
    let mut ethertype = number(frame, at)?;
    // Hides the constant: the compiler would unroll the loop into four copies.
    let most = ETHERTYPE + 4 * hint::black_box(MAX_TAGS);
    while Vlan::is_tag(ethertype) && at < most {
        at += 4;
        ethertype = number(frame, at)?;
    }
    Some((ethertype, at + 2))
}

/// Kind and control word of each tag, the outermost first. A tag without a complete EtherType
/// behind it is left out.
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

    /// A fast-path frame of TCP or UDP over IPv6, 80 bytes.
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
    fn frames_of_the_fast_path_are_recognised() {
        for udp in [false, true] {
            assert!(Layers::fast_v6(&frame_v6(udp), 80).is_some());
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
                if let Some((fast, flow)) = Layers::fast_v6(frame, frame.len()) {
                    let parsed = Layers::parse(frame);
                    prop_assert_eq!(flow, parsed.flow(frame));
                    prop_assert_eq!(std::format!("{fast:?}"), std::format!("{parsed:?}"));
                }
            }
        }
    }
}
