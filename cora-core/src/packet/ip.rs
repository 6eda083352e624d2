//! IP headers, from the version field to the transport.

use super::checksum;
use super::layers::{Fault, Header, Part, chunk, number};

/// Maximum number of extension headers; packets with more are refused.
const MAX_EXTENSIONS: usize = 8;

pub(super) const V4_HEADER: usize = 20;
pub(super) const V6_HEADER: usize = 40;

mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NOTHING: u8 = 1;
    pub(super) const LOOSE_ROUTE: u8 = 0x83;
    pub(super) const STRICT_ROUTE: u8 = 0x89;
}

mod next {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
}

/// How much of the packet must be present.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// All of it.
    Whole,
    /// Its beginning, as in an ICMP error.
    Quoted,
}

/// End of a packet of `total` bytes that begins at `at`.
#[inline]
fn end(bytes: &[u8], at: usize, total: usize, length: Length) -> Result<usize, Fault> {
    let end = at + total;
    if end <= bytes.len() {
        Ok(end)
    } else if length == Length::Quoted {
        Ok(bytes.len())
    } else {
        Err(Fault::Truncated)
    }
}

/// Reads the IPv4 header at `at` into `found`, which is unchanged on a fault. Returns the end of
/// the packet. One copy serves the packet and its quote; packets of the fast path don't take this.
#[inline(never)]
pub(super) fn v4(
    bytes: &[u8],
    at: usize,
    length: Length,
    found: &mut Header,
) -> Result<usize, Fault> {
    let first = *bytes.get(at).ok_or(Fault::Truncated)?;
    let header = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 {
        return Err(Fault::Malformed);
    }
    if header < V4_HEADER {
        return Err(Fault::BadIpLength);
    }
    let fixed: &[u8; V4_HEADER] = chunk(bytes, at).ok_or(Fault::Truncated)?;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if total < header {
        return Err(Fault::BadIpLength);
    }
    let end = end(bytes, at, total, length)?;
    let transport = at + header;
    if transport > end {
        return Err(Fault::Truncated);
    }
    // A quoted header may have been changed by a router on the way, which is no fault of the error.
    if length == Length::Whole && !bytes.get(at..transport).is_some_and(checksum::is_right) {
        return Err(Fault::BadIpChecksum);
    }
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]);
    *found = Header {
        ip: at as u16,
        transport: transport as u16,
        protocol: fixed[9],
        part: part(fragment & 0x1fff != 0, fragment & 0x2000 != 0),
        routed: has_stops(bytes.get(at + V4_HEADER..transport).unwrap_or_default()),
        ..Header::NONE
    };
    Ok(end)
}

/// Whether these IPv4 options have a source route with stops left. The search ends at unreadable
/// options, as in a router.
#[inline]
fn has_stops(mut options: &[u8]) -> bool {
    while let [kind, rest @ ..] = options {
        options = match (kind, rest) {
            (&option::END, _) => return false,
            (&option::NOTHING, _) => rest,
            (&(option::LOOSE_ROUTE | option::STRICT_ROUTE), [length, pointer, ..]) => {
                return pointer <= length;
            }
            (_, [length, ..]) if *length >= 2 => {
                options.get(usize::from(*length)..).unwrap_or_default()
            }
            _ => return false,
        };
    }
    false
}

/// Reads the IPv6 header at `at` and its extension headers, in the same way.
#[inline(never)]
pub(super) fn v6(
    bytes: &[u8],
    at: usize,
    length: Length,
    found: &mut Header,
) -> Result<usize, Fault> {
    let first = *bytes.get(at).ok_or(Fault::Truncated)?;
    if first >> 4 != 6 {
        return Err(Fault::Malformed);
    }
    let fixed: &[u8; V6_HEADER] = chunk(bytes, at).ok_or(Fault::Truncated)?;
    if is_mapped(fixed, 8) || is_mapped(fixed, 24) {
        return Err(Fault::Malformed);
    }
    let total = V6_HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let end = end(bytes, at, total, length)?;
    let header = Header {
        ip: at as u16,
        transport: (at + V6_HEADER) as u16,
        protocol: fixed[6],
        ..Header::NONE
    };
    *found = walk(bytes.get(..end).unwrap_or_default(), header)?;
    Ok(end)
}

/// Skips extension headers up to the transport or the first header that Cora does not read.
#[inline]
fn walk(packet: &[u8], mut header: Header) -> Result<Header, Fault> {
    for _ in 0..=MAX_EXTENSIONS {
        let kind = header.protocol;
        if !is_extension(kind) {
            return Ok(header);
        }
        let at = usize::from(header.transport);
        let fixed: &[u8; 8] = chunk(packet, at).ok_or(Fault::Truncated)?;
        let length = extension(kind, fixed[1]);
        if at + length > packet.len() {
            return Err(Fault::Truncated);
        }
        header.transport = (at + length) as u16;
        header.protocol = fixed[0];
        header.routed |= kind == next::ROUTING && fixed[3] > 0;
        if kind == next::FRAGMENT {
            let fragment = u16::from_be_bytes([fixed[2], fixed[3]]);
            header.part = part(fragment & 0xfff8 != 0, fragment & 1 != 0);
            if header.part == Part::Later {
                // The payload of a later fragment doesn't begin with a header.
                return Ok(header);
            }
        }
    }
    Err(Fault::TooManyHeaders)
}

/// Bytes of an extension header of this kind with this length field.
#[inline]
const fn extension(kind: u8, length: u8) -> usize {
    match kind {
        next::FRAGMENT => 8,
        next::AUTHENTICATION => (length as usize + 2) * 4,
        _ => (length as usize + 1) * 8,
    }
}

/// Kind and first eight bytes of each extension header before `transport`, for an IPv6 packet with
/// its header at `ip`.
fn extensions(packet: &[u8], ip: usize, transport: usize) -> impl Iterator<Item = (u8, [u8; 8])> {
    let mut kind = packet.get(ip + 6).copied().unwrap_or_default();
    let mut at = ip + V6_HEADER;
    core::iter::from_fn(move || {
        let fixed: [u8; 8] = if at < transport { *chunk(packet, at)? } else { return None };
        let this = kind;
        at += extension(kind, fixed[1]);
        kind = fixed[0];
        Some((this, fixed))
    })
}

/// The bytes of the last fragment header among them.
pub(super) fn fragment_header(packet: &[u8], ip: usize, transport: usize) -> Option<[u8; 8]> {
    let fragments = extensions(packet, ip, transport).filter(|(kind, _)| *kind == next::FRAGMENT);
    fragments.last().map(|(_, fixed)| fixed)
}

/// Whether one of them is a routing header of type 0 with stops left.
pub(super) fn has_stops_of_type_0(packet: &[u8], ip: usize, transport: usize) -> bool {
    extensions(packet, ip, transport)
        .any(|(kind, [_, _, of, left, ..])| kind == next::ROUTING && of == 0 && left > 0)
}

#[inline]
const fn is_extension(kind: u8) -> bool {
    matches!(
        kind,
        next::HOP_BY_HOP
            | next::ROUTING
            | next::FRAGMENT
            | next::AUTHENTICATION
            | next::DESTINATION
    )
}

#[inline]
const fn part(offset: bool, more: bool) -> Part {
    match (offset, more) {
        (true, _) => Part::Later,
        (false, true) => Part::First,
        (false, false) => Part::Whole,
    }
}

/// Whether the address at `at` is IPv4-mapped. Such addresses must not be on the wire, and would be
/// mistaken for the IPv4 address.
#[inline]
fn is_mapped(fixed: &[u8; V6_HEADER], at: usize) -> bool {
    // The marker first: it is almost never there.
    number(fixed, at + 10) == Some(0xffff) && chunk(fixed, at) == Some(&[0_u8; 10])
}
