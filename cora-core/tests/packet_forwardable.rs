//! Packets that must not be forwarded are refused by name, in every form of frame. Legitimate users
//! of such addresses are distinguished from them.

mod packet_support;

use std::net::IpAddr;

use cora_core::key::Address;
use cora_core::packet::{Meta, Packet, Port, Query};
use cora_core::verdict::Reason;
use cora_core::verdict::reasons::{
    Land, MartianDestination, MartianSource, RoutingHeader, SourceRouted,
};
use packet_support::*;
use proptest::prelude::*;

fn address(text: &str) -> Address {
    text.parse::<IpAddr>().expect("it is one").into()
}

/// The verdicts on packets between these ends: plain, tagged, of a transport without ports, a
/// fragment, behind extensions or options.
fn verdict(source: Address, destination: Address) -> [Result<(), Reason>; 6] {
    let ends = (source, destination);
    let datagram = udp(ends, (1, 2), b"data");
    let whole = ip(ends, UDP, &datagram);
    let fragment = if source.is_v4() {
        right(with(ethernet(&whole), 20, 0x20), 14)
    } else {
        ethernet(&ip_with(ends, 44, &[UDP, 0, 0, 1, 0, 0, 0, 7], &datagram))
    };
    let extra: (u8, &[u8]) =
        if source.is_v4() { (UDP, &[1; 4]) } else { (60, &[UDP, 0, 1, 4, 0, 0, 0, 0]) };
    [
        ethernet(&whole),
        ethernet(&ip(ends, TCP, &tcp(ends, (1, 2), SYN, b""))),
        tagged(&[0x88a8, 0x8100], &whole),
        ethernet(&ip(ends, 47, &[0; 8])),
        ethernet(&ip_with(ends, extra.0, extra.1, &datagram)),
        fragment,
    ]
    .map(|mut frame| packet(&mut frame).forwardable())
}

#[test]
fn martians_of_ipv4_are_refused_at_either_end() {
    for martian in [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.1",
        "169.254.169.254",
        "240.0.0.1",
        "255.255.255.255",
    ] {
        assert_eq!(verdict(address(martian), B4), [Err(MartianSource); 6], "{martian}");
        assert_eq!(verdict(A4, address(martian)), [Err(MartianDestination); 6], "{martian}");
    }
    for group in ["224.0.0.1", "224.0.1.1", "232.1.2.3", "239.255.255.250"] {
        assert_eq!(verdict(address(group), B4), [Err(MartianSource); 6], "{group}");
    }
    assert_eq!(verdict(A4, address("224.0.0.251")), [Err(MartianDestination); 6]);
    for usual in ["224.0.1.1", "239.1.1.1", "1.0.0.0", "126.255.255.255", "128.0.0.1"] {
        assert_eq!(verdict(A4, address(usual)), [Ok(()); 6], "{usual}");
    }
    for usual in ["169.253.0.1", "169.255.0.1", "223.255.255.255", "10.0.0.9", "192.168.0.1"] {
        assert_eq!(verdict(address(usual), B4), [Ok(()); 6], "{usual}");
        assert_eq!(verdict(B4, address(usual)), [Ok(()); 6], "{usual}");
    }
}

#[test]
fn martians_of_ipv6_are_refused_at_either_end() {
    for martian in
        ["::", "::1", "::192.0.2.1", "fe80::1", "febf::1", "fec0::1", "feff::1", "2001:10::1"]
    {
        assert_eq!(verdict(address(martian), B6), [Err(MartianSource); 6], "{martian}");
        assert_eq!(verdict(A6, address(martian)), [Err(MartianDestination); 6], "{martian}");
    }
    for group in ["ff02::1", "ff0e::1", "ff3e::8000:1"] {
        assert_eq!(verdict(address(group), B6), [Err(MartianSource); 6], "{group}");
    }
    for scope in 0..=15 {
        let group = address(&format!("ff1{scope:x}::99"));
        let expected = if scope <= 8 { Err(MartianDestination) } else { Ok(()) };
        assert_eq!(verdict(A6, group), [expected; 6], "{group}");
    }
    for usual in ["fd00::1", "fc00::1", "64:ff9b::c000:201", "2001:20::1", "2001:f::1", "3fff::"] {
        assert_eq!(verdict(address(usual), B6), [Ok(()); 6], "{usual}");
        assert_eq!(verdict(A6, address(usual)), [Ok(()); 6], "{usual}");
    }
}

#[test]
fn what_goes_to_where_it_comes_from_is_land() {
    for end in [A4, B4, A6, B6] {
        assert_eq!(verdict(end, end), [Err(Land); 6]);
    }
}

/// A frame with these IPv4 options.
fn optioned(options: &[u8]) -> Vec<u8> {
    ethernet(&ip_with(FOUR, UDP, options, &udp(FOUR, (1, 2), b"")))
}

#[test]
fn source_routes_with_stops_left_are_refused() {
    for kind in [0x83, 0x89] {
        let route = |pointer| [1, kind, 7, pointer, 192, 0, 2, 9];
        assert_eq!(packet(&mut optioned(&route(4))).forwardable(), Err(SourceRouted));
        assert_eq!(packet(&mut optioned(&route(8))).forwardable(), Ok(()), "at its end");
    }
    // Record route, and the router alert.
    for option in [[7, 7, 4, 0, 0, 0, 0, 0], [0x94, 4, 0, 0, 1, 1, 1, 1]] {
        assert_eq!(packet(&mut optioned(&option)).forwardable(), Ok(()));
    }
}

#[test]
fn routing_headers_of_type_0_with_stops_left_are_refused() {
    let routing = |kind, left| {
        let mut header = vec![UDP, 2, kind, left, 0, 0, 0, 0];
        header.extend_from_slice(&N6.octets());
        header
    };
    let datagram = udp(SIX, (1, 2), b"");
    let judged = |chain: &[u8], first| {
        packet(&mut ethernet(&ip_with(SIX, first, chain, &datagram))).forwardable()
    };
    for left in 0..=2 {
        let expected = if left > 0 { Err(RoutingHeader) } else { Ok(()) };
        assert_eq!(judged(&routing(0, left), 43), expected, "{left}");
        // Mobility and segment routing use other types (RFC 6275, RFC 8754).
        assert_eq!(judged(&routing(2, left), 43), Ok(()));
        assert_eq!(judged(&routing(4, left), 43), Ok(()));
        // Behind other headers, and in front of one.
        let behind = [&[43, 0, 1, 4, 0, 0, 0, 0], &routing(0, left)[..]].concat();
        assert_eq!(judged(&behind, 60), expected, "{left}");
        let mut before = routing(0, left);
        before[0] = 60;
        before.extend_from_slice(&[UDP, 0, 1, 4, 0, 0, 0, 0]);
        assert_eq!(judged(&before, 43), expected, "{left}");
    }
}

#[test]
fn what_has_no_addresses_is_not_judged() {
    let mut arp = tcp4();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let damaged = with(ethernet(&ip((address("127.0.0.1"), B4), UDP, &[0; 8])), 24, 0);
    for mut frame in [arp, damaged, vec![], vec![0; 14]] {
        assert_eq!(packet(&mut frame).forwardable(), Ok(()));
    }
}

#[test]
fn a_redirect_is_told_from_other_errors() {
    for (ends, redirect) in [(FOUR, 5), (SIX, 137)] {
        let protocol = if ends.0.is_v4() { ICMP } else { ICMPV6 };
        for kind in 0..=255 {
            let mut frame = ethernet(&ip(ends, protocol, &icmp(ends, kind, [0; 4], &[0; 40])));
            assert_eq!(packet(&mut frame).is_redirect(), kind == redirect, "{kind}");
        }
    }
    assert!(!packet(&mut tcp4()).is_redirect() && !packet(&mut tcp6()).is_redirect());
}

#[test]
fn questions_are_told_from_answers() {
    for ends in [FOUR, SIX] {
        let protocol = if ends.0.is_v4() { ICMP } else { ICMPV6 };
        for (reply, expected) in [(false, Query::Question), (true, Query::Answer)] {
            let mut frame = ethernet(&ip(ends, protocol, &echo(ends, reply, 7, b"x")));
            assert_eq!(packet(&mut frame).icmp_query(), Some(expected));
        }
        // The other version's type numbers have no meaning.
        let mut other = ethernet(&ip(ends, ICMP ^ ICMPV6 ^ protocol, &[8, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(packet(&mut other).icmp_query(), None);
    }
    for (kind, expected) in [(13, Some(Query::Question)), (14, Some(Query::Answer)), (10, None)] {
        let mut frame = ethernet(&ip(FOUR, ICMP, &icmp(FOUR, kind, [0; 4], &[0; 12])));
        assert_eq!(packet(&mut frame).icmp_query(), expected, "{kind}");
    }
    let mut about = error(R4, &ip(FOUR, ICMP, &echo(FOUR, false, 7, b"x")), 999);
    assert_eq!(packet(&mut about).icmp_query(), None, "an error is neither");
}

/// A DHCP datagram, at this port of the middlebox.
fn dhcp(port: Port, ends: [&str; 2], ports: (u16, u16), operation: &[u8]) -> bool {
    let ends = (address(ends[0]), address(ends[1]));
    let whole = ip(ends, UDP, &udp(ends, ports, operation));
    let is =
        |mut frame: Vec<u8>| Packet::new(&mut frame, Meta { port, ..Meta::default() }).is_dhcp();
    assert_eq!(is(ethernet(&whole)), is(tagged(&[0x8100], &whole)), "{ends:?}");
    is(ethernet(&whole))
}

#[test]
fn clients_inside_and_servers_outside_speak_dhcp() {
    let (inside, outside) = (Port::INSIDE, Port::OUTSIDE);
    let nobody = ["0.0.0.0", "255.255.255.255"];
    let offer = ["198.51.100.1", "10.0.0.2"];
    assert!(dhcp(inside, nobody, (68, 67), &[1, 1, 6]));
    assert!(dhcp(inside, ["10.0.0.2", "198.51.100.1"], (68, 67), &[1]), "a renewal");
    assert!(dhcp(outside, offer, (67, 68), &[2, 1, 6]));
    assert!(dhcp(outside, ["198.51.100.1", "255.255.255.255"], (67, 68), &[2]));
    for (port, ports, operation) in [
        (outside, (68, 67), &[1][..]),
        (inside, (67, 68), &[2]),
        (inside, (68, 67), &[2]),
        (outside, (67, 68), &[1]),
        (outside, (67, 68), &[]),
        (outside, (67, 67), &[2]),
        (outside, (68, 68), &[2]),
        (outside, (67, 69), &[2]),
        (inside, (68, 66), &[1]),
    ] {
        assert!(!dhcp(port, offer, ports, operation), "{ports:?} {operation:?}");
    }
    let six = ["fe80::1", "ff02::1:2"];
    assert!(dhcp(inside, six, (546, 547), &[1]));
    assert!(dhcp(outside, ["fe80::9", "fe80::1"], (547, 546), &[2]));
    assert!(!dhcp(outside, six, (546, 547), &[1]));
    assert!(!dhcp(outside, ["2001:db8::9", "2001:db8::1"], (547, 546), &[2]));
    assert!(!dhcp(outside, ["fe80::9", "fe80::1"], (67, 68), &[2]));
}

proptest! {
    /// The fast path for plain frames and the general path for tagged ones agree.
    #[test]
    fn both_ways_agree(
        source in prop_oneof![any::<[u8; 4]>(), any::<[u8; 3]>().prop_map(|[a, b, c]| [169, a | 0xfe, b, c])],
        destination in any::<[u8; 4]>(),
    ) {
        let verdicts = verdict(Address::v4(source), Address::v4(destination));
        prop_assert_eq!(verdicts, [verdicts[0]; 6]);
    }
}
