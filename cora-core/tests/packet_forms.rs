//! Rare forms of packets: tags, options, extension headers, fragments, damage, and quotes of them.
//! Tests the result of the parse, and that rewriting keeps every checksum correct.

mod packet_support;

use cora_core::key::Address;
use cora_core::packet::{IpFragment, Meta, Packet, Roomy, Vlan, checksum};
use cora_core::verdict::reasons::{BadIpChecksum, Fragment};
use packet_support::*;
use proptest::prelude::*;

#[test]
fn tags_are_told_and_are_no_part_of_the_flow() {
    let whole = ip(FOUR, UDP, &udp(FOUR, (1, 2), b"x"));
    let flow = tuple(FOUR, (1, 2), UDP);
    assert!(packet(&mut ethernet(&whole)).vlan().is_none());
    let mut frame = tagged(&[0x88a8, 0x8100, 0x9100], &whole);
    frame[14..16].copy_from_slice(&[0xb1, 0x23]);
    frame[18..20].copy_from_slice(&[0x0f, 0xff]);
    let packet = packet(&mut frame);
    let tag = |kind, id, priority, drop_eligible| Vlan { kind, id, priority, drop_eligible };
    assert_eq!(packet.vlan(), Some(tag(0x88a8, 0x123, 5, true)));
    let all: Vec<Vlan> = packet.vlans().collect();
    let expected =
        [tag(0x88a8, 0x123, 5, true), tag(0x8100, 0xfff, 0, false), tag(0x9100, 7, 0, false)];
    assert_eq!(all, expected);
    assert_eq!(packet.flow(), Ok(flow));
}

#[test]
fn tags_are_told_as_far_as_they_are_there() {
    let whole = ip(FOUR, UDP, &udp(FOUR, (1, 2), b"x"));
    let frame = tagged(&[0x8100; 5], &whole);
    for length in 0..frame.len() {
        let mut cut = frame[..length].to_vec();
        let whole_tags = length.saturating_sub(14) / 4;
        assert_eq!(packet(&mut cut).vlans().count(), whole_tags.min(4), "{length}");
        // The tailroom behind a frame does not belong to it.
        let mut roomy = frame.clone();
        let in_room = Packet::in_room(Roomy::new(&mut roomy, length), Meta::default());
        assert_eq!(in_room.vlans().count(), whole_tags.min(4), "{length} in room");
    }
}

#[test]
fn a_damaged_ipv4_header_is_told_by_its_checksum() {
    for extra in [&[][..], &[1; 4], &[1; 40]] {
        for tags in [&[][..], &[0x8100]] {
            let whole = ip_with(FOUR, UDP, extra, &udp(FOUR, (1, 2), b"x"));
            let frame = tagged(tags, &whole);
            let at = 14 + tags.len() * 4;
            flow_is(frame.clone(), Ok(tuple(FOUR, (1, 2), UDP)));
            for (place, bit) in
                (8..20 + extra.len()).flat_map(|at| (0..8).map(move |bit| (at, bit)))
            {
                let mut damaged = frame.clone();
                damaged[at + place] ^= 1 << bit;
                let packet = packet(&mut damaged);
                assert_eq!(packet.flow(), Err(BadIpChecksum), "octet {place}, bit {bit}");
                assert_eq!(packet.source(), Err(BadIpChecksum));
                assert!(packet.is_ipv4() && !packet.is_fragment());
                assert!(!checksum::verify(&packet));
            }
        }
    }
}

#[test]
fn both_zeros_are_right_checksums() {
    // An identification that makes the sum zero.
    let mut frame = ethernet(&ip(FOUR, UDP, &udp(FOUR, (1, 2), b"x")));
    frame.copy_within(24..26, 18);
    frame[24..26].fill(0);
    flow_is(frame.clone(), Ok(tuple(FOUR, (1, 2), UDP)));
    frame[24..26].fill(0xff);
    flow_is(frame, Ok(tuple(FOUR, (1, 2), UDP)));
}

#[test]
fn a_quoted_header_may_be_as_a_router_had_it() {
    let sent = ip(FOUR, TCP, &tcp(FOUR, (1, 2), ACK, b""));
    // The expired time to live, with the old checksum.
    let quoted = with(sent, 8, 0);
    flow_is(error(R4, &quoted, 999), Ok(tuple((B4, A4), (2, 1), TCP)));
}

#[test]
fn fragments_tell_which_part_they_are() {
    let frame = |word: u16| {
        let [high, low] = word.to_be_bytes();
        let mut frame = with(with(tcp4(), 20, high), 21, low);
        frame[18..20].copy_from_slice(&[0xab, 0xcd]);
        right(frame, 14)
    };
    let part = |identification, offset, more| IpFragment { identification, offset, more };
    assert_eq!(packet(&mut frame(0x4000)).fragment(), None);
    assert_eq!(packet(&mut frame(0x2000)).fragment(), Some(part(0xabcd, 0, true)));
    assert_eq!(packet(&mut frame(0x2005)).fragment(), Some(part(0xabcd, 40, true)));
    assert_eq!(packet(&mut frame(0x1fff)).fragment(), Some(part(0xabcd, 65_528, false)));
    // Not for unreadable headers.
    assert_eq!(packet(&mut with(frame(0x2005), 22, 9)).fragment(), None);

    let segment = tcp(SIX, (1234, 80), SYN, b"");
    let six = |word: u16, before: usize| {
        let [high, low] = word.to_be_bytes();
        let mut chain = [60, 0, 0, 0, 0, 0, 0, 0].repeat(before);
        if let Some(last) = chain.len().checked_sub(8) {
            chain[last] = 44;
        }
        chain.extend([TCP, 0, high, low, 1, 2, 3, 4]);
        let kind = if before == 0 { 44 } else { 60 };
        ethernet(&ip_with(SIX, kind, &chain, &segment))
    };
    for before in [0, 1, 3] {
        let expected = |offset, more| Some(part(0x0102_0304, offset, more));
        assert_eq!(packet(&mut six(0, before)).fragment(), None);
        assert_eq!(packet(&mut six(1, before)).fragment(), expected(0, true));
        assert_eq!(packet(&mut six(0x0101, before)).fragment(), expected(256, true));
        assert_eq!(packet(&mut six(0xfff8, before)).fragment(), expected(65_528, false));
    }
}

#[test]
fn fragments_can_be_readdressed_but_have_no_ports() {
    for (high, low) in [(0x20, 0), (0x20, 3), (0, 3)] {
        let mut frame = with_right(with(tcp4(), 20, high), 21, low);
        let mut packet = packet(&mut frame);
        packet.set_source(N4).expect("an address");
        assert_eq!(packet.set_source_port(9), Err(Fragment));
        let header = &frame[14..34];
        assert_eq!(checksum::internet(header), 0);
        // The first fragment has the checksum of the whole packet, which is updated.
        let expected = tcp((N4, B4), (1234, 80), SYN, b"hello");
        let first = (high, low) == (0x20, 0);
        assert_eq!(frame[50..52] == expected[16..18], first);
    }
}

#[test]
fn a_source_route_is_left_to_its_last_stop() {
    let last = Address::v4([203, 0, 113, 99]);
    for (kind, pointer, stops_left) in [(0x83, 4, true), (0x89, 4, true), (0x83, 8, false)] {
        let covered = if stops_left { (A4, last) } else { FOUR };
        let option = [1, kind, 7, pointer, 203, 0, 113, 99];
        let segment = tcp(covered, (1234, 80), ACK, b"on its way");
        let mut frame = ethernet(&ip_with(FOUR, TCP, &option, &segment));
        let mut packet = packet(&mut frame);
        packet.set_destination(N4).expect("an address");
        packet.set_source(R4).expect("an address");
        let now = if stops_left { (R4, last) } else { (R4, N4) };
        assert_eq!(frame[42..], tcp(now, (1234, 80), ACK, b"on its way"));
    }
}

#[test]
fn an_error_on_its_way_out_is_translated_with_its_quote() {
    // From outside, B sent to A as N:40000; A sends an error about the packet that the translator
    // made of it.
    for (inside, public, outside) in [(A4, N4, B4), (A6, N6, B6)] {
        let header = if inside.is_v4() { 20 } else { 40 };
        let had = |to, port| {
            let ends = (outside, to);
            ip(ends, UDP, &udp(ends, (53, port), b"an answer nobody waits for"))
        };
        for keep in [header + 8, header + 11, 999] {
            let mut frame = error(inside, &had(inside, 1234), keep);
            let mut packet = packet(&mut frame);
            assert_eq!(packet.flow(), Ok(tuple((inside, outside), (1234, 53), UDP)));
            packet.set_source(public).expect("rewritten");
            packet.set_source_port(40_000).expect("rewritten");
            assert_eq!(frame, error(public, &had(public, 40_000), keep), "{keep}");
        }
    }
}

/// A frame of some form, with the data to verify it.
#[derive(Clone, Debug)]
struct Form {
    frame: Vec<u8>,
    /// Offsets of the IP packet and (from there on) its transport, and the end of the packet.
    ip: usize,
    transport: usize,
    end: usize,
    protocol: u8,
    /// Offset of the checksum of a UDP datagram without one.
    unsummed: Option<usize>,
}

impl Form {
    #[track_caller]
    fn judge(&self, before: &[u8]) {
        judge_form(&self.frame[self.ip..self.end], self.transport, self.protocol);
        assert_eq!(self.frame[..self.ip], before[..self.ip], "Ethernet and tags");
        assert_eq!(self.frame[self.end..], before[self.end..], "padding");
        assert!(self.unsummed.is_none_or(|at| self.frame[at..at + 2] == [0, 0]), "no checksum");
    }
}

/// The bytes between the fixed header and the transport, and the kind of the first header in them.
fn extra(v4: bool, kinds: &[u8], last: u8) -> (u8, Vec<u8>) {
    if v4 {
        return (last, kinds.iter().flat_map(|kind| [1, 0x94, 2, kind & 1]).collect());
    }
    let kind = |kind: &u8| [0, 43, 44, 51, 60][usize::from(kind % 5)];
    let nexts = kinds.iter().skip(1).map(kind).chain([last]);
    let headers = kinds.iter().zip(nexts).flat_map(|(this, next)| match kind(this) {
        // An atomic fragment; a routing header without stops; units of four and of eight bytes.
        44 => vec![next, 0, 0, 0, 1, 2, 3, 4],
        51 => [vec![next, 4], vec![9; 22]].concat(),
        43 => vec![next, 0, 2, 0, 0, 0, 0, 0],
        _ => [vec![next, 1], vec![0; 14]].concat(),
    });
    (kinds.first().map_or(last, kind), headers.collect())
}

fn any_form() -> impl Strategy<Value = Form> {
    let payload = proptest::collection::vec(any::<u8>(), 0..48);
    let tags =
        proptest::collection::vec(prop_oneof![Just(0x8100_u16), Just(0x88a8), Just(0x9100)], 0..=4);
    let kinds = proptest::collection::vec(any::<u8>(), 0..=8);
    let quote = proptest::option::of(0..100_usize);
    (any::<bool>(), 0..4_usize, payload, tags, kinds, quote, 0..9_usize).prop_map(
        |(v4, transport, payload, tags, kinds, quote, padding)| {
            let (mut ends, router) = if v4 { (FOUR, R4) } else { (SIX, R6) };
            let icmp_number = if v4 { ICMP } else { ICMPV6 };
            let (mut protocol, mut bytes) = match transport {
                0 => (TCP, tcp(ends, (1234, 80), ACK, &payload)),
                1 | 2 => (UDP, udp(ends, (5353, 53), &payload)),
                _ => (icmp_number, echo(ends, false, 77, &payload)),
            };
            if transport == 2 {
                bytes[6..8].fill(0);
            }
            if let Some(keep) = quote {
                // The quoted packet has IPv4 options of its own.
                let (first, headers) = extra(v4, if v4 { &kinds } else { &[] }, protocol);
                let mut quoted = ip_with(ends, first, &headers, &bytes);
                quoted.truncate(if v4 { 20 } else { 40 } + headers.len() + 8 + keep);
                ends = (router, ends.0);
                (protocol, bytes) =
                    (icmp_number, icmp(ends, if v4 { 3 } else { 1 }, [0; 4], &quoted));
            }
            let (first, headers) = extra(v4, &kinds, protocol);
            let packet = ip_with(ends, first, &headers, &bytes);
            let mut frame = tagged(&tags, &packet);
            let end = frame.len();
            frame.extend(std::iter::repeat_n(0xee, padding));
            let (ip, transport_at) = (end - packet.len(), packet.len() - bytes.len());
            let unsummed = (transport == 2 && quote.is_none()).then_some(ip + transport_at + 6);
            Form { frame, ip, transport: transport_at, end, protocol, unsummed }
        },
    )
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn updates_give_what_a_whole_sum_does(
        mut form in any_form(),
        rewrites in proptest::collection::vec((0..7_u8, any::<[u8; 16]>(), any::<u16>()), 1..10),
    ) {
        let before = form.frame.clone();
        form.judge(&before);
        for (which, octets, port) in rewrites {
            let mut packet = packet(&mut form.frame);
            let address = if packet.is_ipv4() {
                Address::v4([octets[0], octets[1], octets[2], octets[3]])
            } else {
                Address::v6(octets)
            };
            prop_assume!(packet.is_ipv4() || !address.is_v4());
            let set = match which {
                0 => packet.set_source(address),
                1 => packet.set_destination(address),
                2 => packet.set_source_port(port),
                3 => packet.set_destination_port(port),
                4 => packet.set_source_endpoint(address, port),
                5 => packet.set_destination_endpoint(address, port),
                _ => packet.decrement_ttl(),
            };
            prop_assert_eq!(set, Ok(()));
            form.judge(&before);
        }
    }
}
