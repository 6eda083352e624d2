//! Replaces the address and port at one end of an IPv4 packet, and updates its checksums (RFC
//! 1624).

use super::tuple::HEADERS;

/// An end of the packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Destination,
}

const IP_SUM: usize = 24;
const PROTOCOL: usize = 23;
const TCP_SUM: usize = 50;
const UDP_SUM: usize = 40;

/// Rewrites an end; address and port are in network order, as in the frame.
#[inline(always)]
pub(crate) fn rewrite(frame: &mut [u8], end: End, address: u32, port: u16) {
    // Frames of the fast path are not shorter.
    let Some(frame) = frame.first_chunk_mut() else { return };
    let (address_at, port_at) = match end {
        End::Source => (26, 34),
        End::Destination => (30, 36),
    };
    let old_address = u32::from_ne_bytes([0, 1, 2, 3].map(|byte| frame[address_at + byte]));
    let address_change = halves(!old_address) + halves(address);
    let port_change = u32::from(!read(frame, port_at)) + u32::from(port);
    frame[address_at..address_at + 4].copy_from_slice(&address.to_ne_bytes());
    write(frame, port_at, port);
    let ip_sum = changed(read(frame, IP_SUM), address_change);
    write(frame, IP_SUM, ip_sum);
    let change = address_change + port_change;
    if frame[PROTOCOL] == 6 {
        let sum = changed(read(frame, TCP_SUM), change);
        write(frame, TCP_SUM, sum);
    } else if read(frame, UDP_SUM) != 0 {
        // In UDP, 0 means no checksum; its other form is the same sum.
        let sum = changed(read(frame, UDP_SUM), change);
        write(frame, UDP_SUM, if sum == 0 { u16::MAX } else { sum });
    }
}

/// Returns the sum of a word's halves.
#[inline(always)]
const fn halves(word: u32) -> u32 {
    (word & 0xffff) + (word >> 16)
}

/// Returns the checksum after a change: the complement of the old words and the new ones, added up.
/// The sum is the same in any byte order, so no word needs a byte swap.
#[inline(always)]
const fn changed(sum: u16, change: u32) -> u16 {
    !(halves(halves(!sum as u32 + change)) as u16)
}

#[inline(always)]
fn read(frame: &[u8; HEADERS], at: usize) -> u16 {
    u16::from_ne_bytes([frame[at], frame[at + 1]])
}

#[inline(always)]
fn write(frame: &mut [u8; HEADERS], at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_ne_bytes());
}
