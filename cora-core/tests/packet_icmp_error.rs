//! Packets that become the ICMP errors that answer them. smoltcp judges checksums and numbers.

mod packet_support;

use cora_core::key::Address;
use cora_core::packet::{IcmpError, Meta, NoRoom, NotAnswered, Packet, ROOM, Roomy};
use cora_core::verdict::Reason;
use cora_core::verdict::reasons::{Malformed, MartianSource};
use packet_support::*;
use proptest::prelude::*;
use smoltcp::wire::{
    Icmpv4DstUnreachable, Icmpv4Message, Icmpv4Packet, Icmpv4TimeExceeded, Icmpv6DstUnreachable,
    Icmpv6Message, Icmpv6Packet, Icmpv6TimeExceeded, Ipv4Packet, Ipv6Packet,
};

const ERRORS: [IcmpError; 6] = [
    IcmpError::TimeExceeded,
    IcmpError::NoRoute,
    IcmpError::HostUnreachable,
    IcmpError::PortUnreachable,
    IcmpError::Prohibited,
    IcmpError::TooBig { mtu: 1400 },
];

/// The frame after `turn_to_error`, or the reason that refused it, with `room` bytes behind it.
fn turned(frame: &[u8], router: Address, error: IcmpError, room: usize) -> Result<Vec<u8>, Reason> {
    let mut memory = frame.to_vec();
    memory.resize(frame.len() + room, 0xee);
    let mut packet = if room == ROOM {
        Packet::in_room(Roomy::new(&mut memory, frame.len()), Meta::default())
    } else {
        Packet::new(&mut memory[..frame.len()], Meta::default())
    };
    let result = packet.turn_to_error(router, error);
    if result.is_err() {
        is_unchanged(&packet, frame);
    }
    result.map(|()| packet.frame().to_vec())
}

#[track_caller]
fn is_unchanged(packet: &Packet<'_>, frame: &[u8]) {
    assert_eq!(packet.frame(), frame, "refused packets stay as they are");
}

/// Type and code by smoltcp's names.
fn numbers(error: IcmpError, is_v4: bool) -> (u8, u8) {
    use IcmpError::*;
    if is_v4 {
        let unreachable = |code: Icmpv4DstUnreachable| (Icmpv4Message::DstUnreachable, code.into());
        let (kind, code) = match error {
            TimeExceeded => (Icmpv4Message::TimeExceeded, Icmpv4TimeExceeded::TtlExpired.into()),
            NoRoute => unreachable(Icmpv4DstUnreachable::NetUnreachable),
            HostUnreachable => unreachable(Icmpv4DstUnreachable::HostUnreachable),
            PortUnreachable => unreachable(Icmpv4DstUnreachable::PortUnreachable),
            Prohibited => unreachable(Icmpv4DstUnreachable::CommProhibited),
            TooBig { .. } => unreachable(Icmpv4DstUnreachable::FragRequired),
            _ => unreachable!("{error:?}"),
        };
        return (kind.into(), code);
    }
    let unreachable = |code: Icmpv6DstUnreachable| (Icmpv6Message::DstUnreachable, code.into());
    let (kind, code) = match error {
        TimeExceeded => (Icmpv6Message::TimeExceeded, Icmpv6TimeExceeded::HopLimitExceeded.into()),
        NoRoute => unreachable(Icmpv6DstUnreachable::NoRoute),
        HostUnreachable => unreachable(Icmpv6DstUnreachable::AddrUnreachable),
        PortUnreachable => unreachable(Icmpv6DstUnreachable::PortUnreachable),
        Prohibited => unreachable(Icmpv6DstUnreachable::AdminProhibit),
        TooBig { .. } => (Icmpv6Message::PktTooBig, 0),
        _ => unreachable!("{error:?}"),
    };
    (kind.into(), code)
}

#[test]
fn errors_quote_the_packet_and_go_to_its_source() {
    for (ends, router, header, longest) in [(FOUR, R4, 20, 576), (SIX, R6, 40, 1280)] {
        for error in ERRORS {
            for length in [0, 4, 100, 519, 520, 521, 1100, 1400] {
                for (name, frame) in plain_frames(ends, &vec![7; length]) {
                    let flow = packet(&mut frame.clone()).flow().expect("a flow");
                    let mut made = turned(&frame, router, error, ROOM).expect("answered");
                    judge(&made);
                    assert_eq!((&made[..6], &made[6..12]), (&frame[6..12], &frame[..6]));
                    let ip = &made[14..];
                    assert!(ip.len() <= longest, "{name} {length}");
                    let quoted = (frame.len() - 14).min(longest - header - 8);
                    assert_eq!(ip[header + 8..], frame[14..14 + quoted], "{name} {length}");
                    assert_eq!((ip[header], ip[header + 1]), numbers(error, ends.0.is_v4()));
                    let said = u32::from_be_bytes(ip[header + 4..header + 8].try_into().unwrap());
                    let is_big = matches!(error, IcmpError::TooBig { .. });
                    assert_eq!(said, if is_big { 1400 } else { 0 });
                    let made = packet(&mut made);
                    assert!(made.is_icmp_error());
                    assert_eq!(made.flow(), Ok(flow.reversed()), "{name} {length}");
                    assert_eq!((made.source(), made.destination()), (Ok(router), Ok(ends.0)));
                    assert_eq!(made.ttl(), Ok(64));
                }
            }
        }
    }
}

#[test]
fn tags_stay_and_padding_goes() {
    let mut frame = tagged(&[0x8100], &ip(FOUR, UDP, &udp(FOUR, (5353, 53), b"x")));
    frame.resize(64, 0);
    let made = turned(&frame, R4, IcmpError::NoRoute, ROOM).expect("answered");
    assert_eq!(made[12..18], frame[12..18]);
    assert_eq!(made.len(), 18 + 28 + 29);
    judge_form(&made[18..], 20, ICMP);
}

#[test]
fn nobody_answers_errors_groups_and_later_fragments() {
    let refused = |frame: &[u8], router, why| {
        assert_eq!(turned(frame, router, IcmpError::NoRoute, ROOM), Err(why));
    };
    for (ends, router, group) in [
        (FOUR, R4, Address::v4([239, 1, 2, 3])),
        (SIX, R6, Address::v6([0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1])),
    ] {
        let (icmp_of, errors, redirect) =
            if ends.0.is_v4() { (ICMP, [3, 4, 11, 12], 5) } else { (ICMPV6, [1, 2, 3, 4], 137) };
        for kind in errors.into_iter().chain([redirect]) {
            let message = icmp(ends, kind, [0; 4], &[0; 48]);
            refused(&ethernet(&ip(ends, icmp_of, &message)), router, NotAnswered);
        }
        let ours = (ends.0, group);
        let to_group = ethernet(&ip(ours, UDP, &udp(ours, (1, 2), b"x")));
        refused(&to_group, router, NotAnswered);
        let told = turned(&to_group, router, IcmpError::TooBig { mtu: 1280 }, ROOM);
        assert_eq!(told.is_ok(), !ends.0.is_v4(), "routers on the way say what fits");
        let (_, plain) = plain_frames(ends, b"x").remove(1);
        refused(&with(plain.clone(), 0, 1), router, NotAnswered);
        refused(&with(plain.clone(), 6, 1), router, NotAnswered);
        refused(&plain, if ends.0.is_v4() { R6 } else { R4 }, Malformed);
        let none = turned(&plain, router, IcmpError::NoRoute, 0);
        assert_eq!(none, Err(NoRoom));
    }
    let (_, plain) = plain_frames(FOUR, &[1; 64]).remove(1);
    let later = with_right(plain.clone(), 14 + 7, 8);
    refused(&later, R4, NotAnswered);
    let first = with_right(plain, 14 + 6, 0x20);
    assert!(turned(&first, R4, IcmpError::TimeExceeded, ROOM).is_ok(), "the first is answered");
    let martian = (Address::v4([127, 0, 0, 1]), FOUR.1);
    let martian = ethernet(&ip(martian, UDP, &udp(martian, (1, 2), b"x")));
    refused(&martian, R4, MartianSource);
}

proptest! {
    #![proptest_config(cases(1000))]

    /// Whatever came: it is refused and unchanged, or becomes an error, which nobody answers.
    #[test]
    fn anything_can_be_asked_to_be_answered(
        is_v4 in any::<bool>(),
        kind in 0..3_usize,
        error in 0..ERRORS.len(),
        changes in prop::collection::vec((0..110_usize, any::<u8>()), 0..4),
        cut in 0..200_usize,
    ) {
        let (ends, router) = if is_v4 { (FOUR, R4) } else { (SIX, R6) };
        let (_, mut frame) = plain_frames(ends, &[5; 60]).swap_remove(kind);
        for (at, byte) in changes {
            let length = frame.len();
            frame[at % length] = byte;
        }
        frame.truncate(cut);
        let source = packet(&mut frame).source();
        if let Ok(mut made) = turned(&frame, router, ERRORS[error], ROOM) {
            let read = packet(&mut made);
            prop_assert_eq!((read.source(), read.destination()), (Ok(router), source));
            prop_assert!(read.is_icmp_error());
            let ip = 14 + 4 * read.vlans().count();
            // What it quotes may be damaged.
            let is_right = if is_v4 {
                let header = Ipv4Packet::new_unchecked(&made[ip..]);
                header.verify_checksum()
                    && Icmpv4Packet::new_unchecked(&made[ip + 20..]).verify_checksum()
            } else {
                let header = Ipv6Packet::new_unchecked(&made[ip..]);
                Icmpv6Packet::new_unchecked(&made[ip + 40..])
                    .verify_checksum(&header.src_addr(), &header.dst_addr())
            };
            prop_assert!(is_right);
            let again = turned(&made, router, ERRORS[error], ROOM);
            prop_assert_eq!(again, Err(NotAnswered));
        }
    }
}
