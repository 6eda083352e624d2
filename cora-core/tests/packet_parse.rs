//! Packets that the parse accepts, and its reasons to refuse others.

mod packet_support;

use cora_core::packet::{Meta, Packet, Port};
use cora_core::verdict::reasons::{
    BadIpLength, BadTransportLength, Fragment, Malformed, NoFlow, NotIp, TooManyHeaders, Truncated,
};
use packet_support::*;

#[test]
fn tells_the_flow_of_each_transport() {
    for ends in [FOUR, SIX] {
        let mut sctp = vec![0x04, 0xd2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0];
        sctp.extend_from_slice(b"chunk");
        flow_is(ethernet(&ip(ends, SCTP, &sctp)), Ok(tuple(ends, (1234, 80), SCTP)));
        let icmp = if ends == FOUR { ICMP } else { ICMPV6 };
        let expected = [
            tuple(ends, (1234, 80), TCP),
            tuple(ends, (5353, 53), UDP),
            tuple(ends, (77, 77), icmp),
        ];
        for ((_, frame), expected) in plain_frames(ends, b"odd").into_iter().zip(expected) {
            flow_is(frame, Ok(expected));
        }
    }
}

#[test]
fn tells_addresses_and_metadata() {
    let mut frame = tcp4();
    let meta = Meta { time: 5, now: 9, port: Port::OUTSIDE, ..Meta::default() };
    let packet = Packet::new(&mut frame, meta);
    assert_eq!((packet.time(), packet.now(), packet.port()), (5, 9, Port::OUTSIDE));
    assert!(!packet.from_inside());
    assert_eq!(packet.source(), Ok(A4));
    assert_eq!(packet.destination(), Ok(B4));
    assert_eq!(packet.inside_address(), Ok(B4));
    assert_eq!(packet.protocol(), Ok(TCP));
    assert_eq!(packet.ttl(), Ok(64));
    assert_eq!(packet.payload(), b"hello");
    assert_eq!(packet.len(), 14 + 20 + 20 + 5);
    assert_eq!(packet.mac_source(), Ok([2, 0, 0, 0, 0, 0xa]));
    assert_eq!(packet.mac_destination(), Ok([2, 0, 0, 0, 0, 0xb]));
    assert_eq!(Port::INSIDE.opposite(), Port::OUTSIDE);
    assert_eq!(Port::OUTSIDE.opposite(), Port::INSIDE);
    assert_eq!(
        format!("{packet:?}"),
        "Packet(59 bytes, port 1, tcp 10.0.0.1:1234 > 192.0.2.77:80)"
    );
    let mut frame = tcp6();
    assert_eq!(Packet::new(&mut frame, Meta::default()).inside_address(), Ok(A6));
}

#[test]
fn reads_the_tcp_header() {
    let mut segment = tcp(FOUR, (1234, 80), 0, b"123 and data");
    segment[4..12].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    segment[12] = 0x60;
    segment[13] = 0x12;
    let mut frame = ethernet(&ip(FOUR, TCP, &segment));
    let packet = packet(&mut frame);
    let tcp = packet.tcp().expect("a TCP packet");
    assert_eq!((tcp.source_port, tcp.destination_port), (1234, 80));
    assert_eq!((tcp.seq, tcp.ack, tcp.window), (0x0102_0304, 0x0506_0708, 0xfaf0));
    assert_eq!((tcp.header_len, tcp.payload_len), (24, 8));
    assert!(tcp.flags.syn() && tcp.flags.ack() && !tcp.flags.fin() && !tcp.flags.rst());
    assert_eq!(format!("{:?}", tcp.flags), "syn ack");
    assert_eq!(packet.payload(), b"and data");
}

#[test]
fn only_whole_tcp_packets_have_a_tcp_header() {
    for (name, mut frame) in plain_frames(FOUR, b"x") {
        assert_eq!(packet(&mut frame).tcp().is_some(), name == "tcp", "{name}");
    }
    assert!(packet(&mut with_right(tcp4(), 20, 0x20)).tcp().is_none(), "first fragment");
    assert!(packet(&mut with(tcp4(), 46, 0x40)).tcp().is_none(), "header of 16 bytes");
}

#[test]
fn skips_up_to_four_tags() {
    let whole = ip(SIX, UDP, &udp(SIX, (1, 2), b"x"));
    let tags = [0x88a8, 0x8100, 0x9100, 0x8100, 0x8100];
    for count in 0..=4 {
        flow_is(tagged(&tags[..count], &whole), Ok(tuple(SIX, (1, 2), UDP)));
    }
    flow_is(tagged(&tags, &whole), Err(NotIp));
    // A tag without a type behind it.
    flow_is(tagged(&tags[..2], &whole)[..20].to_vec(), Err(Truncated));
}

#[test]
fn other_ethernet_types_are_not_ip() {
    for ethertype in [0x0806_u16, 0x88cc, 0x8847, 0x0026, 0x0000] {
        let mut frame = tcp4();
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        let packet = packet(&mut frame);
        assert!(!packet.is_ip() && !packet.is_ipv4() && !packet.is_ipv6());
        assert_eq!(packet.flow(), Err(NotIp));
        assert_eq!(packet.source(), Err(NotIp));
        assert_eq!(packet.protocol(), Err(NotIp));
        assert!(packet.payload().is_empty());
    }
}

#[test]
fn padding_is_not_payload() {
    for ends in [FOUR, SIX] {
        for (name, mut frame) in plain_frames(ends, b"") {
            frame.resize(frame.len() + 30, 0xee);
            let packet = packet(&mut frame);
            assert!(packet.flow().is_ok(), "{name}");
            assert_eq!(packet.payload(), b"", "{name}");
        }
    }
}

#[test]
fn an_ip_length_beyond_the_frame_is_truncated() {
    for (frame, at) in [(tcp4(), 17), (tcp6(), 19)] {
        let more = frame[at] + 1;
        let mut longer = with(frame, at, more);
        let packet = packet(&mut longer);
        assert_eq!(packet.flow(), Err(Truncated));
        assert_eq!(packet.source(), Err(Truncated));
        assert!(packet.is_ip(), "says so, if badly");
    }
}

#[test]
fn lengths_and_versions_that_cannot_be_have_names() {
    flow_is(with(tcp4(), 14, 0x65), Err(Malformed));
    assert_eq!(packet(&mut with(tcp4(), 14, 0x44)).source(), Err(BadIpLength));
    flow_is(with(tcp4(), 17, 19), Err(BadIpLength));
    flow_is(with(tcp6(), 14, 0x45), Err(Malformed));
    // TCP header of 16 bytes, of 60 in a packet that holds 25.
    flow_is(with(tcp4(), 46, 0x40), Err(BadTransportLength));
    flow_is(with(tcp4(), 46, 0xf0), Err(Truncated));
    // UDP lengths: less than the header, more than the packet.
    let udp = ethernet(&ip(FOUR, UDP, &udp(FOUR, (1, 2), b"xy")));
    flow_is(with(udp.clone(), 39, 7), Err(BadTransportLength));
    flow_is(with(udp.clone(), 39, 11), Err(Truncated));
    assert_eq!(packet(&mut with(udp, 39, 9)).payload(), b"x");
}

#[test]
fn ipv4_options_are_skipped() {
    let segment = tcp(FOUR, (1234, 80), SYN, b"");
    for words in 1..=10 {
        let frame = ethernet(&ip_with(FOUR, TCP, &vec![1; words * 4], &segment));
        flow_is(frame, Ok(tuple(FOUR, (1234, 80), TCP)));
    }
    // An IPv4 header longer than its packet.
    flow_is(with(tcp4()[..54].to_vec(), 17, 40)[..50].to_vec(), Err(Truncated));
}

/// An extension header with this length field, in front of `next`.
fn extension(next: u8, length: u8, bytes: usize) -> Vec<u8> {
    let mut header = vec![0; bytes];
    header[..2].copy_from_slice(&[next, length]);
    header
}

#[test]
fn extension_headers_are_walked() {
    let chain = [
        extension(60, 0, 8),
        extension(43, 1, 16),
        extension(51, 2, 24),
        extension(44, 4, 24),
        extension(TCP, 0, 8),
    ]
    .concat();
    let segment = tcp(SIX, (1234, 80), SYN, b"x");
    let mut frame = ethernet(&ip_with(SIX, 0, &chain, &segment));
    let packet = packet(&mut frame);
    assert_eq!(packet.protocol(), Ok(TCP));
    assert_eq!(packet.flow(), Ok(tuple(SIX, (1234, 80), TCP)));
    assert!(!packet.is_fragment(), "an atomic fragment is whole");
    assert_eq!(packet.payload(), b"x");
}

#[test]
fn extension_headers_are_bounded() {
    let segment = tcp(SIX, (1234, 80), SYN, b"");
    for count in [8, 9, 40] {
        let mut chain = extension(60, 0, 8).repeat(count - 1);
        chain.extend(extension(TCP, 0, 8));
        let expected =
            if count == 8 { Ok(tuple(SIX, (1234, 80), TCP)) } else { Err(TooManyHeaders) };
        flow_is(ethernet(&ip_with(SIX, 60, &chain, &segment)), expected);
    }
    // One that exceeds the packet, and one truncated.
    flow_is(ethernet(&ip_with(SIX, 60, &extension(TCP, 9, 8), &segment)), Err(Truncated));
    flow_is(ethernet(&ip_with(SIX, 60, &[TCP, 0, 0], &[])), Err(Truncated));
    flow_is(ethernet(&ip_with(SIX, 60, &extension(59, 1, 15), &[])), Err(Truncated));
    // No next header.
    flow_is(ethernet(&ip_with(SIX, 60, &extension(59, 0, 8), b"junk")), Err(NoFlow));
}

#[test]
fn fragments_have_no_flow() {
    for (bits, low) in [(0x20, 0), (0x20, 9), (0x00, 9)] {
        let mut frame = with_right(with(tcp4(), 20, bits), 21, low);
        let packet = packet(&mut frame);
        assert!(packet.is_fragment());
        assert_eq!(packet.flow(), Err(Fragment));
        assert_eq!(packet.source(), Ok(A4));
        assert_eq!(packet.protocol(), Ok(TCP));
        assert_eq!(packet.payload().len(), 25);
    }
    assert!(!packet(&mut with_right(tcp4(), 20, 0x40)).is_fragment(), "don't fragment");
    let segment = tcp(SIX, (1234, 80), SYN, b"");
    for (high, low) in [(0, 1), (1, 1), (1, 0), (0, 8)] {
        let mut header = extension(TCP, 0, 8);
        header[2..4].copy_from_slice(&[high, low]);
        let mut frame = ethernet(&ip_with(SIX, 44, &header, &segment));
        let packet = packet(&mut frame);
        assert!(packet.is_fragment());
        assert_eq!(packet.flow(), Err(Fragment));
        assert_eq!(packet.protocol(), Ok(TCP));
    }
    // A first fragment too small to contain the checksum, which a rewrite must update.
    let tiny = with_right(ethernet(&ip(FOUR, TCP, &[0; 8])), 20, 0x20);
    flow_is(tiny, Err(Truncated));
}

#[test]
fn mapped_addresses_are_refused() {
    flow_is(ethernet(&with_address(8)), Err(Malformed));
    flow_is(ethernet(&with_address(24)), Err(Malformed));
}

/// An IPv6 packet with an IPv4-mapped address at this offset.
fn with_address(at: usize) -> Vec<u8> {
    let mut packet = ip(SIX, UDP, &udp(SIX, (1, 2), b""));
    packet[at..at + 16].copy_from_slice(&A4.octets());
    packet
}

#[test]
fn transports_without_ports_have_no_flow() {
    for protocol in [2, 33, 47, 50, 89, 103, 136, 253] {
        for ends in [FOUR, SIX] {
            let mut frame = ethernet(&ip(ends, protocol, &[7; 20]));
            let packet = packet(&mut frame);
            assert_eq!(packet.flow(), Err(NoFlow), "{protocol}");
            assert_eq!(packet.protocol(), Ok(protocol));
            assert_eq!(packet.payload().len(), 20);
        }
    }
    // Each ICMP belongs to one IP version.
    flow_is(ethernet(&ip(FOUR, ICMPV6, &echo(FOUR, false, 1, b""))), Err(NoFlow));
    flow_is(ethernet(&ip(SIX, ICMP, &echo(SIX, false, 1, b""))), Err(NoFlow));
}

#[test]
fn every_truncation_has_a_reason() {
    let mut frames = Vec::new();
    for (ends, router) in [(FOUR, R4), (SIX, R6)] {
        for (_, frame) in plain_frames(ends, b"some payload") {
            frames.push(tagged(&[0x88a8, 0x8100], &frame[14..]));
            frames.push(error(router, &frame[14..], 999));
        }
    }
    for mut frame in frames {
        assert!(packet(&mut frame).flow().is_ok());
        for length in 0..frame.len() {
            let packet = packet(&mut frame[..length]);
            assert_eq!(packet.flow(), Err(Truncated), "{length}");
            assert!(packet.tcp().is_none() && packet.payload().is_empty());
        }
    }
}
