//! Rewrites keep every checksum correct; smoltcp verifies them.

mod packet_support;

use cora_core::key::Address;
use cora_core::packet::{Packet, TtlExceeded, checksum};
use cora_core::verdict::reasons::{
    BadIpChecksum, BadTransportLength, Fragment, Malformed, NoFlow, NotIp, Truncated,
};
use packet_support::*;

/// The other addresses, to rewrite to.
fn new_ends(ends: (Address, Address)) -> (Address, Address) {
    if ends.0.is_v4() { (N4, Address::v4([255, 255, 0, 0])) } else { (N6, R6) }
}

/// Rewrites all four parts of the flow, with a check after each.
#[track_caller]
fn rewrite_all(frame: &mut [u8], to: (Address, Address), ports: (u16, u16)) {
    let steps: [&dyn Fn(&mut Packet<'_>); 4] = [
        &|packet| packet.set_source(to.0).expect("a source"),
        &|packet| packet.set_destination(to.1).expect("a destination"),
        &|packet| packet.set_source_port(ports.0).expect("a source port"),
        &|packet| packet.set_destination_port(ports.1).expect("a destination port"),
    ];
    for step in steps {
        step(&mut packet(frame));
        judge(frame);
        assert!(checksum::verify(&packet(frame)));
    }
    let packet = packet(frame);
    let flow = packet.flow().expect("a flow");
    assert_eq!((flow.source, flow.destination), to);
    assert_eq!((packet.source(), packet.destination()), (Ok(to.0), Ok(to.1)));
    let one = matches!(flow.protocol, ICMP | ICMPV6);
    let expected = if one { (ports.1, ports.1) } else { ports };
    assert_eq!((flow.source_port, flow.destination_port), expected);
}

#[test]
fn every_transport_of_both_versions() {
    for ends in [FOUR, SIX] {
        for payload in [&b""[..], b"x", b"even", b"an odd number of bytes"] {
            for (_, mut frame) in plain_frames(ends, payload) {
                judge(&frame);
                rewrite_all(&mut frame, new_ends(ends), (40000, 0xffff));
                rewrite_all(&mut frame, ends, (0, 1));
            }
        }
    }
}

#[test]
fn a_rewrite_and_back_restores_every_byte() {
    for ends in [FOUR, SIX] {
        for (name, mut frame) in plain_frames(ends, b"payload") {
            let before = frame.clone();
            let mut packet = packet(&mut frame);
            let flow = packet.flow().expect("a flow");
            packet.set_source(new_ends(ends).0).expect("rewritten");
            packet.set_source_port(9).expect("rewritten");
            packet.set_source(flow.source).expect("rewritten");
            packet.set_source_port(flow.source_port).expect("rewritten");
            assert_eq!(frame, before, "{name}");
        }
    }
}

#[test]
fn an_endpoint_is_an_address_and_a_port() {
    for ends in [FOUR, SIX] {
        let (source, destination) = new_ends(ends);
        for (name, frame) in plain_frames(ends, b"an odd payload") {
            let (mut together, mut apart) = (frame.clone(), frame.clone());
            let mut packet = packet(&mut together);
            packet.set_source_endpoint(source, 40_000).expect("rewritten");
            packet.set_destination_endpoint(destination, 0xffff).expect("rewritten");
            rewrite_all(&mut apart, (source, destination), (40_000, 0xffff));
            assert_eq!(together, apart, "{name}");
            // An address of the other version is refused, and the port stays too.
            let mut same = frame.clone();
            let other = if ends == FOUR { N6 } else { N4 };
            let refused = self::packet(&mut same).set_source_endpoint(other, 1);
            assert_eq!((refused, same), (Err(Malformed), frame), "{name}");
        }
    }
}

#[test]
fn padding_and_tags_stay_as_they_are() {
    for (_, frame) in plain_frames(FOUR, b"odd") {
        let mut frame = tagged(&[0x88a8, 0x8100], &frame[14..]);
        frame.extend_from_slice(&[0xee; 9]);
        let mut packet = packet(&mut frame);
        packet.set_source(N4).expect("rewritten");
        packet.set_source_port(4).expect("rewritten");
        assert!(checksum::verify(&packet));
        assert!(frame.ends_with(&[0xee; 9]));
        judge(&frame[8..]);
    }
}

#[test]
fn udp_without_a_checksum_stays_without() {
    for ends in [FOUR, SIX] {
        let mut datagram = udp(ends, (1, 2), b"x");
        datagram[6..8].fill(0);
        let mut frame = ethernet(&ip(ends, UDP, &datagram));
        rewrite_all(&mut frame, new_ends(ends), (7, 8));
        let at = frame.len() - datagram.len() + 6;
        assert_eq!(frame[at..at + 2], [0, 0]);
    }
}

#[test]
fn a_udp_checksum_never_becomes_none() {
    // With port 0, the checksum is the port that would make the sum zero.
    for ends in [FOUR, SIX] {
        let mut frame = ethernet(&ip(ends, UDP, &udp(ends, (0, 2), b"x")));
        let at = frame.len() - 9 + 6;
        let port = u16::from_be_bytes([frame[at], frame[at + 1]]);
        packet(&mut frame).set_source_port(port).expect("rewritten");
        assert_eq!(frame[at..at + 2], [0xff, 0xff]);
        judge(&frame);
        // And continuing from there.
        packet(&mut frame).set_source_port(0).expect("rewritten");
        assert_eq!(frame[at..at + 2], port.to_be_bytes());
    }
}

#[test]
fn an_icmp_message_of_zeros_has_the_right_zero() {
    let mut frame = ethernet(&ip(FOUR, ICMP, &icmp(FOUR, 0, [0, 9, 0, 0], &[0; 5])));
    packet(&mut frame).set_source_port(0).expect("rewritten");
    judge(&frame);
    assert_eq!(frame[36..38], [0xff, 0xff]);
}

#[test]
fn an_icmp_message_whose_sum_is_zero_says_so() {
    let mut frame = ethernet(&ip(FOUR, ICMP, &echo(FOUR, false, 0, b"ping")));
    let identifier = u16::from_be_bytes([frame[36], frame[37]]);
    packet(&mut frame).set_source_port(identifier).expect("rewritten");
    assert_eq!(frame, ethernet(&ip(FOUR, ICMP, &echo(FOUR, false, identifier, b"ping"))));
    assert_eq!(frame[36..38], [0, 0]);
}

#[test]
fn errors_are_rewritten_with_what_they_quote() {
    for (ends, router) in [(FOUR, R4), (SIX, R6)] {
        for payload in [&b""[..], b"odd", b"longer payload"] {
            for (_, frame) in plain_frames(ends, payload) {
                let header = if ends == FOUR { 20 } else { 40 };
                for keep in [header + 8, header + 9, header + 18, header + 20, 999] {
                    let mut frame = error(router, &frame[14..], keep);
                    judge(&frame);
                    rewrite_all(&mut frame, new_ends(ends), (40000, 0xffff));
                }
            }
        }
    }
}

#[test]
fn an_error_is_translated_like_a_reply() {
    // A:1234 inside goes out as N:40000 to B:80. Router R sends an error about it to N.
    let outside = (N4, B4);
    let sent = ip(outside, TCP, &tcp(outside, (40000, 80), ACK, b"data"));
    let mut frame = error(R4, &sent, 28);
    let mut packet = packet(&mut frame);
    packet.set_destination(A4).expect("rewritten");
    packet.set_destination_port(1234).expect("rewritten");
    let inside = ip(FOUR, TCP, &tcp(FOUR, (1234, 80), ACK, b"data"));
    // Equal, byte for byte, to the error that the router would have sent to A about A's own packet.
    assert_eq!(frame, error(R4, &inside, 28));
}

#[test]
fn errors_that_quote_no_ports_keep_their_addresses_right() {
    let mut fragment = ip(FOUR, UDP, &[1; 16]);
    fragment[7] = 9;
    fragment[10..12].fill(0);
    let sum = checksum::internet(&fragment[..20]).to_be_bytes();
    fragment[10..12].copy_from_slice(&sum);
    for (quoted, reason) in [(fragment, Fragment), (ip(FOUR, 47, &[1; 16]), NoFlow)] {
        let mut frame = error(R4, &quoted, 999);
        let mut packet = packet(&mut frame);
        packet.set_destination(N4).expect("rewritten");
        assert_eq!(packet.set_destination_port(1), Err(reason));
        assert_eq!(frame[42 + 12..42 + 16], N4.octets()[12..]);
        judge(&frame);
    }
}

#[test]
fn sctp_follows_with_its_own_checksum() {
    for ends in [FOUR, SIX] {
        let mut bytes = vec![0x04, 0xd2, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0];
        bytes.extend_from_slice(b"a chunk of odd length");
        let sum = crc32c(&bytes).to_le_bytes();
        bytes[8..12].copy_from_slice(&sum);
        let mut frame = ethernet(&ip(ends, SCTP, &bytes));
        frame.extend_from_slice(&[0xaa; 5]);
        let at = frame.len() - 5 - bytes.len();
        let mut packet = packet(&mut frame);
        packet.set_source(new_ends(ends).0).expect("rewritten");
        packet.set_source_port(999).expect("rewritten");
        packet.set_destination_port(0xfffe).expect("rewritten");
        assert!(checksum::verify(&packet));
        let mut segment = frame[at..at + bytes.len()].to_vec();
        assert_eq!(segment[..4], [0x03, 0xe7, 0xff, 0xfe]);
        let sum = segment[8..12].to_vec();
        segment[8..12].fill(0);
        assert_eq!(sum, crc32c(&segment).to_le_bytes());
    }
}

/// CRC32c bit by bit, as defined by RFC 9260.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |rest: u32, byte| {
        (0..8).fold(rest ^ u32::from(*byte), |rest, _| (rest >> 1) ^ (0x82f6_3b78 * (rest & 1)))
    })
}

#[test]
fn a_quoted_sctp_checksum_is_left_alone() {
    let sctp = [&[0x04, 0xd2, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8][..], b"chunk"].concat();
    for (ends, router) in [(FOUR, R4), (SIX, R6)] {
        let mut frame = error(router, &ip(ends, SCTP, &sctp), 999);
        rewrite_all(&mut frame, new_ends(ends), (40000, 0xffff));
        assert!(frame.ends_with(&[1, 2, 3, 4, 5, 6, 7, 8, b'c', b'h', b'u', b'n', b'k']));
    }
}

#[test]
fn fragments_take_addresses_only() {
    // The datagram is split in two; together the pieces still have the correct checksum.
    let whole = udp(FOUR, (1, 2), &[0x5a; 30]);
    let piece = |bytes: &[u8], high: u8, low: u8| {
        let mut packet = ip(FOUR, UDP, bytes);
        packet[6..8].copy_from_slice(&[high, low]);
        packet[10..12].fill(0);
        let sum = checksum::internet(&packet[..20]).to_be_bytes();
        packet[10..12].copy_from_slice(&sum);
        ethernet(&packet)
    };
    let mut pieces = [piece(&whole[..16], 0x20, 0), piece(&whole[16..], 0, 2)];
    for frame in &mut pieces {
        let mut packet = packet(frame);
        packet.set_source(N4).expect("rewritten");
        packet.set_destination(R4).expect("rewritten");
        assert_eq!(packet.set_source_port(1), Err(Fragment));
        assert_eq!(packet.set_source_endpoint(FOUR.0, 1), Err(Fragment));
        assert!(checksum::verify(&packet));
        judge(frame);
    }
    let rejoined = [&pieces[0][34..], &pieces[1][34..]].concat();
    judge(&ethernet(&ip((N4, R4), UDP, &rejoined)));
}

#[test]
fn with_stops_to_go_the_checksum_covers_the_last_one() {
    // A routing header with a stop left: the transport does not follow a change of the destination.
    let segment = tcp(SIX, (1, 2), ACK, b"");
    for (left, follows) in [(1, false), (0, true)] {
        let routing = [TCP, 0, 0, left, 0, 0, 0, 0];
        let mut frame = ethernet(&ip_with(SIX, 43, &routing, &segment));
        packet(&mut frame).set_destination(R6).expect("rewritten");
        assert_eq!(frame[14 + 48..] != segment[..], follows);
        packet(&mut frame).set_source(N6).expect("rewritten");
        assert_eq!(checksum::transport(N6, if follows { R6 } else { B6 }, TCP, &frame[62..]), 0);
    }
}

#[test]
fn other_checksums_over_addresses_follow_too() {
    // UDP-Lite, DCCP: the internet checksum at byte 6 over the pseudo-header.
    for (ends, protocol) in [(FOUR, 136), (FOUR, 33), (SIX, 136), (SIX, 33)] {
        let mut segment = vec![7; 21];
        segment[6..8].fill(0);
        let sum = checksum::transport(ends.0, ends.1, protocol, &segment).to_be_bytes();
        segment[6..8].copy_from_slice(&sum);
        let mut frame = ethernet(&ip(ends, protocol, &segment));
        let to = new_ends(ends);
        let mut packet = packet(&mut frame);
        packet.set_source(to.0).expect("rewritten");
        packet.set_destination(to.1).expect("rewritten");
        assert_eq!(packet.set_source_port(1), Err(NoFlow));
        let at = frame.len() - segment.len();
        assert_eq!(checksum::transport(to.0, to.1, protocol, &frame[at..]), 0);
    }
}

#[test]
fn a_refused_rewrite_changes_nothing() {
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut short = ethernet(&ip(FOUR, TCP, &tcp(FOUR, (1, 2), ACK, b"")));
    short.truncate(50);
    let mut bad = ethernet(&ip(FOUR, TCP, &tcp(FOUR, (1, 2), ACK, b"")));
    bad[46] = 0x10;
    let damaged = with(ethernet(&ip(FOUR, TCP, &tcp(FOUR, (1, 2), ACK, b""))), 24, 0xee);
    let about = error(R4, &ip(FOUR, TCP, &tcp(FOUR, (1, 2), ACK, b"")), 27);
    for (mut frame, reason) in [
        (arp, NotIp),
        (short, Truncated),
        (bad, BadTransportLength),
        (damaged, BadIpChecksum),
        (about, Truncated),
    ] {
        let before = frame.clone();
        let mut packet = packet(&mut frame);
        assert_eq!(packet.set_source(N4), Err(reason));
        assert_eq!(packet.set_destination(N4), Err(reason));
        assert_eq!(packet.set_source_port(1), Err(reason));
        assert_eq!(packet.set_destination_port(1), Err(reason));
        assert_eq!(packet.set_source_endpoint(N4, 1), Err(reason));
        assert_eq!(packet.set_destination_endpoint(N4, 1), Err(reason));
        assert_eq!(frame, before);
    }
}

#[test]
fn an_address_of_the_other_version_is_refused() {
    for (ends, other) in [(FOUR, A6), (SIX, A4)] {
        for (_, mut frame) in plain_frames(ends, b"x") {
            let before = frame.clone();
            assert_eq!(packet(&mut frame).set_source(other), Err(Malformed));
            assert_eq!(packet(&mut frame).set_destination(other), Err(Malformed));
            assert_eq!(frame, before);
        }
    }
}

#[test]
fn a_damaged_packet_stays_damaged() {
    for ends in [FOUR, SIX] {
        for (name, mut frame) in plain_frames(ends, b"payload") {
            *frame.last_mut().expect("a byte") ^= 0x10;
            let mut packet = packet(&mut frame);
            packet.set_source(new_ends(ends).0).expect("rewritten");
            packet.set_source_port(3).expect("rewritten");
            assert!(!checksum::verify(&packet), "{name}");
        }
    }
}

#[test]
fn time_to_live_counts_down_to_one() {
    for ends in [FOUR, SIX] {
        for (_, mut frame) in plain_frames(ends, b"x") {
            for left in (1..64).rev() {
                packet(&mut frame).decrement_ttl().expect("another hop");
                assert_eq!(packet(&mut frame).ttl(), Ok(left));
                judge(&frame);
            }
            let before = frame.clone();
            assert_eq!(packet(&mut frame).decrement_ttl(), Err(TtlExceeded));
            assert_eq!(frame, before);
        }
    }
}

#[test]
fn ethernet_addresses_are_set() {
    let mut frame = vec![0; 14];
    let mut packet = packet(&mut frame);
    packet.set_mac_source([1, 2, 3, 4, 5, 6]).expect("room");
    packet.set_mac_destination([7, 8, 9, 10, 11, 12]).expect("room");
    assert_eq!(packet.mac_source(), Ok([1, 2, 3, 4, 5, 6]));
    assert_eq!(frame[..6], [7, 8, 9, 10, 11, 12]);
    assert_eq!(
        Packet::new(&mut frame[..11], cora_core::packet::Meta::default()).set_mac_source([0; 6]),
        Err(Truncated)
    );
}
