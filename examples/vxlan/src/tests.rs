//! The handler, packet by packet.

use super::*;

/// Handles a frame, which is then what leaves.
fn handle(frame: &mut Vec<u8>, port: Port, tunnels: &Tunnels) -> Verdict {
    let meta = Meta { port, ..Meta::default() };
    cora::testing::in_room(frame, meta, |packet| match port {
        Port::INSIDE => pack(packet, tunnels),
        _ => unpack(packet, tunnels),
    })?;
    Transmit
}

fn tunnels() -> Tunnels {
    let text = "local 192.0.2.1 02:00:00:00:00:01\nrouter 02:00:00:00:00:02\n\
                # Two tenants.\ntenant 0 42 203.0.113.1\ntenant 7 16777215 203.0.113.7\n";
    Tunnels::configure(text).unwrap()
}

/// A datagram from a port, in Ethernet.
fn datagram(port: u16) -> Vec<u8> {
    let datagram = [&port.to_be_bytes()[..], &[0, 53, 0, 12, 0, 0, 1, 2, 3, 4]].concat();
    let mut frame = cora::testing::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64, protocol::UDP, &datagram);
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa]);
    frame
}

fn tagged(frame: &[u8], vlan: u8) -> Vec<u8> {
    [&frame[..12], &[0x81, 0, 0, vlan], &frame[12..]].concat()
}

/// As the other gateway would send it back.
fn answered(packed: &[u8], remote: [u8; 4]) -> Vec<u8> {
    let mut packed = packed.to_vec();
    let mut packet = Packet::new(&mut packed, Meta::default());
    packet.set_source(Address::v4(remote)).unwrap();
    packet.set_destination(Address::v4([192, 0, 2, 1])).unwrap();
    packed
}

#[test]
fn what_is_packed_is_what_the_standard_says() {
    let mut frame = datagram(1000);
    assert_eq!(handle(&mut frame, Port::INSIDE, &tunnels()), Transmit);
    assert_eq!(frame[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    assert_eq!(frame[36..38], 4789_u16.to_be_bytes());
    // No checksum; flags, three octets of nothing, 24 bits of identifier, one more of nothing.
    assert_eq!(frame[40..50], [0, 0, 0x08, 0, 0, 0, 0, 0, 42, 0]);
    assert_eq!(frame[50..], datagram(1000));
    let mut again = frame.to_vec();
    let packet = Packet::new(&mut again, Meta::default());
    assert!(checksum::verify(&packet));
    assert_eq!(packet.destination(), Ok(Address::v4([203, 0, 113, 1])));
    assert!(packet.five_tuple().unwrap().source_port >= 0xc000);
}

#[test]
fn flows_have_ports_of_their_own() {
    let ports: std::collections::BTreeSet<u16> = (0..1000)
        .map(|port| entropy(&Packet::new(&mut datagram(port), Meta::default())).unwrap())
        .collect();
    assert!(ports.len() > 900, "{}", ports.len());
    assert!(ports.iter().all(|port| *port >= 0xc000));
}

#[test]
fn each_tenant_gets_its_own_back() {
    for (vlan, remote) in [(None, [203, 0, 113, 1]), (Some(7), [203, 0, 113, 7])] {
        let frame = vlan.map_or_else(|| datagram(9), |vlan| tagged(&datagram(9), vlan));
        let mut packed = frame.clone();
        assert_eq!(handle(&mut packed, Port::INSIDE, &tunnels()), Transmit);
        assert_eq!(packed[50..], datagram(9), "without its tag");
        let mut back = answered(&packed, remote);
        // Some links pad.
        back.extend_from_slice(&[0; 9]);
        assert_eq!(handle(&mut back, Port::OUTSIDE, &tunnels()), Transmit);
        assert_eq!(back, frame);
    }
}

#[test]
fn what_is_no_tenants_is_dropped_by_name() {
    let tunnels = tunnels();
    let inside = |mut frame: Vec<u8>| handle(&mut frame, Port::INSIDE, &tunnels);
    assert_eq!(inside(tagged(&datagram(1), 8)), Drop(NO_TENANT));
    let mut packed = datagram(1);
    handle(&mut packed, Port::INSIDE, &tunnels).unwrap();
    let good = answered(&packed, [203, 0, 113, 1]);
    let outside = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        handle(&mut frame, Port::OUTSIDE, &tunnels)
    };
    assert_eq!(outside(&|_| {}), Transmit);
    assert_eq!(outside(&|frame| *frame = answered(frame, [203, 0, 113, 7])), Drop(NO_TENANT));
    assert_eq!(outside(&|frame| frame[48] = 43), Drop(NO_TENANT));
    assert_eq!(outside(&|frame| frame[42] = 0), Drop(NOT_VXLAN));
    assert_eq!(outside(&|frame| frame[37] ^= 1), Drop(NOT_VXLAN));
    let for_another = outside(&|frame| {
        let mut packet = Packet::new(frame, Meta::default());
        packet.set_destination(Address::v4([192, 0, 2, 9])).unwrap();
    });
    assert_eq!(for_another, Drop(NOT_VXLAN), "not for this gateway");
    assert_eq!(outside(&|frame| frame[41] = 1), Drop(BadChecksum));
    for kind in [[0x81, 0], [0x88, 0xa8], [0x91, 0]] {
        assert_eq!(outside(&|frame| frame[62..64].copy_from_slice(&kind)), Drop(TAGGED_WITHIN));
    }
    assert_eq!(outside(&|frame| frame.truncate(60)), Drop(Truncated));
}

/// Tenant 7's number in another kind of tag, and a tag within its own.
#[test]
fn a_tag_of_another_kind_is_no_tenants() {
    let inside = |tags: &[u8]| {
        let frame = datagram(1);
        let mut frame = [&frame[..12], tags, &frame[12..]].concat();
        handle(&mut frame, Port::INSIDE, &tunnels())
    };
    assert_eq!(inside(&[0x81, 0, 0, 7]), Transmit);
    assert_eq!(inside(&[0x81, 0, 0xe0, 0]), Transmit, "of no VLAN, but urgent");
    for kind in [[0x88, 0xa8], [0x91, 0]] {
        for vlan in [0, 7, 9] {
            assert_eq!(inside(&[kind[0], kind[1], 0, vlan]), Drop(NO_TENANT), "{vlan}");
        }
        assert_eq!(inside(&[0x81, 0, 0, 7, kind[0], kind[1], 0, 1]), Drop(TAGGED_WITHIN));
    }
    assert_eq!(inside(&[0x81, 0, 0, 7, 0x81, 0, 0, 7]), Drop(TAGGED_WITHIN));
    for kind in [[0x81, 0], [0x88, 0xa8], [0x91, 0]] {
        let mut cut = datagram(1)[..14].to_vec();
        cut[12..].copy_from_slice(&kind);
        assert_eq!(handle(&mut cut, Port::INSIDE, &tunnels()), Drop(Truncated));
    }
}

#[test]
fn a_frame_that_has_no_room_for_headers_is_too_long() {
    let mut frame = datagram(1);
    frame.resize(65_500, 0);
    assert_eq!(handle(&mut frame, Port::INSIDE, &tunnels()), Drop(TooLong));
}

#[test]
fn tunnels_go_over_ipv6_too() {
    let text = "local 2001:db8::1 02:00:00:00:00:01\ntenant 0 42 2001:db8::2";
    let tunnels = Tunnels::configure(text).unwrap();
    let frame = datagram(1);
    let mut packed = frame.clone();
    assert_eq!(handle(&mut packed, Port::INSIDE, &tunnels), Transmit);
    assert_eq!(packed.len(), frame.len() + 70);
    let mut packet = Packet::new(&mut packed, Meta::default());
    assert!(checksum::verify(&packet));
    let (source, destination) = (packet.source().unwrap(), packet.destination().unwrap());
    packet.set_source(destination).unwrap();
    packet.set_destination(source).unwrap();
    assert_eq!(handle(&mut packed, Port::OUTSIDE, &tunnels), Transmit);
    assert_eq!(packed, frame);
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    for text in [
        "",
        "tenant 0 42",
        "tenant 0 42 2001:db8::1",
        "local 2001:db8::1 02:00:00:00:00:01\ntenant 0 42 203.0.113.1",
        "tenant 4095 42 203.0.113.1",
        "tenant 0 16777216 203.0.113.1",
        "tenant 0 1 203.0.113.1 more",
        "tenant 0 1 203.0.113.1\ntenant 0 2 203.0.113.1",
        "tenant 1 1 203.0.113.1\ntenant 2 1 203.0.113.1",
        "local 192.0.2.1 02:00:00:00:00\ntenant 0 1 203.0.113.1",
    ] {
        assert!(Tunnels::configure(text).is_err(), "{text}");
    }
}
