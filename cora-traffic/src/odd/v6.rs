//! The IPv6 header, extension headers, fragments.

use super::{Collection, IP, path, put};
use crate::wire::{self, ICMPV6, Path, UDP};

const HEADER: usize = 40;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AUTHENTICATION: u8 = 51;
const NO_NEXT: u8 = 59;
const DESTINATION: u8 = 60;

fn datagram() -> Vec<u8> {
    wire::udp(&path(true), &[0x66; 40], true)
}

fn plain() -> Vec<u8> {
    wire::frame(&path(true), UDP, &datagram())
}

/// Makes a datagram behind these extension headers; the first is of this kind, and the last must
/// lead to UDP.
fn behind(kind: u8, headers: &[u8]) -> Vec<u8> {
    let bytes = [headers, &datagram()].concat();
    wire::frame(&path(true), kind, &bytes)
}

/// Makes an extension header of `units` units of eight bytes beyond the first, as it states.
fn extension(next: u8, units: u8) -> Vec<u8> {
    let mut header = vec![next, units, 1, 4, 0, 0, 0, 0];
    header.resize(8 + usize::from(units) * 8, 0);
    header
}

pub(super) fn collect(odd: &mut Collection) {
    let plain = plain();
    odd.cut("ipv6-cut-at", &plain, IP + 1..IP + HEADER);
    odd.cut("ipv6-datagram-cut-at", &plain, IP + HEADER..IP + HEADER + 10);
    for version in [0, 4, 5, 7, 15] {
        odd.changed(format!("ipv6-version-{version}"), &plain, |frame| frame[IP] = version << 4);
    }
    let right = (plain.len() - IP - HEADER) as u16;
    for length in [0, 1, 7, 8, 9, right - 1, right + 1, right + 8, 0x8000, 0xffff] {
        odd.changed(format!("ipv6-payload-length-{length}"), &plain, |f| put(f, IP + 4, length));
    }
    for hops in [0, 1, 255] {
        odd.changed(format!("ipv6-hops-{hops}"), &plain, |frame| frame[IP + 7] = hops);
    }
    jumbograms(odd);
    extensions(odd);
    chains(odd);
    fragments(odd);
    addresses(odd, &plain);
    control(odd);
    for next in [1, 2, 4, 33, 41, 47, 89, 103, 135, 136, 139, 140, 253, 255] {
        let frame = wire::frame(&path(true), next, &[0x60; 48]);
        odd.add(format!("ipv6-next-header-{next}"), frame);
    }
}

/// Adds jumbograms (RFC 2675): lengths beyond 65,535, and others, in an option.
fn jumbograms(odd: &mut Collection) {
    let option = |length: u32| {
        let mut header = vec![UDP, 0, 0xc2, 4];
        header.extend(length.to_be_bytes());
        behind(HOP_BY_HOP, &header)
    };
    for length in [0, 56, 65_535, 65_536, u32::MAX] {
        let mut frame = option(length);
        put(&mut frame, IP + 4, 0);
        odd.add(format!("ipv6-jumbogram-of-{length}"), frame);
    }
    odd.add("ipv6-jumbogram-with-a-length", option(65_536));
}

fn extensions(odd: &mut Collection) {
    let kinds = [
        ("hop-by-hop", HOP_BY_HOP),
        ("routing", ROUTING),
        ("authentication", AUTHENTICATION),
        ("destination", DESTINATION),
    ];
    for (name, kind) in kinds {
        // Authentication states its length in units of four bytes, less two.
        let one = if kind == AUTHENTICATION {
            vec![UDP, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        } else {
            extension(UDP, 0)
        };
        odd.add(format!("ipv6-{name}"), behind(kind, &one));
        for units in [1, 5, 12, 255] {
            let mut header = one.clone();
            header[1] = units;
            odd.add(format!("ipv6-{name}-that-says-{units}"), behind(kind, &header));
        }
        for length in 1..8 {
            let frame = wire::frame(&path(true), kind, &one[..length]);
            odd.add(format!("ipv6-{name}-cut-at-{length}"), frame);
        }
    }
    for (name, options) in [
        ("one-byte-padding", [0, 0, 0, 0, 0, 0]),
        ("length-beyond-header", [1, 200, 0, 0, 0, 0]),
        ("unknown-to-be-refused", [0xff, 4, 0, 0, 0, 0]),
        ("router-alert", [5, 2, 0, 0, 1, 0]),
    ] {
        let header = [&[UDP, 0], &options[..]].concat();
        odd.add(format!("ipv6-option-{name}"), behind(HOP_BY_HOP, &header));
    }
    for (name, kind, left) in
        [("0", 0, 1), ("2", 2, 1), ("4", 4, 1), ("0-done", 0, 0), ("3-of-many", 3, 255)]
    {
        let mut header = extension(UDP, 2);
        (header[2], header[3]) = (kind, left);
        odd.add(format!("ipv6-route-of-type-{name}"), behind(ROUTING, &header));
    }
}

/// Adds several extension headers in a row.
fn chains(odd: &mut Collection) {
    for count in [2, 7, 8, 9, 10, 100] {
        let mut chain = extension(DESTINATION, 0).repeat(count - 1);
        chain.extend(extension(UDP, 0));
        odd.add(format!("ipv6-destination-times-{count}"), behind(DESTINATION, &chain));
        chain
            .chunks_mut(8)
            .for_each(|header| header[0] = if header[0] == UDP { UDP } else { HOP_BY_HOP });
        odd.add(format!("ipv6-hop-by-hop-times-{count}"), behind(HOP_BY_HOP, &chain));
    }
    let endless = wire::frame(&path(true), HOP_BY_HOP, &extension(HOP_BY_HOP, 0).repeat(3));
    odd.add("ipv6-hop-by-hop-to-the-end", endless);
    let all = [
        extension(DESTINATION, 0),
        extension(ROUTING, 1),
        extension(DESTINATION, 2),
        extension(UDP, 0),
    ];
    odd.add("ipv6-all-kinds", behind(HOP_BY_HOP, &all.concat()));
    odd.add(
        "ipv6-hop-by-hop-late",
        behind(DESTINATION, &[extension(HOP_BY_HOP, 0), extension(UDP, 0)].concat()),
    );
    odd.add("ipv6-esp", behind(ESP, &[1; 16]));
    odd.add("ipv6-destination-then-esp", behind(DESTINATION, &extension(ESP, 0)));
    odd.add("ipv6-no-next-header", wire::frame(&path(true), NO_NEXT, &[]));
    odd.add("ipv6-no-next-header-but-more", wire::frame(&path(true), NO_NEXT, &[9; 20]));
    odd.add("ipv6-destination-then-none", behind(DESTINATION, &extension(NO_NEXT, 0)));
}

fn fragments(odd: &mut Collection) {
    let header = |next: u8, word: u16| {
        let [high, low] = word.to_be_bytes();
        [next, 0, high, low, 0, 0, 0x0d, 0x0d]
    };
    for (name, word) in [
        ("atomic", 0),
        ("first", 1),
        ("middle", 0x0101),
        ("last", 0x0100),
        ("second-octets", 8),
        ("at-the-end", 0xfff8),
        ("beyond-the-end", 0xfff9),
        ("reserved-bits", 6),
    ] {
        odd.add(format!("ipv6-fragment-{name}"), behind(FRAGMENT, &header(UDP, word)));
    }
    let twice = [header(FRAGMENT, 0), header(UDP, 1)].concat();
    odd.add("ipv6-fragment-atomic-then-first", behind(FRAGMENT, &twice));
    let both = [header(FRAGMENT, 1), header(UDP, 1)].concat();
    odd.add("ipv6-fragment-of-a-fragment", behind(FRAGMENT, &both));
    let later = [header(FRAGMENT, 0), header(UDP, 0x0100)].concat();
    odd.add("ipv6-fragment-atomic-then-later", behind(FRAGMENT, &later));
    let before = [header(DESTINATION, 1).to_vec(), extension(UDP, 0)].concat();
    odd.add("ipv6-fragment-before-options", behind(FRAGMENT, &before));
    for length in 1..8 {
        let cut = wire::frame(&path(true), FRAGMENT, &header(UDP, 1)[..length]);
        odd.add(format!("ipv6-fragment-cut-at-{length}"), cut);
    }
    let tiny = [&header(wire::TCP, 1)[..], &[0; 8]].concat();
    odd.add("ipv6-fragment-tiny", wire::frame(&path(true), FRAGMENT, &tiny));
}

fn addresses(odd: &mut Collection, plain: &[u8]) {
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7];
    let mut loopback = [0; 16];
    loopback[15] = 1;
    let mut multicast = [0; 16];
    (multicast[0], multicast[1], multicast[15]) = (0xff, 2, 1);
    for (name, address) in [
        ("mapped", mapped),
        ("unspecified", [0; 16]),
        ("loopback", loopback),
        ("multicast", multicast),
    ] {
        for (end, at) in [("from", IP + 8), ("to", IP + 24)] {
            odd.changed(format!("ipv6-{end}-{name}"), plain, |frame| {
                frame[at..at + 16].copy_from_slice(&address);
            });
        }
    }
}

/// Adds link control messages, and some that came through a router by their hop limit.
fn control(odd: &mut Collection) {
    for (name, kind) in [
        ("listener-query", 130),
        ("listener-report", 143),
        ("router-solicitation", 133),
        ("router-advertisement", 134),
        ("neighbour-solicitation", 135),
        ("neighbour-advertisement", 136),
        ("redirect", 137),
    ] {
        for hops in [1, 64, 255] {
            let path = Path { hops, ..path(true) };
            let message = wire::icmp(&path, [kind, 0], [0; 4], &[0; 16]);
            odd.add(format!("ipv6-{name}-hops-{hops}"), wire::frame(&path, ICMPV6, &message));
        }
    }
}
