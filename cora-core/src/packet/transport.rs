//! Transport headers: ports, checksums, and the packet that an ICMP error quotes.

use super::ip;
use super::layers::{Fault, Header, Layers, Part, Version, chunk, number};
use super::query::Query;
use crate::key::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};

/// UDP-Lite and DCCP have no flows in Cora, but their checksums cover the addresses.
pub(super) const UDP_LITE: u8 = 136;
pub(super) const DCCP: u8 = 33;
/// Group membership of IPv4 (RFC 3376).
pub(super) const IGMP: u8 = 2;

pub(super) const TCP_HEADER: usize = 20;
pub(super) const UDP_HEADER: usize = 8;
const SCTP_HEADER: usize = 12;
pub(super) const ICMP_HEADER: usize = 8;
/// Offset of the identifier in an ICMP query.
const ICMP_IDENTIFIER: usize = 4;

/// The role of an ICMP message for a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    /// Question or answer, distinguished by an identifier.
    Query,
    /// An error, which quotes the packet at fault.
    Error,
    /// Neither: router advertisements, group membership, …
    Other,
}

impl Message {
    #[inline]
    const fn of(version: Version, kind: u8) -> Self {
        match (version, kind) {
            // Echo and time stamp (RFC 792); echo (RFC 4443).
            (Version::V4, 0 | 8 | 13 | 14) | (Version::V6, 128 | 129) => Self::Query,
            // Unreachable, source quench, redirect, time exceeded, parameter problem; and for
            // IPv6 unreachable, too big, time exceeded, parameter problem.
            (Version::V4, 3 | 4 | 5 | 11 | 12) | (Version::V6, 1..=4) => Self::Error,
            _ => Self::Other,
        }
    }
}

/// Whether a message of this type is a question or an answer.
pub(super) const fn query(version: Version, kind: u8) -> Option<Query> {
    match (Message::of(version, kind), version, kind) {
        (Message::Query, Version::V4, 8 | 13) | (Message::Query, Version::V6, 128) => {
            Some(Query::Question)
        }
        (Message::Query, ..) => Some(Query::Answer),
        _ => None,
    }
}

/// Whether a message of this type is a redirect.
pub(super) const fn is_redirect(version: Version, kind: u8) -> bool {
    matches!((version, kind), (Version::V4, 5) | (Version::V6, 137))
}

/// Whether no error answers a message of this type: it is an error or a redirect itself (RFC 1812,
/// 4.3.2.7; RFC 4443, 2.4 e). For IPv6 all types below 128 are errors, known or not.
pub(super) const fn is_never_answered(version: Version, kind: u8) -> bool {
    let is_unknown_error = matches!((version, kind), (Version::V6, ..128));
    is_unknown_error
        || matches!(Message::of(version, kind), Message::Error)
        || is_redirect(version, kind)
}

/// Offset of a transport's internet checksum in its header.
#[inline]
const fn checksum_at(version: Version, protocol: u8) -> Option<usize> {
    match (version, protocol) {
        (_, TCP) => Some(16),
        (_, UDP | UDP_LITE | DCCP) => Some(6),
        (Version::V4, ICMP) | (Version::V6, ICMPV6) => Some(2),
        _ => None,
    }
}

/// Reads the transport header of `packet`, which ends with the IP packet.
#[inline]
pub(super) fn parse(packet: &[u8], layers: &mut Layers) -> Result<(), Fault> {
    let at = usize::from(layers.outer.transport);
    let fault = match layers.outer.part {
        Part::Whole => None,
        Part::First => Some(find_checksum(packet, layers).err().unwrap_or(Fault::Fragment)),
        Part::Later => Some(Fault::Fragment),
    };
    if let Some(fault) = fault {
        layers.set_payload(at, packet.len());
        return Err(fault);
    }
    find_checksum(packet, layers)?;
    let (payload, end) = match (layers.version, layers.outer.protocol) {
        (_, TCP) => (at + tcp(packet, at)?, packet.len()),
        (_, UDP) => (at + UDP_HEADER, at + udp(packet, at)?),
        (_, SCTP) => (at + sctp(packet, at)?, packet.len()),
        (Version::V4, ICMP) | (Version::V6, ICMPV6) => return icmp(packet, at, layers),
        _ => {
            layers.set_payload(at, packet.len());
            return Err(Fault::NoFlow);
        }
    };
    layers.outer.ports = at as u16;
    layers.set_payload(payload, end);
    Ok(())
}

/// Stores the offset of the transport's checksum, which must exist if the transport has one.
#[inline]
fn find_checksum(packet: &[u8], layers: &mut Layers) -> Result<(), Fault> {
    if let Some(sum) = checksum_at(layers.version, layers.outer.protocol) {
        let sum = usize::from(layers.outer.transport) + sum;
        number(packet, sum).ok_or(Fault::Truncated)?;
        layers.outer.sum = sum as u16;
    }
    Ok(())
}

/// Whether the checksum of a transport at `at` exists, if the transport has one.
pub(super) fn has_checksum(packet: &[u8], version: Version, protocol: u8, at: usize) -> Option<()> {
    match checksum_at(version, protocol) {
        Some(sum) => number(packet, at + sum).map(|_| ()),
        None => Some(()),
    }
}

/// Bytes of the transport's header at `at`, as far as it is read. TCP gives its own length. `None`
/// if not even that field exists.
pub(super) fn header_bytes(
    packet: &[u8],
    version: Version,
    protocol: u8,
    at: usize,
) -> Option<usize> {
    Some(match (version, protocol) {
        (_, TCP) => {
            let fixed: &[u8; TCP_HEADER] = chunk(packet, at)?;
            usize::from(fixed[12] >> 4) * 4
        }
        (_, UDP) => UDP_HEADER,
        (_, SCTP) => SCTP_HEADER,
        (Version::V4, ICMP) | (Version::V6, ICMPV6) => ICMP_HEADER,
        _ => checksum_at(version, protocol).map_or(0, |sum| sum + 2),
    })
}

/// Offset of the packet that an ICMP error at `at` quotes; `None` if it is no error.
pub(super) fn quoted_at(packet: &[u8], version: Version, protocol: u8, at: usize) -> Option<usize> {
    let is_icmp = matches!((version, protocol), (Version::V4, ICMP) | (Version::V6, ICMPV6));
    let kind = *packet.get(at).filter(|_| is_icmp)?;
    (Message::of(version, kind) == Message::Error).then_some(at + ICMP_HEADER)
}

/// Bytes of the TCP header at `at`.
#[inline]
fn tcp(packet: &[u8], at: usize) -> Result<usize, Fault> {
    let fixed: &[u8; TCP_HEADER] = chunk(packet, at).ok_or(Fault::Truncated)?;
    let length = usize::from(fixed[12] >> 4) * 4;
    if length < TCP_HEADER {
        Err(Fault::BadTransportLength)
    } else if at + length > packet.len() {
        Err(Fault::Truncated)
    } else {
        Ok(length)
    }
}

/// Bytes of the UDP datagram at `at`; the IP packet may contain more behind it (RFC 9868).
#[inline]
fn udp(packet: &[u8], at: usize) -> Result<usize, Fault> {
    let fixed: &[u8; UDP_HEADER] = chunk(packet, at).ok_or(Fault::Truncated)?;
    let length = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    if length < UDP_HEADER {
        Err(Fault::BadTransportLength)
    } else if at + length > packet.len() {
        Err(Fault::Truncated)
    } else {
        Ok(length)
    }
}

/// Bytes of the SCTP header at `at`.
#[inline]
fn sctp(packet: &[u8], at: usize) -> Result<usize, Fault> {
    chunk::<SCTP_HEADER>(packet, at).ok_or(Fault::Truncated)?;
    Ok(SCTP_HEADER)
}

/// Reads the ICMP message at `at`.
#[inline]
fn icmp(packet: &[u8], at: usize, layers: &mut Layers) -> Result<(), Fault> {
    let fixed: &[u8; ICMP_HEADER] = chunk(packet, at).ok_or(Fault::Truncated)?;
    layers.set_payload(at + ICMP_HEADER, packet.len());
    match Message::of(layers.version, fixed[0]) {
        Message::Query => {
            layers.outer.ports = (at + ICMP_IDENTIFIER) as u16;
            layers.outer.identifier = true;
            Ok(())
        }
        Message::Error => {
            layers.icmp_error = true;
            quoted(packet, at + ICMP_HEADER, layers)
        }
        Message::Other => Err(Fault::NoFlow),
    }
}

/// Reads the packet that an ICMP error quotes, as far as it is quoted.
fn quoted(packet: &[u8], at: usize, layers: &mut Layers) -> Result<(), Fault> {
    let inner = &mut layers.inner;
    let end = match layers.version {
        Version::V6 => ip::v6(packet, at, ip::Length::Quoted, inner)?,
        _ => ip::v4(packet, at, ip::Length::Quoted, inner)?,
    };
    quoted_transport(packet.get(..end).unwrap_or_default(), layers.version, inner)
}

/// Finds ports and checksum of the quoted packet. Eight bytes of its transport are guaranteed (RFC
/// 792), so a TCP checksum may be missing.
fn quoted_transport(packet: &[u8], version: Version, inner: &mut Header) -> Result<(), Fault> {
    if inner.part == Part::Later {
        return Err(Fault::Fragment);
    }
    let at = usize::from(inner.transport);
    if let Some(sum) = checksum_at(version, inner.protocol)
        && number(packet, at + sum).is_some()
    {
        inner.sum = (at + sum) as u16;
    }
    let start = chunk::<8>(packet, at);
    match (version, inner.protocol, start) {
        (_, TCP | UDP | SCTP, Some(_)) => inner.ports = at as u16,
        (Version::V4, ICMP, Some(start)) | (Version::V6, ICMPV6, Some(start)) => {
            if Message::of(version, start[0]) != Message::Query {
                return Err(Fault::NoFlow);
            }
            inner.ports = (at + ICMP_IDENTIFIER) as u16;
            inner.identifier = true;
        }
        (_, TCP | UDP | SCTP, None) | (Version::V4, ICMP, None) | (Version::V6, ICMPV6, None) => {
            return Err(Fault::Truncated);
        }
        _ => return Err(Fault::NoFlow),
    }
    Ok(())
}
