//! Fragments use the ports of the first one; forged fragments are refused.

mod packet_support;

use cora_core::key::{Address, FiveTuple};
use cora_core::packet::{Datagrams, Meta, Packet};
use cora_core::plain::Plain as _;
use cora_core::verdict::Reason;
use cora_core::verdict::reasons::Fragment;
use packet_support::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A fragment of the IP packet of this transport: `length` bytes from `at` on.
fn part(
    ends: (Address, Address),
    protocol: u8,
    id: u16,
    transport: &[u8],
    at: usize,
    length: usize,
) -> Vec<u8> {
    let end = (at + length).min(transport.len());
    let more = end < transport.len();
    let word = (at as u16 >> 3) << if ends.0.is_v4() { 0 } else { 3 };
    if ends.0.is_v4() {
        let mut frame = ethernet(&ip(ends, protocol, &transport[at..end]));
        frame[18..20].copy_from_slice(&id.to_be_bytes());
        frame[20..22].copy_from_slice(&(word | u16::from(more) << 13).to_be_bytes());
        return right(frame, 14);
    }
    let [high, low] = (word | u16::from(more)).to_be_bytes();
    let [a, b] = id.to_be_bytes();
    let header = [protocol, 0, high, low, 0, 0, a, b];
    ethernet(&ip_with(ends, 44, &header, &transport[at..end]))
}

fn asked<const N: usize>(
    datagrams: &mut Datagrams<N>,
    frame: &[u8],
    now: u64,
) -> Result<FiveTuple, Reason> {
    let mut frame = frame.to_vec();
    datagrams.five_tuple(&Packet::new(&mut frame, Meta { now, ..Meta::default() }))
}

proptest! {
    #[test]
    fn all_parts_have_the_flow_of_the_whole(
        six in any::<bool>(),
        kind in 0..3_usize,
        id in any::<u16>(),
        words in prop::collection::vec(3..9_usize, 1..6),
    ) {
        let ends = if six { SIX } else { FOUR };
        let data = vec![7; 400];
        let (protocol, transport) = match kind {
            0 => (UDP, udp(ends, (1234, 80), &data)),
            1 => (TCP, tcp(ends, (1234, 80), ACK, &data)),
            _ => (if six { ICMPV6 } else { ICMP }, echo(ends, six, 77, &data)),
        };
        let whole = ethernet(&ip(ends, protocol, &transport));
        let mut datagrams = Datagrams::<2>::default();
        let expected = asked(&mut datagrams, &whole, 1).unwrap();
        prop_assert_eq!(datagrams, Datagrams::default());
        let mut at = 0;
        for word in words {
            let frame = part(ends, protocol, id, &transport, at, word * 8);
            prop_assert_eq!(asked(&mut datagrams, &frame, 5 * SECOND), Ok(expected));
            at += word * 8;
        }
        let last = part(ends, protocol, id, &transport, at, 1000);
        prop_assert_eq!(asked(&mut datagrams, &last, 35 * SECOND), Ok(expected));
        prop_assert_eq!(asked(&mut datagrams, &last, 35 * SECOND + 1), Err(Fragment), "too late");
        // It is transferred between the sides unchanged.
        let mut bytes = vec![0; Datagrams::<2>::SIZE];
        datagrams.put(&mut bytes);
        prop_assert_eq!(Datagrams::get(&bytes), Some(datagrams));
    }

    #[test]
    fn any_bytes_are_asked_about(frame in prop::collection::vec(any::<u8>(), 0..90), bytes in prop::collection::vec(any::<u8>(), 50)) {
        let mut datagrams = Datagrams::<1>::get(&bytes).unwrap_or_default();
        let _told = asked(&mut datagrams, &frame, 1);
    }
}

#[test]
fn what_is_of_another_packet_has_no_flow() {
    let long = udp(FOUR, (1234, 80), &[7; 100]);
    let first = part(FOUR, UDP, 1, &long, 0, 48);
    let later = |id, ends| part(ends, UDP, id, &long, 48, 1000);
    let mut datagrams = Datagrams::<2>::default();
    assert_eq!(asked(&mut datagrams, &later(1, FOUR), 1), Err(Fragment), "before the first");
    let flow = Ok(tuple(FOUR, (1234, 80), UDP));
    assert_eq!(asked(&mut datagrams, &first, 1), flow);
    assert_eq!(asked(&mut datagrams, &first, 1), flow, "the same again");
    assert_eq!(asked(&mut datagrams, &later(1, FOUR), 1), flow);
    assert_eq!(asked(&mut datagrams, &later(2, FOUR), 1), Err(Fragment));
    assert_eq!(asked(&mut datagrams, &later(1, (B4, A4)), 1), Err(Fragment));
    assert_eq!(asked(&mut datagrams, &part(FOUR, TCP, 1, &long, 48, 1000), 1), Err(Fragment));
    // Two more occupy both slots.
    for id in [2, 3] {
        asked(&mut datagrams, &part(FOUR, UDP, id, &long, 0, 48), 1).unwrap();
    }
    assert_eq!(asked(&mut datagrams, &later(1, FOUR), 1), Err(Fragment), "forgotten");
    assert_eq!(asked(&mut datagrams, &later(3, FOUR), 1), flow);
}

#[test]
fn fragments_made_to_deceive_are_refused() {
    let mut datagrams = Datagrams::<4>::default();
    let segment = tcp(FOUR, (1234, 80), ACK, &[7; 100]);
    let tiny = part(FOUR, TCP, 1, &segment, 0, 16);
    assert_eq!(asked(&mut datagrams, &tiny, 1), Err(Fragment), "without flags");
    asked(&mut datagrams, &part(FOUR, TCP, 1, &segment, 0, 24), 1).unwrap();
    let over = part(FOUR, TCP, 1, &segment, 8, 1000);
    assert_eq!(asked(&mut datagrams, &over, 1), Err(Fragment), "over the flags");
    let other = tcp(FOUR, (1234, 22), ACK, &[7; 100]);
    let other = part(FOUR, TCP, 1, &other, 0, 24);
    assert_eq!(asked(&mut datagrams, &other, 1), Err(Fragment), "to another port");
    let unreachable = icmp(FOUR, 3, [0; 4], &ip(FOUR, UDP, &udp(FOUR, (1, 2), &[7; 100])));
    assert_eq!(asked(&mut datagrams, &part(FOUR, ICMP, 9, &unreachable, 0, 48), 1), Err(Fragment));
    assert_eq!(
        asked(&mut datagrams, &part(FOUR, UDP, 9, &udp(FOUR, (1, 2), &[]), 0, 4), 1),
        Err(Fragment)
    );
}
