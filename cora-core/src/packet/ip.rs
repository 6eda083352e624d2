//! IP headers, from the version to the transport.

use super::layers::{Fault, Header, Part, chunk, number};

/// Extension headers that are walked over; more are refused.
const MAX_EXTENSIONS: usize = 8;

const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;

mod next {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
}

/// How much of the packet must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// All of it.
    Whole,
    /// Its beginning, as in an ICMP error.
    Quoted,
}

/// Where a packet of `total` bytes ends that begins at `at`.
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

/// Reads the IPv4 header at `at`; the second value is where the packet ends.
/// One copy serves the packet and what it quotes: plain packets don't come here.
#[inline(never)]
pub(super) fn v4(bytes: &[u8], at: usize, length: Length) -> Result<(Header, usize), Fault> {
    let first = *bytes.get(at).ok_or(Fault::Truncated)?;
    let header = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header < V4_HEADER {
        return Err(Fault::Malformed);
    }
    let fixed: &[u8; V4_HEADER] = chunk(bytes, at).ok_or(Fault::Truncated)?;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if total < header {
        return Err(Fault::Malformed);
    }
    let end = end(bytes, at, total, length)?;
    let transport = at + header;
    if transport > end {
        return Err(Fault::Truncated);
    }
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]);
    let header = Header {
        ip: at as u16,
        transport: transport as u16,
        protocol: fixed[9],
        part: part(fragment & 0x1fff != 0, fragment & 0x2000 != 0),
        ..Header::NONE
    };
    Ok((header, end))
}

/// Reads the IPv6 header at `at` and its extension headers; the second value is where the packet
/// ends. One copy, as of [`v4`].
#[inline(never)]
pub(super) fn v6(bytes: &[u8], at: usize, length: Length) -> Result<(Header, usize), Fault> {
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
    Ok((walk(bytes.get(..end).unwrap_or_default(), header)?, end))
}

/// Steps over extension headers, to the transport or the first header that Cora does not read.
#[inline]
fn walk(packet: &[u8], mut header: Header) -> Result<Header, Fault> {
    for _ in 0..=MAX_EXTENSIONS {
        let kind = header.protocol;
        if !is_extension(kind) {
            return Ok(header);
        }
        let at = usize::from(header.transport);
        let fixed: &[u8; 8] = chunk(packet, at).ok_or(Fault::Truncated)?;
        let length = match kind {
            next::FRAGMENT => 8,
            next::AUTHENTICATION => (usize::from(fixed[1]) + 2) * 4,
            _ => (usize::from(fixed[1]) + 1) * 8,
        };
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
                // What follows is the middle of something, not a header.
                return Ok(header);
            }
        }
    }
    Err(Fault::Malformed)
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

/// Whether the address at `at` is IPv4 written as IPv6, which must not be on the wire and would be
/// mistaken for the IPv4 address.
#[inline]
fn is_mapped(fixed: &[u8; V6_HEADER], at: usize) -> bool {
    // The marker first: it is nearly never there.
    number(fixed, at + 10) == Some(0xffff) && chunk(fixed, at) == Some(&[0_u8; 10])
}
