//! Frames that grow and shrink, and packets that change their IP version.

mod packet_support;

use cora_core::key::Address;
use cora_core::packet::{
    BadChecksum, MAX_FRAME, Meta, NoRoom, NotTranslated, Packet, ROOM, Roomy, checksum,
};
use cora_core::verdict::reasons::{Fragment, Malformed, TooLong, Truncated};
use proptest::prelude::*;

use packet_support::*;

/// The frame with tailroom.
fn roomy(frame: &[u8]) -> (Vec<u8>, usize) {
    let mut memory = frame.to_vec();
    memory.resize(frame.len() + ROOM, 0xee);
    (memory, frame.len())
}

fn open((memory, length): &mut (Vec<u8>, usize)) -> Packet<'_> {
    Packet::in_room(Roomy::new(memory, *length), Meta::default())
}

/// All facts about the packet, as text.
fn told(packet: &Packet<'_>) -> String {
    let (flow, payload) = (packet.flow(), packet.payload());
    format!("{flow:?} {payload:?} {:?} {:?} {:?}", packet.tcp(), packet.source(), packet.ttl())
}

/// The packet gives the same facts as a new packet of the same bytes.
#[track_caller]
fn is_parsed(packet: &Packet<'_>) {
    let mut again = packet.frame().to_vec();
    assert_eq!(told(packet), told(&Packet::new(&mut again, Meta::default())));
}

#[test]
fn a_frame_grows_as_far_as_its_room() {
    let mut room = roomy(&tcp4());
    let mut packet = open(&mut room);
    let length = packet.len();
    assert_eq!(packet.splice(14, 0, &[1; ROOM + 1]), Err(NoRoom));
    assert_eq!(packet.splice(0, 0, &[1; ROOM]), Ok(()));
    assert_eq!(packet.len(), length + ROOM);
    assert_eq!(packet.splice(0, 0, &[1]), Err(NoRoom));
    assert_eq!(packet.splice(0, ROOM, &[]), Ok(()));
    assert_eq!(packet.frame(), tcp4());
    assert_eq!(Packet::new(&mut tcp4(), Meta::default()).splice(0, 0, &[1]), Err(NoRoom));
}

#[test]
fn nothing_is_longer_than_any_frame_may_be() {
    let mut room = roomy(&vec![0; MAX_FRAME - 3]);
    let mut packet = open(&mut room);
    assert_eq!(packet.splice(0, 0, &[1; 4]), Err(TooLong));
    assert_eq!(packet.splice(0, 0, &[1; 3]), Ok(()));
}

#[test]
fn only_what_is_there_is_replaced() {
    let mut room = roomy(&tcp4());
    let mut packet = open(&mut room);
    let length = packet.len();
    for (at, old) in [(length, 1), (length + 1, 0), (usize::MAX, 2), (2, usize::MAX)] {
        assert_eq!(packet.splice(at, old, &[]), Err(Truncated));
    }
    assert_eq!(packet.frame(), tcp4());
    packet.truncate(length + 5);
    assert_eq!(packet.len(), length);
    packet.truncate(20);
    assert_eq!(packet.flow(), Err(Truncated));
    assert_eq!(packet.set_mac_source([7; 6]), Ok(()));
    packet.truncate(11);
    // Behind the frame there is tailroom, but no address.
    assert_eq!(packet.set_mac_source([9; 6]), Err(Truncated));
    assert_eq!(packet.mac_source(), Err(Truncated));
}

/// The same ends in the other version, and the router that sends an error.
const OTHERS: [[Address; 3]; 2] = [[A6, B6, R6], [A4, B4, R4]];

/// Frames of each transport, and an error about each.
fn frames(ends: (Address, Address), router: Address) -> Vec<Vec<u8>> {
    let plain = plain_frames(ends, b"some bytes").into_iter().map(|(_, frame)| frame);
    plain.flat_map(|frame| [error(router, &frame[14..], 200), frame]).collect()
}

#[test]
fn every_packet_goes_there_and_back() {
    for frame in frames(SIX, R6) {
        let mut room = roomy(&frame);
        let mut packet = open(&mut room);
        let flow = packet.flow().unwrap();
        let to = |address| if address == A6 { A4 } else { B4 };
        let (source, destination) = (to(flow.source), to(flow.destination));
        let sender = if packet.is_icmp_error() { R4 } else { source };
        assert_eq!(packet.translate(source, destination, sender), Ok(()));
        judge(packet.frame());
        is_parsed(&packet);
        let there = packet.flow().unwrap();
        assert_eq!((there.source, there.destination), (source, destination));
        assert_eq!(packet.source(), Ok(sender));
        assert_eq!(
            (there.source_port, there.destination_port),
            (flow.source_port, flow.destination_port)
        );
        let back = if packet.is_icmp_error() { R6 } else { flow.source };
        assert_eq!(packet.translate(flow.source, flow.destination, back), Ok(()));
        assert_eq!(packet.frame(), frame);
    }
}

#[test]
fn damage_stays_damage() {
    for frame in frames(FOUR, R4) {
        let mut room = roomy(&frame);
        let length = room.1;
        room.0[length - 1] ^= 0x20;
        let damaged = room.0[..length].to_vec();
        let mut packet = open(&mut room);
        let flow = packet.flow().unwrap();
        let of = |address| if address == A4 { A6 } else { B6 };
        let sender = if packet.is_icmp_error() { R6 } else { of(flow.source) };
        let is_icmp = packet.protocol() == Ok(ICMP);
        let translated = packet.translate(of(flow.source), of(flow.destination), sender);
        if is_icmp {
            assert_eq!(translated, Err(BadChecksum));
            assert_eq!(packet.frame(), damaged);
        } else {
            assert_eq!(translated, Ok(()));
            assert!(!checksum::verify(&packet));
        }
    }
}

#[test]
fn a_datagram_without_a_checksum_gets_one() {
    let mut datagram = udp(FOUR, (5353, 53), b"odd");
    datagram[6..8].fill(0);
    let mut room = roomy(&ethernet(&ip(FOUR, UDP, &datagram)));
    let mut packet = open(&mut room);
    assert_eq!(packet.translate(A6, B6, A6), Ok(()));
    assert_ne!(packet.frame()[14 + 40 + 6..][..2], [0, 0]);
    judge(packet.frame());
}

#[test]
fn options_and_padding_are_left_out() {
    let segment = tcp(FOUR, (1234, 80), ACK, b"x");
    let mut frame = ethernet(&ip_with(FOUR, TCP, &[1, 1, 1, 0], &segment));
    let whole = 14 + 40 + segment.len();
    frame.resize(80, 0);
    let mut room = roomy(&frame);
    let mut packet = open(&mut room);
    assert_eq!(packet.translate(A6, B6, A6), Ok(()));
    assert_eq!(packet.len(), whole);
    judge(packet.frame());
    // An empty header for destination options, then the segment.
    let segment = tcp(SIX, (1234, 80), ACK, b"x");
    let mut room = roomy(&ethernet(&ip_with(SIX, 60, &[TCP, 0, 1, 4, 0, 0, 0, 0], &segment)));
    let mut packet = open(&mut room);
    assert_eq!(packet.translate(A4, B4, A4), Ok(()));
    assert_eq!(packet.len(), 14 + 20 + segment.len());
    judge(packet.frame());
}

#[test]
fn extensions_of_a_complaint_are_left_out() {
    let quoted = ip(FOUR, UDP, &udp(FOUR, (5353, 53), &[7; 100]));
    let mut bytes = quoted[..128].to_vec();
    bytes.extend_from_slice(&[0x20, 0, 0xdf, 0xff, 0, 8, 1, 1, 0, 0, 0, 1]);
    // Time exceeded, with a quote of 32 words.
    let message = icmp((R4, A4), 11, [0, 32, 0, 0], &bytes);
    let mut room = roomy(&ethernet(&ip((R4, A4), ICMP, &message)));
    let mut packet = open(&mut room);
    assert_eq!(packet.translate(B6, A6, R6), Ok(()));
    assert_eq!(packet.len(), 14 + 40 + 8 + 40 + 108);
    assert!(checksum::verify(&packet));
    assert_eq!(packet.flow(), Ok(tuple((B6, A6), (53, 5353), UDP)));
}

/// RFC 7915, 5.1: IPv6 hosts never reduce their packets below 1,280 bytes, for any path MTU.
#[test]
fn short_packets_may_be_fragmented_and_long_ones_not() {
    let mut seen = std::collections::BTreeSet::new();
    for length in [0, 1, 100, 1232, 1233, 1400] {
        for protocol in [UDP, ICMPV6] {
            let whole = if protocol == UDP {
                ip(SIX, UDP, &udp(SIX, (1, 2), &vec![7; length]))
            } else {
                ip(SIX, ICMPV6, &echo(SIX, false, 7, &vec![7; length]))
            };
            let mut memory = vec![0; 1600];
            memory[..14 + whole.len()].copy_from_slice(&ethernet(&whole));
            let frame = Roomy::new(&mut memory, 14 + whole.len());
            let mut packet = Packet::in_room(frame, Meta { now: 1 << 40, ..Meta::default() });
            packet.translate(A4, B4, A4).unwrap();
            let frame = packet.frame();
            let (number, flags) = (u16::from_be_bytes([frame[18], frame[19]]), frame[20]);
            if length + 28 <= 1260 {
                assert!(flags == 0 && number != 0, "{length}");
                assert!(seen.insert(number), "{length}");
            } else {
                assert_eq!((flags, number), (0x40, 0), "{length}");
            }
            judge(frame);
        }
    }
}

/// A quoted header stays as its sender would recognise it.
#[test]
fn a_quoted_packet_has_no_identification() {
    let quoted = ip(SIX, UDP, &udp(SIX, (5353, 53), b"data"));
    let mut room = roomy(&error(R6, &quoted, 999));
    let mut packet = open(&mut room);
    packet.translate(B4, A4, R4).unwrap();
    let inner = 14 + 20 + 8;
    assert_eq!(packet.frame()[inner + 4..inner + 8], [0, 0, 0x40, 0]);
    assert_eq!(packet.frame()[20], 0);
}

#[test]
fn what_has_no_word_is_refused_and_as_it_was() {
    let redirect = icmp(FOUR, 5, [0; 4], &ip((B4, A4), UDP, &udp((B4, A4), (53, 5353), b"..")));
    let refused = [
        (ethernet(&ip(FOUR, ICMP, &redirect)), OTHERS[0], NotTranslated),
        (tcp4(), OTHERS[1], Malformed),
        (with_right(tcp4(), 14 + 6, 0x20), OTHERS[0], Fragment),
        // A routing header with a stop left.
        (
            ethernet(&ip_with(
                SIX,
                43,
                &[[TCP, 2, 0, 1], [0; 4], [0; 4], [0; 4], [0; 4], [1; 4]].concat(),
                &tcp(SIX, (1, 2), ACK, b""),
            )),
            OTHERS[1],
            NotTranslated,
        ),
    ];
    for (frame, [source, destination, _], reason) in refused {
        let mut room = roomy(&frame);
        let mut packet = open(&mut room);
        assert_eq!(packet.translate(source, destination, source), Err(reason));
        assert_eq!(packet.frame(), frame);
    }
    let mut alone = tcp4();
    let mut packet = Packet::new(&mut alone, Meta::default());
    assert_eq!(packet.translate(A6, B6, A6), Err(NoRoom));
    assert_eq!(packet.frame(), tcp4());
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn a_splice_does_what_it_says(
        which in 0..6_usize,
        splices in prop::collection::vec((0..120_usize, 0..40_usize, prop::collection::vec(any::<u8>(), 0..40)), 1..8),
    ) {
        let mut frame = frames(if which < 3 { FOUR } else { SIX }, if which < 3 { R4 } else { R6 }).swap_remove(which);
        let mut room = roomy(&frame);
        let most = frame.len() + ROOM;
        let mut packet = open(&mut room);
        for (at, old, new) in splices {
            let fits = at + old <= frame.len() && frame.len() - old + new.len() <= most;
            prop_assert_eq!(packet.splice(at, old, &new).is_ok(), fits);
            if fits {
                frame.splice(at..at + old, new);
            }
            prop_assert_eq!(packet.frame(), &frame[..]);
            is_parsed(&packet);
        }
    }

    /// For any frame: it is refused and unchanged, or the result is a packet of the other version
    /// that has correct checksums wherever they were correct before.
    #[test]
    fn anything_can_be_asked_to_be_translated(
        which in 0..6_usize,
        v4 in any::<bool>(),
        changes in prop::collection::vec((12..130_usize, any::<u8>()), 0..4),
        cut in 0..400_usize,
        tail in 0..60_usize,
    ) {
        let (ends, router) = if v4 { (FOUR, R4) } else { (SIX, R6) };
        let mut frame = frames(ends, router).swap_remove(which);
        for (at, byte) in changes {
            let length = frame.len();
            frame[at % length] = byte;
        }
        frame.truncate(cut);
        frame.resize(frame.len() + tail, 0);
        let mut room = roomy(&frame);
        let mut packet = open(&mut room);
        let was_right = checksum::verify(&packet);
        let [source, destination, sender] = OTHERS[usize::from(!packet.is_ipv4())];
        if packet.translate(source, destination, sender).is_err() {
            prop_assert_eq!(packet.frame(), &frame[..]);
        } else {
            is_parsed(&packet);
            prop_assert_eq!(packet.is_ipv4(), source.is_v4());
            let flow = packet.flow().unwrap();
            prop_assert_eq!((flow.source, flow.destination), (source, destination));
            prop_assert!(!was_right || checksum::verify(&packet));
        }
    }
}
