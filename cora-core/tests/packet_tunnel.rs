//! Tunnels, VLAN tags and payloads, judged by smoltcp's reading of the same bytes.

mod packet_support;

use cora_core::key::{Address, protocol};
use cora_core::packet::{
    BadChecksum, Encapsulation, Inner, Meta, NoRoom, NotTunnelled, Outer, Packet, ROOM, Roomy,
    TcpTimestamps, Tunnel, Vlan, checksum,
};
use cora_core::verdict::reasons::{Fragment, Malformed, NoFlow, NotIp, TooLong, Truncated};
use proptest::prelude::*;

use packet_support::*;

const KINDS: [Encapsulation; 6] = [
    Encapsulation::Vxlan { network: 0x12_3456 },
    Encapsulation::Geneve { network: 0xff_ffff },
    Encapsulation::GtpU { tunnel: 0x0102_0304 },
    Encapsulation::Gre { key: None },
    Encapsulation::Gre { key: Some(0xdead_beef) },
    Encapsulation::Ip,
];

fn roomy(frame: &[u8]) -> (Vec<u8>, usize) {
    let mut memory = frame.to_vec();
    memory.resize(frame.len() + ROOM, 0xee);
    (memory, frame.len())
}

fn open((memory, length): &mut (Vec<u8>, usize)) -> Packet<'_> {
    Packet::in_room(Roomy::new(memory, *length), Meta::default())
}

fn outer(ends: (Address, Address)) -> Outer {
    Outer {
        mac_source: [2, 0, 0, 0, 0, 1],
        mac_destination: [2, 0, 0, 0, 0, 2],
        source: ends.0,
        destination: ends.1,
        source_port: 0xc123,
        class: 0xb8,
        ..Outer::default()
    }
}

/// Whether a protocol carries frames, as it is written.
const fn of_frames(kind: Encapsulation) -> bool {
    matches!(kind, Encapsulation::Vxlan { .. } | Encapsulation::Geneve { .. })
}

#[test]
fn what_goes_in_comes_out() {
    for kind in KINDS {
        for (ends, inner) in [(FOUR, FOUR), (FOUR, SIX), (SIX, FOUR), (SIX, SIX)] {
            for (name, frame) in plain_frames(inner, b"payload") {
                let mut room = roomy(&frame);
                let mut packet = open(&mut room);
                let flow = packet.flow();
                packet.encapsulate(&outer(ends), kind).unwrap();
                // Lengths and checksums of the outer packet.
                judge(packet.frame());
                assert_eq!(packet.mac_destination(), Ok([2, 0, 0, 0, 0, 2]));
                assert_eq!(packet.source(), Ok(ends.0));
                assert_eq!(packet.ttl(), Ok(64));
                let tunnel = packet.tunnel().unwrap();
                assert_eq!(tunnel.encapsulation, kind, "{name}");
                assert_eq!((tunnel.source, tunnel.destination), ends);
                assert_eq!(tunnel.carries == Inner::Frame, of_frames(kind));
                assert_eq!(packet.inner_flow(), flow, "{name} in {kind:?}");
                assert_eq!(packet.decapsulate(), Ok(tunnel));
                assert_eq!(packet.flow(), flow);
                let from = if of_frames(kind) { 0 } else { 12 };
                assert_eq!(packet.frame()[from..], frame[from..], "{name} in {kind:?}");
            }
        }
    }
}

/// Bytes as the standards draw them.
#[test]
fn headers_are_those_of_the_standards() {
    let frame = ethernet(&ip(FOUR, UDP, &udp(FOUR, (1, 2), b"x")));
    let head = |kind| {
        let mut room = roomy(&frame);
        let mut packet = open(&mut room);
        packet.encapsulate(&outer(FOUR), kind).unwrap();
        packet.frame()[34..54].to_vec()
    };
    let length = frame.len() as u8;
    let vxlan = head(KINDS[0]);
    assert_eq!(vxlan[..8], [0xc1, 0x23, 0x12, 0xb5, 0, 16 + length, 0, 0]);
    assert_eq!(vxlan[8..16], [8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
    assert_eq!(head(KINDS[1])[8..16], [0, 0, 0x65, 0x58, 0xff, 0xff, 0xff, 0]);
    assert_eq!(head(KINDS[2])[8..16], [0x30, 255, 0, length - 14, 1, 2, 3, 4]);
    assert_eq!(head(KINDS[3])[..4], [0, 0, 8, 0]);
    assert_eq!(head(KINDS[4])[..8], [0x20, 0, 8, 0, 0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(head(KINDS[5])[0], 0x45);
}

#[test]
fn tunnels_stand_within_tunnels() {
    let mut room = roomy(&tcp4());
    let mut packet = open(&mut room);
    packet.encapsulate(&outer(FOUR), KINDS[0]).unwrap();
    packet.encapsulate(&outer(SIX), KINDS[1]).unwrap();
    judge(packet.frame());
    let [first, second] = [(); 2].map(|()| packet.decapsulate().unwrap().encapsulation);
    assert_eq!((first, second), (KINDS[1], KINDS[0]));
    assert_eq!(packet.frame(), tcp4());
}

#[test]
fn padding_and_tags_stay_behind() {
    let mut frame = tagged(&[0x8100], &ip(FOUR, TCP, &tcp(FOUR, (1234, 80), SYN, b"")));
    let length = frame.len();
    frame.extend([0; 9]);
    let mut room = roomy(&frame);
    let mut packet = open(&mut room);
    packet.encapsulate(&outer(FOUR), Encapsulation::Ip).unwrap();
    assert_eq!(packet.len(), length - 4 + 20);
    // The tag of the outer frame remains.
    packet.push_vlan(Vlan { id: 9, ..Vlan::default() }).unwrap();
    packet.decapsulate().unwrap();
    assert_eq!(packet.vlan().map(|tag| tag.id), Some(9));
    assert_eq!(packet.frame()[18..], frame[18..length]);
}

/// A packet of UDP to this port.
fn in_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(&ip(FOUR, UDP, &udp(FOUR, (5, port), payload)))
}

#[track_caller]
fn tunnel_of(mut frame: Vec<u8>) -> Tunnel {
    let packet = packet(&mut frame);
    packet.inner_flow().expect("the inner packet has a flow");
    packet.tunnel().expect("a tunnel")
}

#[test]
fn options_and_extensions_are_passed_over() {
    let inner = ip(FOUR, TCP, &tcp(FOUR, (1234, 80), SYN, b"hello"));
    let framed = ethernet(&inner);
    let at = |frame: Vec<u8>| tunnel_of(frame).at;
    // Geneve with an option of two words.
    let geneve = [&[2, 0, 0x65, 0x58, 0, 0, 1, 0][..], &[0; 8], &framed].concat();
    assert_eq!(at(in_udp(6081, &geneve)), 42 + 16);
    // Geneve that carries IP.
    let geneve = [&[0, 0, 8, 0, 0, 0, 1, 0][..], &inner].concat();
    assert_eq!(tunnel_of(in_udp(6081, &geneve)).carries, Inner::Ip);
    // GTP-U with a sequence number, and with two extension headers.
    let length = |more: usize| ((inner.len() + more) as u16).to_be_bytes();
    let [high, low] = length(4);
    let gtp = [&[0x32, 255, high, low, 0, 0, 0, 7, 0, 1, 0, 0][..], &inner].concat();
    assert_eq!(at(in_udp(2152, &gtp)), 42 + 12);
    let [high, low] = length(4 + 4 + 8);
    let extended = [
        &[0x34, 255, high, low, 0, 0, 0, 7, 0, 0, 0, 0x85][..],
        &[1, 0, 0, 0xc0],
        &[2, 0, 0, 0, 0, 0, 0, 0],
        &inner,
    ];
    assert_eq!(at(in_udp(2152, &extended.concat())), 42 + 24);
    // GRE with checksum, key and sequence number.
    let mut gre = [&[0xb0, 0, 8, 0][..], &[0; 4], &[0, 0, 0, 9], &[0; 4], &inner].concat();
    let sum = checksum::internet(&gre);
    gre[4..6].copy_from_slice(&sum.to_be_bytes());
    let frame = ethernet(&ip(FOUR, protocol::GRE, &gre));
    let found = tunnel_of(frame.clone());
    assert_eq!((found.encapsulation, found.at), (Encapsulation::Gre { key: Some(9) }, 34 + 16));
    let mut room = roomy(&frame);
    assert_eq!(open(&mut room).decapsulate().map(|tunnel| tunnel.at), Ok(50));
    let last = frame.len() - 1;
    let mut damaged = with(frame, last, 0xaa);
    assert_eq!(packet(&mut damaged).decapsulate(), Err(BadChecksum));
}

#[test]
fn what_is_no_tunnel_is_refused() {
    let inner = ip(FOUR, TCP, &tcp(FOUR, (1234, 80), SYN, b"hello"));
    for (frame, why) in [
        (tcp4(), NotTunnelled),
        (in_udp(53, &inner), NotTunnelled),
        // Without a network; a control message; an echo request of GTP.
        (in_udp(4789, &[[0; 8].as_slice(), &ethernet(&inner)].concat()), NotTunnelled),
        (in_udp(6081, &[0, 0x80, 8, 0, 0, 0, 0, 0]), NotTunnelled),
        (in_udp(2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]), NotTunnelled),
        // Cut off; longer than the datagram; extensions of no length.
        (in_udp(4789, &[8, 0, 0, 0, 0, 0, 0]), Truncated),
        (in_udp(4789, &[8, 0, 0, 0, 0, 0, 0, 0, 1]), Truncated),
        (in_udp(2152, &[&[0x30, 255, 1, 0, 0, 0, 0, 0][..], &inner].concat()), Truncated),
        (in_udp(2152, &[0x34, 255, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0]), Malformed),
        (ethernet(&ip(FOUR, protocol::GRE, &[0x40, 0, 8, 0])), NotTunnelled),
        (ethernet(&ip(FOUR, protocol::GRE, &[0, 1, 8, 0])), NotTunnelled),
        (ethernet(&ip(FOUR, protocol::GRE, &[0, 0, 8, 6])), NotTunnelled),
        (ethernet(&ip(FOUR, protocol::GRE, &[0x20, 0, 8, 0, 1])), Truncated),
        (ethernet(&ip(FOUR, protocol::IPV4, &inner[..19])), Truncated),
        (error(R4, &in_udp(4789, &[8; 40])[14..], 28), NotTunnelled),
        (with_right(in_udp(4789, &[8; 40]), 20, 0x20), Fragment),
        (vec![0; 20], NotIp),
    ] {
        let mut room = roomy(&frame);
        let mut packet = open(&mut room);
        assert_eq!(packet.tunnel(), Err(why), "{frame:02x?}");
        assert_eq!(packet.decapsulate(), Err(why));
        assert_eq!(packet.frame(), frame);
    }
    // Announced, but of neither version.
    let mut odd = ethernet(&ip(FOUR, protocol::IPV4, &[0x50; 40]));
    assert_eq!(packet(&mut odd).decapsulate(), Err(NotIp));
    assert_eq!(packet(&mut odd).inner_flow(), Err(NotIp));
}

#[test]
fn a_packet_that_does_not_fit_stays_as_it_is() {
    let mixed = Outer { destination: B6, ..outer(FOUR) };
    let mut room = roomy(&tcp4());
    let mut packet = open(&mut room);
    assert_eq!(packet.encapsulate(&mixed, Encapsulation::Ip), Err(Malformed));
    packet.encapsulate(&outer(SIX), KINDS[0]).unwrap();
    let once = packet.frame().to_vec();
    assert_eq!(packet.encapsulate(&outer(SIX), KINDS[0]), Err(NoRoom));
    assert_eq!(packet.frame(), once);
    let mut room = roomy(&vec![0; 65_500]);
    assert_eq!(open(&mut room).encapsulate(&outer(FOUR), KINDS[0]), Err(TooLong));
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut room = roomy(&arp);
    assert_eq!(open(&mut room).encapsulate(&outer(FOUR), Encapsulation::Ip), Err(NotIp));
    assert_eq!(open(&mut room).encapsulate(&outer(FOUR), KINDS[1]), Ok(()));
}

#[test]
fn tags_are_pushed_and_popped() {
    let mut room = roomy(&tcp6());
    let mut packet = open(&mut room);
    let flow = packet.flow();
    assert_eq!(packet.pop_vlan(), None);
    let inner = Vlan { id: 0xfff, priority: 7, drop_eligible: true, ..Vlan::default() };
    let outer = Vlan { kind: Vlan::SERVICE, id: 1, ..Vlan::default() };
    packet.push_vlan(inner).unwrap();
    packet.push_vlan(outer).unwrap();
    assert_eq!(packet.vlans().collect::<Vec<_>>(), [outer, inner]);
    assert_eq!(packet.frame()[12..20], [0x88, 0xa8, 0, 1, 0x81, 0, 0xff, 0xff]);
    assert_eq!(packet.flow(), flow);
    assert_eq!((packet.pop_vlan(), packet.pop_vlan()), (Some(outer), Some(inner)));
    assert_eq!(packet.frame(), tcp6());
}

#[test]
fn layers_are_where_they_begin() {
    let mut frame = tagged(&[0x8100], &ip(SIX, TCP, &tcp(SIX, (1234, 80), SYN, b"hello")));
    frame.push(0);
    let offsets = packet(&mut frame).offsets().unwrap();
    assert_eq!((offsets.ip, offsets.transport, offsets.payload), (18, 58, 78));
    assert_eq!(offsets.end, frame.len() - 1);
    assert_eq!(packet(&mut [0; 60]).offsets(), None);
    // A TCP header that is cut off.
    let mut cut = ethernet(&ip(FOUR, TCP, &[0; 18]));
    let offsets = packet(&mut cut).offsets().unwrap();
    assert_eq!((offsets.payload, offsets.end), (52, 52));
}

#[test]
fn time_stamps_are_read() {
    let mut segment = tcp(FOUR, (1, 2), ACK, &[]);
    segment[12] = 8 << 4;
    segment.extend([1, 1, 8, 10, 0, 0, 0, 7, 0xff, 0, 0, 9]);
    let mut frame = ethernet(&ip(FOUR, TCP, &segment));
    let told = packet(&mut frame).tcp_options().timestamps;
    assert_eq!(told, Some(TcpTimestamps { value: 7, echo: 0xff00_0009 }));
    // Of another length, it is none.
    let mut other = with(frame, 57, 9);
    assert_eq!(packet(&mut other).tcp_options().timestamps, None);
}

#[test]
fn a_datagram_gets_another_payload() {
    for ends in [FOUR, SIX] {
        for data in [&b""[..], b"odd", b"a longer answer than the question was"] {
            let mut frame = ethernet(&ip(ends, UDP, &udp(ends, (5, 53), b"question")));
            frame.extend([0; 3]);
            let mut room = roomy(&frame);
            let mut packet = open(&mut room);
            packet.set_udp(data).unwrap();
            judge(packet.frame());
            assert_eq!(packet.payload(), data);
            assert_eq!(packet.offsets().map(|offsets| offsets.end), Some(packet.len()));
        }
    }
    let mut room = roomy(&tcp4());
    assert_eq!(open(&mut room).set_udp(b"x"), Err(NoFlow));
    let mut room = roomy(&in_udp(53, b"x"));
    assert_eq!(open(&mut room).set_udp(&[0; ROOM + 2]), Err(NoRoom));
    assert_eq!(open(&mut room).set_udp(&vec![0; 65_530]), Err(TooLong));
    assert_eq!(open(&mut room).set_udp(&[0; ROOM + 1]), Ok(()));
    // Without a checksum it stays without one.
    let mut none = in_udp(53, b"question");
    none[40..42].fill(0);
    let mut room = roomy(&none);
    let mut packet = open(&mut room);
    packet.set_udp(b"answer").unwrap();
    assert_eq!(packet.frame()[40..42], [0, 0]);
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn bytes_of_a_payload_are_replaced_and_the_checksum_follows(
        v4 in any::<bool>(),
        which in 0..4_usize,
        at in 0..20_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..20),
        wrong in any::<bool>(),
    ) {
        let ends = if v4 { FOUR } else { SIX };
        let mut frames = plain_frames(ends, b"eighteen bytes: 18");
        let which = which % frames.len();
        let mut frame = frames.swap_remove(which).1;
        if wrong {
            let last = frame.len() - 1;
            frame[last] ^= 1;
        }
        let mut expected = frame.clone();
        let mut packet = packet(&mut frame);
        let from = packet.offsets().unwrap().payload + at;
        let was_right = checksum::verify(&packet);
        let written = packet.write_payload(at, &bytes);
        prop_assert_eq!(written.is_ok(), at + bytes.len() <= 18, "{:?}", written);
        if written.is_ok() {
            expected[from..from + bytes.len()].copy_from_slice(&bytes);
            prop_assert_eq!(packet.payload(), &expected[from - at..from - at + 18]);
            prop_assert_eq!(checksum::verify(&packet), was_right);
        } else {
            prop_assert_eq!(packet.frame(), &expected[..]);
        }
    }

    /// Whatever a peer sends: it is refused and unchanged, or what is left parses as it says.
    #[test]
    fn anything_can_be_asked_to_be_unpacked(
        kind in 0..6_usize,
        outer_v4 in any::<bool>(),
        inner_v4 in any::<bool>(),
        changes in prop::collection::vec((12..110_usize, any::<u8>()), 0..4),
        cut in 30..200_usize,
    ) {
        let mut room = roomy(&if inner_v4 { tcp4() } else { tcp6() });
        let mut packet = open(&mut room);
        packet.encapsulate(&outer(if outer_v4 { FOUR } else { SIX }), KINDS[kind]).unwrap();
        let mut frame = packet.frame().to_vec();
        for (at, byte) in changes {
            let length = frame.len();
            frame[at % length] = byte;
        }
        frame.truncate(cut);
        let mut room = roomy(&frame);
        let mut packet = open(&mut room);
        let (told, inner) = (packet.tunnel(), packet.inner_flow());
        match packet.decapsulate() {
            Err(_) => prop_assert_eq!(packet.frame(), &frame[..]),
            found => {
                prop_assert_eq!(found, told);
                prop_assert_eq!(packet.flow(), inner);
            }
        }
    }
}
