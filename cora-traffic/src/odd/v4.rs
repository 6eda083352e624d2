//! The IPv4 header, its options, fragments, protocols.

use super::{Collection, IP, path, put, sum_header};
use crate::wire::{self, ACK, Fragment, ICMP, Segment, TCP, UDP};

const HEADER: usize = 20;
const PAYLOAD: usize = 40;

/// Makes a datagram without an oddity.
pub(super) fn plain() -> Vec<u8> {
    let path = path(false);
    wire::frame(&path, UDP, &wire::udp(&path, &[0x55; PAYLOAD], true))
}

/// Makes a datagram in a frame of `frame` bytes.
pub(super) fn long(frame: usize) -> Vec<u8> {
    let path = path(false);
    wire::frame(&path, UDP, &wire::udp(&path, &vec![0x55; frame - IP - HEADER - 8], true))
}

/// Makes a datagram with IPv4 options; their length must be a multiple of four.
pub(super) fn with_options(options: &[u8]) -> Vec<u8> {
    let mut frame = plain();
    frame.splice(IP + HEADER..IP + HEADER, options.iter().copied());
    frame[IP] = 0x45 + options.len() as u8 / 4;
    let total = (frame.len() - IP) as u16;
    put(&mut frame, IP + 2, total);
    sum_header(&mut frame, IP);
    frame
}

pub(super) fn collect(odd: &mut Collection) {
    let plain = plain();
    odd.cut("ipv4-cut-at", &plain, IP + 1..IP + HEADER);
    odd.cut("ipv4-datagram-cut-at", &plain, IP + HEADER..IP + HEADER + 10);
    for version in [0, 1, 5, 6, 15] {
        odd.changed(format!("ipv4-version-{version}"), &plain, |f| f[IP] = version << 4 | 5);
    }
    for words in (0..5).chain(6..16) {
        odd.changed(format!("ipv4-header-of-{words}-words"), &plain, |f| f[IP] = 0x40 | words);
    }
    lengths(odd, &plain);
    options(odd);
    checksums(odd, &plain);
    fragments(odd, &plain);
    for ttl in [0, 1, 255] {
        odd.changed(format!("ipv4-ttl-{ttl}"), &plain, |f| f[IP + 8] = ttl);
    }
    odd.changed("ipv4-tos-0xff", &plain, |frame| frame[IP + 1] = 0xff);
    addresses(odd, &plain);
    for protocol in
        [0, 2, 3, 4, 8, 33, 41, 46, 47, 50, 51, 58, 59, 60, 89, 94, 103, 112, 115, 136, 255]
    {
        let frame = wire::frame(&path(false), protocol, &[0x45; 48]);
        odd.add(format!("ipv4-protocol-{protocol}"), frame);
    }
}

fn lengths(odd: &mut Collection, plain: &[u8]) {
    let right = (plain.len() - IP) as u16;
    let lengths =
        [0, 1, 19, 20, 21, 27, 28, 29, right - 1, right + 1, right + 4, 0x7fff, 0x8000, 0xffff];
    for length in lengths {
        odd.changed(format!("ipv4-total-length-{length}"), plain, |f| put(f, IP + 2, length));
    }
    odd.changed("ipv4-options-longer-than-packet", &with_options(&[1; 40]), |frame| {
        put(frame, IP + 2, 59);
    });
}

fn options(odd: &mut Collection) {
    let options: [(&str, &[u8]); 20] = [
        ("nothing", &[1; 4]),
        ("end", &[0, 0, 0, 0]),
        ("end-then-garbage", &[0, 7, 0xff, 0xff]),
        ("length-0", &[7, 0, 0, 0]),
        ("length-1", &[7, 1, 0, 0]),
        ("length-2", &[7, 2, 1, 1]),
        ("length-beyond-header", &[7, 60, 4, 0]),
        ("length-255", &[7, 255, 4, 0]),
        ("no-room-for-length", &[1, 1, 1, 7]),
        ("router-alert", &[0x94, 4, 0, 0]),
        ("record-route", &[7, 7, 4, 0, 0, 0, 0, 0]),
        ("record-route-full", &[7, 7, 8, 10, 0, 0, 1, 0]),
        ("record-route-pointer-0", &[7, 7, 0, 10, 0, 0, 1, 0]),
        ("loose-route-stops-left", &[0x83, 7, 4, 10, 9, 9, 9, 0]),
        ("loose-route-done", &[0x83, 7, 8, 10, 9, 9, 9, 0]),
        ("strict-route-stops-left", &[0x89, 7, 4, 10, 9, 9, 9, 0]),
        ("time-stamp", &[0x44, 8, 5, 0, 0, 0, 0, 0]),
        ("time-stamp-overflowed", &[0x44, 8, 9, 0xf0, 0, 0, 0, 0]),
        ("unknown", &[0xde, 4, 0xad, 0xbf]),
        ("twice", &[0x94, 4, 0, 0, 0x94, 4, 0, 0]),
    ];
    for (name, bytes) in options {
        odd.add(format!("ipv4-option-{name}"), with_options(bytes));
    }
    odd.add("ipv4-options-of-40", with_options(&[1; 40]));
    odd.cut("ipv4-options-cut-at", &with_options(&[1; 40]), IP + 58..IP + 61);
}

fn checksums(odd: &mut Collection, plain: &[u8]) {
    let at = IP + 10;
    let right = u16::from_be_bytes([plain[at], plain[at + 1]]);
    for (name, sum) in [
        ("zero", 0),
        ("0xffff", 0xffff),
        ("off-by-one", right.wrapping_add(1)),
        ("inverted", !right),
        ("swapped", right.swap_bytes()),
    ] {
        let mut frame = plain.to_vec();
        put(&mut frame, at, sum);
        odd.add(format!("ipv4-checksum-{name}"), frame);
    }
    // This identification makes zero the right checksum; another frame has the other zero.
    let mut zero = plain.to_vec();
    let id = u16::from_be_bytes([zero[IP + 4], zero[IP + 5]]);
    let sum = u32::from(id) + u32::from(right);
    put(&mut zero, IP + 4, ((sum & 0xffff) + (sum >> 16)) as u16);
    put(&mut zero, at, 0);
    odd.add("ipv4-checksum-rightly-zero", zero.clone());
    put(&mut zero, at, 0xffff);
    odd.add("ipv4-checksum-the-other-zero", zero);
    let mut options = with_options(&[1; 4]);
    options[IP + HEADER] = 0;
    odd.add("ipv4-checksum-wrong-in-options", options);
}

fn fragments(odd: &mut Collection, plain: &[u8]) {
    let words = [
        ("first", 0x2000),
        ("first-that-may-not-be", 0x6000),
        ("middle", 0x2004),
        ("last", 0x0004),
        ("second-octets", 0x0001),
        ("at-the-end", 0x1fff),
        ("beyond-the-end", 0x3fff),
        ("evil-bit", 0x8000),
        ("all-bits", 0xffff),
    ];
    for (name, word) in words {
        odd.changed(format!("ipv4-fragment-{name}"), plain, |frame| put(frame, IP + 6, word));
    }
    let path = path(false);
    let segment =
        Segment { flags: ACK, sequence: 1, acknowledgement: 2, options: &[], payload: &[1; 32] };
    let whole = wire::tcp(&path, &segment);
    let place = |offset, more| Fragment { offset, more };
    for (name, protocol, bytes, offset, more) in [
        ("tcp-first", TCP, &whole[..24], 0, true),
        ("tcp-tiny", TCP, &whole[..8], 0, true),
        ("tcp-tiniest", TCP, &whole[..0], 0, true),
        ("tcp-overlapping-header", TCP, &whole[8..32], 8, true),
        ("tcp-overlapping", TCP, &whole[16..48], 16, true),
        ("tcp-middle", TCP, &whole[24..40], 24, true),
        ("tcp-middle-of-odd-length", TCP, &whole[24..37], 24, true),
        ("tcp-last", TCP, &whole[40..], 40, false),
        ("empty-last", TCP, &whole[..0], 48, false),
        ("icmp-first", ICMP, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0][..], 0, true),
        ("icmp-error-first", ICMP, &[3, 0, 0xfc, 0xff, 0, 0, 0, 0][..], 0, true),
        ("unknown-first", 47, &whole[..16], 0, true),
    ] {
        let frame = wire::fragment(&path, protocol, bytes, place(offset, more));
        odd.add(format!("ipv4-fragment-{name}"), frame);
    }
}

fn addresses(odd: &mut Collection, plain: &[u8]) {
    let (source, destination) = (IP + 12, IP + 16);
    for (name, at, address) in [
        ("from-nowhere", source, [0; 4]),
        ("from-everybody", source, [255; 4]),
        ("from-loopback", source, [127, 0, 0, 1]),
        ("from-multicast", source, [224, 0, 0, 1]),
        ("to-nowhere", destination, [0; 4]),
        ("to-everybody", destination, [255; 4]),
        ("to-loopback", destination, [127, 0, 0, 1]),
        ("to-multicast", destination, [224, 0, 0, 251]),
        ("to-class-e", destination, [240, 1, 2, 3]),
        ("to-itself", destination, [10, 0, 0, 7]),
    ] {
        odd.changed(format!("ipv4-{name}"), plain, |frame| {
            frame[at..at + 4].copy_from_slice(&address);
        });
    }
}
