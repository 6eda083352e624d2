//! Random bytes never panic, and random rewrites keep every checksum correct.

mod packet_support;

use cora_core::conntrack::TcpState;
use cora_core::key::Address;
use cora_core::packet::{Meta, Packet, checksum};
use cora_core::state::table::Direction;
use packet_support::*;
use proptest::prelude::*;

/// Calls every method, and checks that related results agree.
fn exercise(frame: &mut [u8], address: Address, port: u16) {
    let before = frame.to_vec();
    let mut packet = Packet::new(frame, Meta::default());
    assert!(!format!("{packet:?} {:?}", packet.tcp()).is_empty());
    let flow = packet.flow();
    assert_eq!(flow, packet.five_tuple());
    assert!(packet.payload().len() <= packet.len());
    assert_eq!(packet.is_ip(), packet.is_ipv4() || packet.is_ipv6());
    assert_eq!(packet.fragment().is_some(), packet.is_fragment());
    assert!(packet.vlans().count() <= 4);
    let _ = (packet.inside_address(), packet.is_link_local_control(), packet.ttl());
    let _ = (packet.mac_source(), packet.mac_destination(), checksum::verify(&packet));
    let opened = TcpState::open(&packet);
    assert!(opened.is_err() || TcpState::pick_up(&packet) == opened);
    let mut state = opened.unwrap_or_default();
    let _ = state.advance(&packet, Direction::Reply);
    let _ = (packet.forwardable(), packet.is_redirect(), packet.is_dhcp(), packet.icmp_query());
    if flow.is_ok() {
        assert!(packet.source().is_ok() && packet.destination().is_ok());
    }
    let results = [
        packet.set_source(address),
        packet.set_destination(address),
        packet.set_source_port(port),
        packet.set_destination_port(port),
        packet.set_source_endpoint(address, port),
        packet.set_destination_endpoint(address, port),
        packet.decrement_ttl(),
    ];
    if results.iter().all(Result::is_err) {
        assert_eq!(packet.frame(), before);
    }
    if results[0].is_ok() {
        assert_eq!(packet.source(), Ok(address));
        assert_eq!(packet.destination(), Ok(address));
    }
    if results[2].is_ok() {
        let flow = packet.flow().expect("it had ports");
        assert_eq!((flow.source_port, flow.destination_port), (port, port));
    }
    assert_eq!(packet.flow().map_err(|reason| reason.name()), {
        let mut again = packet.frame().to_vec();
        Packet::new(&mut again, Meta::default()).flow().map_err(|reason| reason.name())
    });
}

fn any_address() -> impl Strategy<Value = Address> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(Address::v4),
        any::<[u8; 16]>().prop_map(Address::v6),
        Just(N4),
        Just(N6),
    ]
}

/// Frames that parse, of every transport and version, some of them errors that quote others.
fn valid_frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = proptest::collection::vec(any::<u8>(), 0..64);
    (any::<bool>(), 0..3_usize, payload, any::<bool>(), 0..80_usize).prop_map(
        |(v4, transport, payload, error_about, keep)| {
            let (ends, router) = if v4 { ((A4, B4), R4) } else { ((A6, B6), R6) };
            let (_, frame) = plain_frames(ends, &payload).swap_remove(transport);
            let header = if v4 { 28 } else { 48 };
            if error_about { error(router, &frame[14..], header + keep) } else { frame }
        },
    )
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn random_bytes(mut frame in proptest::collection::vec(any::<u8>(), 0..200),
                    ethertype in prop_oneof![Just([0x08, 0x00]), Just([0x86, 0xdd]), Just([0x81, 0])],
                    address in any_address(), port: u16) {
        exercise(&mut frame, address, port);
        if frame.len() > 15 {
            frame[12..14].copy_from_slice(&ethertype);
            frame[14] = if ethertype == [0x08, 0] { 0x45 } else { 0x60 };
            exercise(&mut frame, address, port);
        }
    }

    #[test]
    fn damaged_frames(mut frame in valid_frame(), places in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
                      cut: u16, address in any_address(), port: u16) {
        for (place, byte) in places {
            let length = frame.len();
            frame[usize::from(place) % length] = byte;
        }
        let cut = usize::from(cut) % (frame.len() * 4);
        frame.truncate(cut);
        exercise(&mut frame, address, port);
    }

    #[test]
    fn rewrites_keep_checksums_right(mut frame in valid_frame(),
                                     rewrites in proptest::collection::vec((0..6_u8, any::<[u8; 16]>(), any::<u16>()), 1..12)) {
        judge(&frame);
        for (which, bytes, port) in rewrites {
            let mut packet = packet(&mut frame);
            let address = if packet.is_ipv4() { Address::v4([bytes[0], bytes[1], bytes[2], bytes[3]]) } else { Address::v6(bytes) };
            prop_assume!(packet.is_ipv4() || !address.is_v4());
            let result = match which {
                0 => packet.set_source(address),
                1 => packet.set_destination(address),
                2 => packet.set_source_port(port),
                3 => packet.set_destination_port(port),
                4 => packet.set_source_endpoint(address, port),
                _ => packet.set_destination_endpoint(address, port),
            };
            prop_assert_eq!(result, Ok(()));
            judge(&frame);
        }
    }
}
