//! Changes to header fields, and inserted or removed headers.

use crate::random::Random;
use crate::view::View;
use crate::wire::{ICMP, ICMPV6, TCP, UDP};

/// Values for 16-bit lengths.
const LENGTHS: [u16; 10] = [0, 1, 7, 8, 19, 20, 40, 1_500, 0x8000, 0xffff];
/// Values for protocols and extension headers.
const PROTOCOLS: [u8; 14] = [0, 1, 6, 17, 43, 44, 47, 50, 51, 58, 59, 60, 132, 255];
/// Types of tags, and one other type.
const TAGS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];

/// Changes one header. Returns the new offset of the IP header.
pub(super) fn change(bytes: &mut Vec<u8>, view: &View, random: &mut Random) -> usize {
    match random.below(12) {
        0 => return tag(bytes, view, random),
        1 => first_octet(bytes, view, random),
        2 => total_length(bytes, view, random),
        3 => fragment(bytes, view, random),
        4 => protocol(bytes, view, random),
        5 => hops(bytes, view, random),
        6 => options(bytes, view, random),
        7 => bytes.truncate(view.ip + random.below(64) as usize),
        8 => bytes.truncate(view.transport + random.below(32) as usize),
        9 => quoted(bytes, view, random),
        10 => address(bytes, view, random),
        _ => transport(bytes, view, random),
    }
    view.ip
}

fn is_v4(bytes: &[u8], view: &View) -> bool {
    bytes.get(view.ip).is_some_and(|first| first >> 4 == 4)
}

fn put(bytes: &mut [u8], at: usize, number: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

fn set(bytes: &mut [u8], at: usize, octet: u8) {
    if let Some(place) = bytes.get_mut(at) {
        *place = octet;
    }
}

/// Removes a tag, or inserts one to six.
fn tag(bytes: &mut Vec<u8>, view: &View, random: &mut Random) -> usize {
    if view.ip > 14 && random.percent(40) {
        bytes.drain(12..16);
        return view.ip - 4;
    }
    let count = if random.percent(80) { 1 } else { random.between(2, 6) };
    for _ in 0..count {
        let [kind, control] = [TAGS[random.below(4) as usize], random.next() as u16];
        let tag = [kind.to_be_bytes(), control.to_be_bytes()].concat();
        bytes.splice(12..12, tag);
    }
    view.ip + 4 * count as usize
}

/// Changes the version, or the four bits behind it: IPv4's header length.
fn first_octet(bytes: &mut [u8], view: &View, random: &mut Random) {
    let Some(first) = bytes.get(view.ip).copied() else { return };
    let new = if random.percent(70) {
        first & 0xf0 | random.below(16) as u8
    } else {
        first & 0x0f | (random.below(16) as u8) << 4
    };
    set(bytes, view.ip, new);
}

fn total_length(bytes: &mut [u8], view: &View, random: &mut Random) {
    let at = view.ip + if is_v4(bytes, view) { 2 } else { 4 };
    let Some(old) = bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]])) else {
        return;
    };
    let new = match random.below(3) {
        0 => LENGTHS[random.below(10) as usize],
        1 => old.wrapping_add(random.between(1, 64) as u16),
        _ => old.wrapping_sub(random.between(1, 64) as u16),
    };
    put(bytes, at, new);
}

/// Sets IPv4's word of fragments, or inserts a fragment header of IPv6.
fn fragment(bytes: &mut Vec<u8>, view: &View, random: &mut Random) {
    let offset = if random.percent(40) { 0 } else { random.below(0x2000) as u16 };
    let more = random.percent(60);
    if is_v4(bytes, view) {
        return put(bytes, view.ip + 6, offset | u16::from(more) << 13);
    }
    let [high, low] = (offset << 3 | u16::from(more)).to_be_bytes();
    extend(bytes, view, 44, &[0, high, low, 0, 0, 0, 1]);
}

/// Inserts an extension header of this kind behind the IPv6 header; `rest` is all but its first
/// octet.
fn extend(bytes: &mut Vec<u8>, view: &View, kind: u8, rest: &[u8]) {
    let at = view.ip + 40;
    let Some(next) = bytes.get(view.ip + 6).copied().filter(|_| at <= bytes.len()) else { return };
    let length = bytes[view.ip + 4..].first_chunk().map_or(0, |two| u16::from_be_bytes(*two));
    bytes.splice(at..at, [&[next], rest].concat());
    set(bytes, view.ip + 6, kind);
    put(bytes, view.ip + 4, length.wrapping_add(1 + rest.len() as u16));
}

fn protocol(bytes: &mut [u8], view: &View, random: &mut Random) {
    let at = view.ip + if is_v4(bytes, view) { 9 } else { 6 };
    set(bytes, at, PROTOCOLS[random.below(14) as usize]);
}

fn hops(bytes: &mut [u8], view: &View, random: &mut Random) {
    let at = view.ip + if is_v4(bytes, view) { 8 } else { 7 };
    set(bytes, at, [0, 1, 2, 255][random.below(4) as usize]);
}

/// Inserts options of IPv4, or an extension header of IPv6. Their stated length is right in at
/// least half of the cases.
fn options(bytes: &mut Vec<u8>, view: &View, random: &mut Random) {
    let words = random.between(1, 10) as usize;
    let filling = if random.percent(50) { 1 } else { random.next() as u8 };
    if !is_v4(bytes, view) {
        let kind = [0, 43, 51, 60][random.below(4) as usize];
        let units = if random.percent(50) { words as u8 - 1 } else { random.next() as u8 };
        let mut rest = vec![filling; words * 8 - 1];
        rest[0] = units;
        return extend(bytes, view, kind, &rest);
    }
    let at = view.ip + 20;
    if at > bytes.len() {
        return;
    }
    let total = bytes[view.ip + 2..].first_chunk().map_or(0, |two| u16::from_be_bytes(*two));
    bytes.splice(at..at, std::iter::repeat_n(filling, words * 4));
    put(bytes, view.ip + 2, total.wrapping_add(words as u16 * 4));
    let header = if random.percent(80) { 5 + words as u8 } else { random.below(16) as u8 };
    set(bytes, view.ip, 0x40 | header.min(15));
}

/// Truncates an error's quote, or changes the packet in it.
fn quoted(bytes: &mut Vec<u8>, view: &View, random: &mut Random) {
    let Some(inner) = view.quoted(bytes) else { return transport(bytes, view, random) };
    match random.below(4) {
        0 => first_octet(bytes, &inner, random),
        1 => fragment(bytes, &inner, random),
        2 => protocol(bytes, &inner, random),
        _ => bytes.truncate(inner.ip + random.below(48) as usize),
    }
}

/// Changes one octet of an address.
fn address(bytes: &mut [u8], view: &View, random: &mut Random) {
    let (at, octets) = if is_v4(bytes, view) { (12, 8) } else { (8, 32) };
    set(bytes, view.ip + at + random.below(octets) as usize, random.next() as u8);
}

/// Changes a field of the transport.
fn transport(bytes: &mut [u8], view: &View, random: &mut Random) {
    let (at, octet) = (view.transport, random.next() as u8);
    match view.protocol {
        TCP if random.percent(50) => set(bytes, at + 12, octet & 0xf0),
        TCP => set(bytes, at + 13, octet),
        UDP if random.percent(70) => put(bytes, at + 4, LENGTHS[random.below(10) as usize]),
        UDP => put(bytes, at + 6, if random.percent(50) { 0 } else { random.next() as u16 }),
        ICMP | ICMPV6 => set(bytes, at, if random.percent(50) { octet & 15 } else { octet }),
        _ => set(bytes, at + random.below(20) as usize, octet),
    }
}
