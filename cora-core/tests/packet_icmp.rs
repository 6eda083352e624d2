//! ICMP: queries, errors and the packets that they quote, and the messages that keep an IPv6 link
//! running.

mod packet_support;

use cora_core::key::Address;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::verdict::reasons::{Fragment, Malformed, NoFlow, Truncated};
use packet_support::*;

#[test]
fn icmp_queries_have_an_identifier_and_other_messages_none() {
    let message = |ends, kind| icmp(ends, kind, [0x12, 0x34, 0, 1], b"data");
    for kind in [0, 8, 13, 14] {
        let frame = ethernet(&ip(FOUR, ICMP, &message(FOUR, kind)));
        flow_is(frame, Ok(tuple(FOUR, (0x1234, 0x1234), ICMP)));
    }
    for kind in [9, 10, 17, 30, 42] {
        flow_is(ethernet(&ip(FOUR, ICMP, &message(FOUR, kind))), Err(NoFlow));
    }
    for kind in [128, 129] {
        let frame = ethernet(&ip(SIX, ICMPV6, &message(SIX, kind)));
        flow_is(frame, Ok(tuple(SIX, (0x1234, 0x1234), ICMPV6)));
    }
    for kind in [0, 5, 127, 130, 133, 137, 143, 200] {
        flow_is(ethernet(&ip(SIX, ICMPV6, &message(SIX, kind))), Err(NoFlow));
    }
}

#[test]
fn icmp_errors_belong_to_the_quoted_flow() {
    for (ends, router) in [(FOUR, R4), (SIX, R6)] {
        let icmp = if ends == FOUR { ICMP } else { ICMPV6 };
        let flows = [
            tuple((ends.1, ends.0), (80, 1234), TCP),
            tuple((ends.1, ends.0), (53, 5353), UDP),
            tuple((ends.1, ends.0), (77, 77), icmp),
        ];
        for ((name, frame), expected) in plain_frames(ends, b"data").into_iter().zip(flows) {
            let header = if ends == FOUR { 20 } else { 40 };
            for keep in [header + 8, header + 20, 999] {
                let mut frame = error(router, &frame[14..], keep);
                let packet = packet(&mut frame);
                assert_eq!(packet.flow(), Ok(expected), "{name} {keep}");
                assert_eq!((packet.source(), packet.destination()), (Ok(router), Ok(ends.0)));
                assert_eq!(packet.protocol(), Ok(icmp));
                assert!(packet.is_icmp_error() && packet.tcp().is_none());
            }
            let mut frame = error(router, &frame[14..], header + 7);
            let packet = packet(&mut frame);
            assert_eq!(packet.flow(), Err(Truncated), "{name}");
            assert!(packet.is_icmp_error());
        }
    }
}

/// The sender of the error is irrelevant: a router on either side is not an end of the flow.
#[test]
fn icmp_errors_have_the_inside_host_of_their_flow() {
    for (ends, router) in [(FOUR, R4), (SIX, R6)] {
        for (name, frame) in plain_frames(ends, b"data") {
            let mut whole = error(router, &frame[14..], 999);
            for (port, end) in [(Port::INSIDE, ends.1), (Port::OUTSIDE, ends.0)] {
                let packet = Packet::new(&mut whole, Meta { port, ..Meta::default() });
                assert_eq!(packet.inside_address(), Ok(end), "{name}");
            }
            // The quote is truncated: the error has no flow, but addresses of its own.
            let header = if ends == FOUR { 20 } else { 40 };
            let mut cut = error(router, &frame[14..], header + 7);
            let packet = Packet::new(&mut cut, Meta { port: Port::INSIDE, ..Meta::default() });
            assert_eq!(packet.inside_address(), Ok(router), "{name}");
        }
    }
}

#[test]
fn icmp_errors_are_known_by_their_type() {
    for (ends, router, kinds) in [(FOUR, R4, &[3, 4, 5, 11, 12][..]), (SIX, R6, &[1, 2, 3, 4][..])]
    {
        let (protocol, at) = if ends == FOUR { (ICMP, 34) } else { (ICMPV6, 54) };
        let frame = error(router, &ip(ends, UDP, &udp(ends, (1, 2), b"")), 999);
        for kind in 0..=255 {
            let mut frame = with(frame.clone(), at, kind);
            let packet = packet(&mut frame);
            assert_eq!(packet.is_icmp_error(), kinds.contains(&kind), "{kind}");
            let quoted = tuple((ends.1, ends.0), (2, 1), UDP);
            assert_eq!(packet.flow() == Ok(quoted), kinds.contains(&kind), "{kind}");
            assert_eq!(packet.protocol(), Ok(protocol));
        }
    }
}

#[test]
fn icmp_errors_about_what_has_no_flow() {
    let quote = |bytes: &[u8]| error(R4, bytes, 999);
    let whole = ip(FOUR, TCP, &tcp(FOUR, (1, 2), ACK, b""));
    // A later fragment, an unread transport, an error, another version.
    flow_is(quote(&with(whole.clone(), 7, 9)), Err(Fragment));
    flow_is(quote(&with(whole.clone(), 9, 47)), Err(NoFlow));
    let about_error = error(R4, &whole, 999);
    flow_is(error(B4, &about_error[14..], 999), Err(NoFlow));
    flow_is(with(quote(&whole), 42, 0x65), Err(Malformed));
    // The first fragment has the ports.
    flow_is(quote(&with(whole, 6, 0x20)), Ok(tuple((B4, A4), (2, 1), TCP)));
}

#[test]
fn link_local_control_is_what_no_router_forwards() {
    let control = |frame: &mut Vec<u8>| packet(frame).is_link_local_control();
    let mut arp = tcp4();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert!(control(&mut arp));
    let message =
        |kind, hops| with(ethernet(&ip(SIX, ICMPV6, &icmp(SIX, kind, [0; 4], b""))), 21, hops);
    for kind in 0..=255 {
        let discovery = (133..=137).contains(&kind);
        let listener = (130..=132).contains(&kind) || kind == 143;
        assert_eq!(control(&mut message(kind, 255)), discovery, "{kind}");
        assert_eq!(control(&mut message(kind, 1)), listener, "{kind}");
        assert!(!control(&mut message(kind, 64)), "{kind}");
    }
    assert!(!control(&mut tcp4()) && !control(&mut tcp6()));
    // Behind the router alert option, as in listener messages.
    let alert = [ICMPV6, 0, 5, 2, 0, 0, 1, 0];
    let mut report = with(ethernet(&ip_with(SIX, 0, &alert, &icmp(SIX, 143, [0; 4], b""))), 21, 1);
    assert!(control(&mut report));
}

#[test]
fn group_membership_of_ipv4_is_link_local_control_too() {
    // With the router alert option, as in reports and queries.
    let igmp = |to, hops| {
        let message = [0x22, 0, 0xf9, 2, 0, 0, 0, 0];
        let whole = ip_with((A4, to), 2, &[0x94, 4, 0, 0], &message);
        packet(&mut with_right(ethernet(&whole), 22, hops)).is_link_local_control()
    };
    let group = Address::v4([224, 0, 0, 22]);
    assert!(igmp(group, 1));
    assert!(!igmp(group, 2) && !igmp(B4, 1));
    let mut datagram = with_right(ethernet(&ip((A4, group), UDP, &[0; 8])), 22, 1);
    assert!(!packet(&mut datagram).is_link_local_control());
}
