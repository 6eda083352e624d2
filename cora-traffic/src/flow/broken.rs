//! Frames that are wrong on purpose, each in one way.

use super::Queue;
use super::tcp::segment;
use crate::random::Random;
use crate::wire::{self, ACK, Fragment, PSH, Path, Tags, UDP};

/// Makes one frame that no receiver would accept.
pub(crate) fn broken(path: &Path, random: &mut Random) -> Queue {
    let path = Path { tags: Tags::None, options: false, ..*path };
    let ip = 14;
    let transport = if path.is_v6() { 54 } else { 34 };
    let mut bytes = segment(&path, PSH | ACK, random.next() as u32, 7, &[0x41; 64]);
    match random.below(14) {
        0 => bytes.truncate(random.below(14) as usize),
        1 => bytes.truncate(random.between(14, transport as u64) as usize),
        2 => bytes.truncate(random.between(transport as u64, transport as u64 + 19) as usize),
        3 => bytes[ip] = (bytes[ip] & 0x0f) | 0x50, // neither version
        4 => longer_than_the_frame(&mut bytes, &path),
        5 => shorter_than_its_headers(&mut bytes, &path),
        6 => bytes[transport + 12] = 0x30, // TCP header of 12 octets
        7 => bytes[transport + 12] = 0xf0, // TCP header of 60 octets
        8 => bytes[transport + 16] ^= 0x55, // checksum
        9 => bytes = false_length(&path),
        10 => bytes = endless_headers(&path),
        11 => bytes = truncated_quote(&path),
        12 => bytes = tiny_fragment(&path),
        _ => bytes.iter_mut().skip(ip).for_each(|octet| *octet = random.next() as u8),
    }
    let mut queue = Queue::default();
    queue.push_broken(0, bytes);
    queue
}

fn longer_than_the_frame(bytes: &mut [u8], path: &Path) {
    let at = if path.is_v6() { 18 } else { 16 };
    bytes[at..at + 2].copy_from_slice(&4_000_u16.to_be_bytes());
}

fn shorter_than_its_headers(bytes: &mut [u8], path: &Path) {
    if path.is_v6() {
        bytes[18..20].copy_from_slice(&3_u16.to_be_bytes());
    } else if path.id & 1 == 0 {
        bytes[14] = 0x43; // a header of 12 octets
    } else {
        bytes[16..18].copy_from_slice(&21_u16.to_be_bytes());
    }
}

/// Makes a datagram with a UDP length that is not the packet's.
fn false_length(path: &Path) -> Vec<u8> {
    let mut datagram = wire::udp(path, &[0x42; 40], true);
    let length: u16 = if path.id & 1 == 0 { 4 } else { 900 };
    datagram[4..6].copy_from_slice(&length.to_be_bytes());
    wire::frame(path, UDP, &datagram)
}

/// Makes an IPv6 chain of destination options without an end, or IPv4 options beyond the header.
fn endless_headers(path: &Path) -> Vec<u8> {
    if !path.is_v6() {
        let mut bytes = wire::frame(&Path { options: true, ..*path }, UDP, &[0; 8]);
        bytes[35] = 60;
        return bytes;
    }
    let link = [60, 0, 1, 4, 0, 0, 0, 0];
    wire::frame(path, 60, &link.repeat(20))
}

/// Makes an ICMP error with too short a quote.
fn truncated_quote(path: &Path) -> Vec<u8> {
    let back = path.back();
    let kind = if path.is_v6() { [1, 4] } else { [3, 3] };
    let message = wire::icmp(&back, kind, [0; 4], &[0x45, 0, 0, 28, 0, 0, 0]);
    wire::frame(&back, wire::icmp_protocol(&back), &message)
}

/// Makes a fragment that ends within the transport's header (RFC 1858).
fn tiny_fragment(path: &Path) -> Vec<u8> {
    wire::fragment(path, wire::TCP, &[0; 8], Fragment { offset: 0, more: true })
}
