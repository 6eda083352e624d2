//! Packets turned back, and TCP segments rewritten: the resulting fields and checksums. An
//! independent checker, which shares no code with Cora, verifies that correct checksums stay
//! correct and wrong ones stay wrong.

mod packet_support;

use cora_core::key::Address;
use cora_core::packet::{
    Meta, NoRoom, NotAnswered, Packet, ROOM, Roomy, TcpFlags, TcpOptions, TcpSegment,
    TcpTimestamps, checksum,
};
use cora_core::verdict::reasons::{BadTransportLength, Fragment, NoFlow};
use packet_support::*;
use proptest::prelude::*;

/// A segment with these options and a correct checksum.
fn segment(ends: (Address, Address), flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = tcp(ends, (1234, 80), flags, &[options, payload].concat());
    bytes[4..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xf0, 0x12, 0x34, 0x56, 0x78]);
    bytes[12] = ((20 + options.len()) as u8 / 4) << 4;
    bytes[16..18].fill(0);
    let sum = checksum::transport(ends.0, ends.1, TCP, &bytes);
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// A frame around the segment in a rare form, and the offsets of its IP packet and its transport.
fn form(
    six: bool,
    tagged_: bool,
    extra: bool,
    padding: usize,
    segment: &[u8],
) -> (Vec<u8>, usize, usize) {
    let ends = if six { SIX } else { FOUR };
    let (before, protocol): (&[u8], u8) = match (extra, six) {
        (false, _) => (&[], TCP),
        (true, false) => (&[1; 8], TCP),
        // Destination options.
        (true, true) => (&[TCP, 0, 1, 4, 0, 0, 0, 0], 60),
    };
    let whole = ip_with(ends, protocol, before, segment);
    let at = if tagged_ { 18 } else { 14 };
    let mut frame = if tagged_ { tagged(&[0x8100], &whole) } else { ethernet(&whole) };
    frame.extend(vec![0xa5; padding]);
    (frame, at, at + whole.len() - segment.len())
}

/// The frame with tailroom, after `with` changed its packet.
fn after(frame: &[u8], with: impl FnOnce(&mut Packet<'_>)) -> Vec<u8> {
    let mut memory = vec![0xee; frame.len() + ROOM];
    memory[..frame.len()].copy_from_slice(frame);
    let mut packet = Packet::in_room(Roomy::new(&mut memory, frame.len()), Meta::default());
    with(&mut packet);
    // The packet gives the same facts as a new parse of its bytes.
    let mut again = packet.frame().to_vec();
    let fresh = Packet::new(&mut again, Meta::default());
    assert_eq!(packet.flow(), fresh.flow());
    assert_eq!(packet.tcp(), fresh.tcp());
    assert_eq!(packet.payload(), fresh.payload());
    packet.frame().to_vec()
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0xff)], 0..most)
}

proptest! {
    #[test]
    fn another_segment_takes_the_place_of_one(
        (six, tagged_, extra) in any::<(bool, bool, bool)>(),
        padding in 0..8_usize,
        (old_options, options) in (0..11_usize, 0..11_usize),
        (old_data, data) in (bytes(40), bytes(12)),
        (seq, ack, window) in any::<(u32, u32, u16)>(),
        flags in any::<u8>(),
        damage in prop_oneof![Just(0_u16), any::<u16>()],
    ) {
        let ends = if six { SIX } else { FOUR };
        let old = segment(ends, ACK, &vec![1; old_options * 4], &old_data);
        let (mut frame, at, transport) = form(six, tagged_, extra, padding, &old);
        let sum = u16::from_be_bytes([frame[transport + 16], frame[transport + 17]]);
        // Both zeros are equal.
        let damaged = sum.wrapping_add(damage);
        let is_right = damaged % 0xffff == sum % 0xffff;
        frame[transport + 16..transport + 18].copy_from_slice(&damaged.to_be_bytes());
        let options: Vec<u8> = (0..options * 4).map(|byte| byte as u8 | 1).collect();
        let new = TcpSegment {
            seq, ack, flags: TcpFlags(flags), window, options: &options, data: &data,
        };
        let done = after(&frame, |packet| packet.set_tcp(&new).unwrap());
        let expected = transport + 20 + options.len() + data.len();
        prop_assert_eq!(done.len(), expected);
        let head = &done[transport..];
        prop_assert_eq!(&head[..4], &[0x04, 0xd2, 0, 80]);
        prop_assert_eq!(&head[4..8], &seq.to_be_bytes());
        prop_assert_eq!(&head[8..12], &ack.to_be_bytes());
        prop_assert_eq!(usize::from(head[12] >> 4) * 4, 20 + options.len());
        prop_assert_eq!(head[13], flags);
        prop_assert_eq!(&head[14..16], &window.to_be_bytes());
        prop_assert_eq!(&head[20..20 + options.len()], &options[..]);
        prop_assert_eq!(&head[20 + options.len()..], &data[..]);
        let summed = checksum::transport(ends.0, ends.1, TCP, head) == 0;
        prop_assert_eq!(summed, is_right);
        if is_right {
            judge_form(&done[at..], transport - at, TCP);
        }
    }

    #[test]
    fn numbers_are_rewritten_one_by_one(
        six in any::<bool>(),
        data in bytes(20),
        (seq, ack, window) in any::<(u32, u32, u16)>(),
    ) {
        let ends = if six { SIX } else { FOUR };
        let (frame, at, transport) = form(six, false, false, 3, &segment(ends, ACK, &[], &data));
        let done = after(&frame, |packet| {
            packet.set_tcp_seq(seq).unwrap();
            packet.set_tcp_ack(ack).unwrap();
            packet.set_tcp_window(window).unwrap();
            let tcp = packet.tcp().unwrap();
            assert_eq!((tcp.seq, tcp.ack, tcp.window), (seq, ack, window));
        });
        judge_form(&done[at..done.len() - 3], transport - at, TCP);
        let touched = [4..12, 14..18].map(|range| range.start + transport..range.end + transport);
        for (place, (old, new)) in frame.iter().zip(&done).enumerate() {
            prop_assert!(old == new || touched.iter().any(|range| range.contains(&place)), "{place}");
        }
    }

    /// For blocks at any place, including odd offsets.
    #[test]
    fn edges_of_blocks_are_shifted(
        six in any::<bool>(),
        before in 0..4_usize,
        edges in prop::collection::vec(any::<u32>(), 0..8),
        by in any::<u32>(),
    ) {
        let ends = if six { SIX } else { FOUR };
        let options = |by: u32| {
            let mut options = vec![1; before];
            options.extend([5, 2 + 4 * edges.len() as u8]);
            options.extend(edges.iter().flat_map(|edge| edge.wrapping_add(by).to_be_bytes()));
            options.resize(options.len().next_multiple_of(4), 0);
            options
        };
        prop_assume!(options(0).len() <= 40);
        let (frame, at, transport) = form(six, false, false, 0, &segment(ends, ACK, &options(0), b"x"));
        let done = after(&frame, |packet| packet.shift_sack(by).unwrap());
        prop_assert_eq!(&done[transport + 20..done.len() - 1], &options(by)[..]);
        judge_form(&done[at..], transport - at, TCP);
    }

    #[test]
    fn any_options_are_read(options in prop::collection::vec(prop_oneof![any::<u8>(), 0..6_u8], 0..40), by in any::<u32>()) {
        let options = &options[..options.len() / 4 * 4];
        let (frame, at, transport) = form(false, false, false, 0, &segment(FOUR, SYN, options, b"x"));
        let done = after(&frame, |packet| {
            let _said = packet.tcp_options();
            packet.shift_sack(by).unwrap();
        });
        judge_form(&done[at..], transport - at, TCP);
    }

    #[test]
    fn a_packet_is_turned_back(
        (six, tagged_, extra, datagram) in any::<(bool, bool, bool, bool)>(),
        ttl in 0..=255_u8,
    ) {
        let ends = if six { SIX } else { FOUR };
        prop_assume!(!(datagram && extra && six));
        let (protocol, transport) = if datagram {
            (UDP, udp(ends, (1234, 80), b"odd"))
        } else {
            (TCP, segment(ends, ACK, &[], b"odd"))
        };
        let (mut frame, at, place) = form(six, tagged_, extra, 2, &transport);
        if six {
            frame[at + 7] = ttl;
            if datagram { frame[at + 6] = UDP; }
        } else {
            frame[at + 8] = ttl;
            frame[at + 9] = protocol;
            frame = right(frame, at);
        }
        let done = after(&frame, |packet| packet.turn_back().unwrap());
        judge_form(&done[at..done.len() - 2], place - at, protocol);
        prop_assert_eq!(&done[..6], &frame[6..12]);
        prop_assert_eq!(&done[6..12], &frame[..6]);
        flow_is(done.clone(), Ok(tuple((ends.1, ends.0), (80, 1234), protocol)));
        prop_assert_eq!(done[at + if six { 7 } else { 8 }], 64);
        // And back again, except for the hop limit.
        let twice = after(&done, |packet| packet.turn_back().unwrap());
        prop_assert_eq!(&twice[place..], &frame[place..]);
    }

    #[test]
    fn the_number_that_an_error_quotes_is_shifted(six in any::<bool>(), by in any::<u32>(), keep in 0..60_usize) {
        let (ends, router) = if six { (SIX, R6) } else { (FOUR, R4) };
        let head = if six { 40 } else { 20 };
        let quoted = ip(ends, TCP, &segment(ends, ACK, &[], b"data"));
        let frame = error(router, &quoted, head + 4 + keep);
        let mut whole = frame.clone();
        prop_assume!(Packet::new(&mut whole, Meta::default()).flow().is_ok());
        let done = after(&frame, |packet| packet.shift_quoted_seq(by));
        judge(&done);
        let at = 14 + head + 8 + head + 4;
        if keep >= 4 {
            let seq = 0xffff_fff0_u32.wrapping_add(by).to_be_bytes();
            prop_assert_eq!(&done[at..at + 4], &seq);
        }
    }
}

#[test]
fn options_of_a_syn_are_told() {
    let linux = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
    let said = |options: &[u8]| {
        let (mut frame, ..) = form(true, false, true, 0, &segment(SIX, SYN, options, b"x"));
        packet(&mut frame).tcp_options()
    };
    let timestamps = Some(TcpTimestamps { value: 0x0102_0304, echo: 0 });
    let (mss, window_scale) = (Some(1460), Some(7));
    let all = TcpOptions { mss, window_scale, sack_permitted: true, timestamps };
    assert_eq!(said(&linux), all);
    assert_eq!(said(&[]), TcpOptions::default());
    assert_eq!(said(&[3, 3, 200, 0]).window_scale, Some(14));
    // Bytes after the end option, or after an impossible length, are ignored; so are options of
    // unexpected lengths.
    for nothing in [[0, 2, 4, 9], [2, 1, 4, 2], [9, 5, 4, 2], [4, 3, 0, 1], [2, 3, 4, 0]] {
        assert_eq!(said(&nothing), TcpOptions::default(), "{nothing:?}");
    }
}

#[test]
fn a_question_of_icmp_is_turned_back_as_its_answer() {
    for (ends, protocol) in [(FOUR, ICMP), (SIX, ICMPV6)] {
        let whole = |ends, reply| ethernet(&ip(ends, protocol, &echo(ends, reply, 7, b"odd")));
        let mut done = after(&whole(ends, false), |packet| packet.turn_back().unwrap());
        done[..12].rotate_left(6);
        assert_eq!(done, whole((ends.1, ends.0), true));
    }
    let mut asked = echo(FOUR, false, 7, b"twelve bytes");
    asked[0] = 13;
    asked[2..4].fill(0);
    let sum = checksum::internet(&asked).to_be_bytes();
    asked[2..4].copy_from_slice(&sum);
    let done = after(&ethernet(&ip(FOUR, ICMP, &asked)), |packet| packet.turn_back().unwrap());
    assert_eq!(done[34], 14, "a time stamp request");
    judge(&done);
}

#[test]
fn what_nobody_answers_is_not_turned_back() {
    let refused = |frame: Vec<u8>| {
        let mut reason = None;
        let same = after(&frame, |packet| reason = packet.turn_back().err());
        assert_eq!(same, frame);
        reason
    };
    let of = |ends| ethernet(&ip(ends, TCP, &segment(ends, SYN, &[], b"")));
    let (multicast, broadcast) = (Address::v4([224, 0, 0, 5]), Address::v4([255; 4]));
    let six = Address::v6([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    for ends in [(A4, multicast), (broadcast, A4), (A6, six), (six, A6)] {
        assert_eq!(refused(of(ends)), Some(NotAnswered));
    }
    assert_eq!(refused(with(of(FOUR), 0, 3)), Some(NotAnswered), "to a group of the link");
    let source_route = [0x83, 7, 4, 9, 9, 9, 9, 0];
    let routed = ip_with(FOUR, TCP, &source_route, &segment(FOUR, SYN, &[], b""));
    assert_eq!(refused(ethernet(&routed)), Some(NotAnswered));
    assert_eq!(refused(ethernet(&ip(FOUR, ICMP, &echo(FOUR, true, 7, b"")))), Some(NoFlow));
    let quoted = ip(FOUR, TCP, &segment(FOUR, SYN, &[], b""));
    assert_eq!(refused(error(R4, &quoted, 28)), Some(NoFlow));
    assert_eq!(refused(with_right(of(FOUR), 20, 0x20)), Some(Fragment));
}

#[test]
fn a_segment_is_refused_whole() {
    let frame = ethernet(&ip(FOUR, TCP, &segment(FOUR, ACK, &[], b"1234")));
    let datagram = ethernet(&ip(FOUR, UDP, &udp(FOUR, (1, 2), b"1234")));
    let big = [0; ROOM + 5];
    for (frame, segment, reason) in [
        (&frame, TcpSegment { options: &big[..3], ..TcpSegment::default() }, BadTransportLength),
        (&frame, TcpSegment { options: &big[..44], ..TcpSegment::default() }, BadTransportLength),
        (&frame, TcpSegment { data: &big, ..TcpSegment::default() }, NoRoom),
        (&datagram, TcpSegment::default(), NoFlow),
    ] {
        let same = after(frame, |packet| assert_eq!(packet.set_tcp(&segment), Err(reason)));
        assert_eq!(same, *frame);
    }
    let most = TcpSegment { data: &big[1..], ..TcpSegment::default() };
    after(&frame, |packet| packet.set_tcp(&most).unwrap());
    let same = after(&datagram, |packet| {
        let refused = [packet.set_tcp_seq(1), packet.set_tcp_ack(1), packet.set_tcp_window(1)];
        assert!(refused.into_iter().all(|it| it == Err(NoFlow)));
        assert_eq!(packet.shift_sack(1), Err(NoFlow));
        packet.shift_quoted_seq(1);
    });
    assert_eq!(same, datagram);
}
