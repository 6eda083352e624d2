//! TCP, UDP, ICMP, SCTP, over both IP versions.

use super::{Collection, path, put};
use crate::wire::{self, ACK, FIN, PSH, RST, SYN, Segment, TCP, UDP};

const SCTP: u8 = 132;

/// Returns the offset of the transport.
fn start(v6: bool) -> usize {
    if v6 { 54 } else { 34 }
}

fn version(v6: bool) -> &'static str {
    if v6 { "ipv6" } else { "ipv4" }
}

pub(super) fn collect(odd: &mut Collection, v6: bool) {
    tcp(odd, v6);
    udp(odd, v6);
    icmp(odd, v6);
    sctp(odd, v6);
}

/// Adds transports that end too soon, in packets of the matching length.
fn short(odd: &mut Collection, name: &str, protocol: u8, whole: &[u8], v6: bool) {
    for length in 0..whole.len() {
        let frame = wire::frame(&path(v6), protocol, &whole[..length]);
        odd.add(format!("{}-{name}-of-{length}", version(v6)), frame);
    }
}

fn tcp(odd: &mut Collection, v6: bool) {
    let (path, at, ip) = (path(v6), start(v6), version(v6));
    let segment = |flags: u8, options: &[u8], payload: &[u8]| {
        let segment = Segment { flags, sequence: 7, acknowledgement: 8, options, payload };
        wire::tcp(&path, &segment)
    };
    let bare = segment(ACK, &[], &[]);
    short(odd, "tcp", TCP, &bare, v6);
    let usual = wire::frame(&path, TCP, &segment(ACK, &[], &[0x77; 20]));
    for words in (0..5).chain([6, 10, 11, 15]) {
        odd.changed(format!("{ip}-tcp-header-of-{words}-words"), &usual, |frame| {
            frame[at + 12] = words << 4;
        });
    }
    for (name, flags) in [
        ("none", 0),
        ("all", 0xff),
        ("syn-fin", SYN | FIN),
        ("syn-rst", SYN | RST),
        ("fin-alone", FIN),
        ("fin-push-urgent", FIN | PSH | 0x20),
        ("syn-ack", SYN | ACK),
        ("rst-ack", RST | ACK),
    ] {
        odd.add(
            format!("{ip}-tcp-flags-{name}"),
            wire::frame(&path, TCP, &segment(flags, &[], &[])),
        );
    }
    for (name, options) in [
        ("length-0", [3, 0, 0, 0]),
        ("length-1", [2, 1, 0, 0]),
        ("length-beyond-header", [2, 40, 5, 0xb4]),
        ("end", [0, 0xff, 0xff, 0xff]),
        ("unknown", [0xfd, 4, 1, 2]),
    ] {
        let frame = wire::frame(&path, TCP, &segment(SYN, &options, &[]));
        odd.add(format!("{ip}-tcp-option-{name}"), frame);
    }
    odd.changed(format!("{ip}-tcp-checksum-zero"), &usual, |frame| put(frame, at + 16, 0));
    odd.changed(format!("{ip}-tcp-checksum-wrong"), &usual, |frame| frame[at + 17] ^= 0x10);
    odd.changed(format!("{ip}-tcp-ports-zero"), &usual, |frame| frame[at..at + 4].fill(0));
    odd.changed(format!("{ip}-tcp-ports-alike"), &usual, |frame| frame[at..at + 4].fill(0x50));
    odd.changed(format!("{ip}-tcp-window-zero"), &usual, |frame| put(frame, at + 14, 0));
    odd.changed(format!("{ip}-tcp-urgent-beyond"), &usual, |frame| put(frame, at + 18, 0xffff));
}

fn udp(odd: &mut Collection, v6: bool) {
    let (path, at, ip) = (path(v6), start(v6), version(v6));
    short(odd, "udp", UDP, &wire::udp(&path, &[], true), v6);
    odd.add(format!("{ip}-udp-empty"), wire::frame(&path, UDP, &wire::udp(&path, &[], true)));
    let usual = wire::frame(&path, UDP, &wire::udp(&path, &[0x33; 21], true));
    for length in [0, 1, 7, 8, 9, 28, 30, 0x8000, 0xffff] {
        odd.changed(format!("{ip}-udp-length-{length}"), &usual, |f| put(f, at + 4, length));
    }
    odd.add(
        format!("{ip}-udp-without-checksum"),
        wire::frame(&path, UDP, &wire::udp(&path, &[9; 5], false)),
    );
    odd.changed(format!("{ip}-udp-checksum-wrong"), &usual, |frame| frame[at + 7] ^= 0x10);
    odd.changed(format!("{ip}-udp-ports-zero"), &usual, |frame| frame[at..at + 4].fill(0));
}

fn icmp(odd: &mut Collection, v6: bool) {
    let (path, ip) = (path(v6), version(v6));
    let protocol = wire::icmp_protocol(&path);
    let echo = if v6 { 128 } else { 8 };
    short(odd, "icmp", protocol, &wire::icmp(&path, [echo, 0], [0, 9, 0, 1], &[]), v6);
    for kind in
        [0, 6, 7, 8, 9, 10, 13, 14, 15, 17, 30, 42, 100, 127, 128, 129, 138, 144, 160, 200, 255]
    {
        let message = wire::icmp(&path, [kind, 0], [0, 9, 0, 1], &[]);
        odd.add(format!("{ip}-icmp-type-{kind}"), wire::frame(&path, protocol, &message));
    }
    let message = wire::icmp(&path, [echo, 255], [0xff; 4], &[0xff; 3]);
    odd.add(format!("{ip}-icmp-code-255"), wire::frame(&path, protocol, &message));
    let at = start(v6);
    odd.changed(
        format!("{ip}-icmp-checksum-wrong"),
        &wire::frame(&path, protocol, &message),
        |frame| {
            frame[at + 3] ^= 1;
        },
    );
    if !v6 {
        // Only zeros: the one message with the other zero as its checksum.
        odd.add(
            format!("{ip}-icmp-zeros"),
            wire::frame(&path, protocol, &[0, 0, 0xff, 0xff, 0, 0, 0, 0, 0]),
        );
    }
}

fn sctp(odd: &mut Collection, v6: bool) {
    let (path, ip) = (path(v6), version(v6));
    let mut init = vec![0x0f, 0xa7, 0x01, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0];
    short(odd, "sctp", SCTP, &init, v6);
    odd.add(format!("{ip}-sctp-without-chunks"), wire::frame(&path, SCTP, &init));
    init.extend([1, 0, 0, 20, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
    odd.add(format!("{ip}-sctp-init"), wire::frame(&path, SCTP, &init));
    init[15] = 255;
    odd.add(format!("{ip}-sctp-chunk-too-long"), wire::frame(&path, SCTP, &init));
}
