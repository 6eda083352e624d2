//! Comparison of captures, flow by flow.

use super::{CompareError, Comparison, Difference, Finding, compare};
use cora_core::key::{Address, FiveTuple, protocol};
use cora_core::packet::checksum;
use cora_host::ingress::pcap::{Reader, Writer};

/// A UDP frame between two ports of two hosts, forth or back.
fn udp(port: u16, back: bool, payload: u8) -> Vec<u8> {
    let mut frame = vec![0; 14];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let (mut from, mut to) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (mut source, mut destination) = (port, 53_u16);
    if back {
        (from, to, source, destination) = (to, from, destination, source);
    }
    let total = 20 + 8 + 1_u16;
    frame.extend([0x45, 0]);
    frame.extend(total.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(from);
    frame.extend(to);
    let sum = checksum::internet(&frame[14..]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(source.to_be_bytes());
    frame.extend(destination.to_be_bytes());
    frame.extend([0, 9, 0, 0, payload]);
    frame
}

/// The key of those frames: the lesser direction.
fn flow(port: u16) -> FiveTuple {
    FiveTuple {
        source: Address::v4([10, 0, 0, 1]),
        destination: Address::v4([10, 0, 0, 2]),
        source_port: port,
        destination_port: 53,
        protocol: protocol::UDP,
    }
}

fn arp(number: u8) -> Vec<u8> {
    let mut frame = vec![number; 42];
    frame[12..14].copy_from_slice(&[0x08, 0x06]);
    frame
}

fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    for (time, frame) in frames.iter().enumerate() {
        writer.write(time as u64, frame).expect("memory");
    }
    writer.finish().expect("memory")
}

fn outcome(first: &[Vec<u8>], second: &[Vec<u8>]) -> Comparison {
    let (first, second) = (capture(first), capture(second));
    let open = |bytes| Reader::new(bytes).expect("a pcap");
    compare(open(&first[..]), open(&second[..])).expect("both are whole")
}

#[test]
fn flows_may_pass_each_other() {
    let first = [udp(1, false, 0), udp(1, true, 1), arp(1), udp(2, false, 2), udp(2, false, 3)];
    let second = [udp(2, false, 2), udp(1, false, 0), udp(2, false, 3), udp(1, true, 1), arp(1)];
    let comparison = outcome(&first, &second);
    assert!(comparison.is_equal());
    assert_eq!((comparison.packets, comparison.flows), ([5, 5], 3));
    assert_eq!(comparison.to_string(), "the same 5 packets in 3 flows");
}

/// The one difference between two captures.
fn difference(first: &[Vec<u8>], second: &[Vec<u8>]) -> Difference {
    let comparison = outcome(first, second);
    assert_eq!(comparison.differing, 1, "{comparison}");
    assert!(!comparison.is_equal());
    comparison.differences[0]
}

#[test]
fn packets_of_a_flow_may_not_pass_each_other() {
    // The two directions of a flow are one flow.
    let first = [arp(1), udp(1, false, 0), udp(1, false, 1), udp(1, true, 2)];
    let second = [udp(1, false, 0), udp(1, true, 2), udp(1, false, 1), arp(1)];
    let expected = Difference { flow: Some(flow(1)), packet: 1, finding: Finding::OtherOrder };
    assert_eq!(difference(&first, &second), expected);
    assert_eq!(
        outcome(&first, &second).to_string(),
        "1 of 2 flows differ (4 packets against 4)\n  \
         udp 10.0.0.1:1 > 10.0.0.2:53: packet 1 has another one in its place in the second capture: from there on \
         the same packets come in another order"
    );
    let arps = difference(&[arp(1), arp(2)], &[arp(2), arp(1)]);
    assert_eq!(arps, Difference { flow: None, packet: 0, finding: Finding::OtherOrder });
}

#[test]
fn order_is_told_from_what_packets_carry() {
    let finding = |first: &[u8], second: &[u8]| {
        let capture = |payloads: &[u8]| -> Vec<_> {
            payloads.iter().map(|payload| udp(1, false, *payload)).collect()
        };
        difference(&capture(first), &capture(second)).finding
    };
    for (first, second) in [([1, 2, 3], [3, 1, 2]), ([1, 1, 2], [2, 1, 1]), ([5, 6, 7], [5, 7, 6])]
    {
        assert_eq!(finding(&first, &second), Finding::OtherOrder, "{first:?} {second:?}");
    }
    // As many of each, or as many in all, is not the same.
    for (first, second) in [([1, 1, 2], [2, 2, 1]), ([1, 2, 3], [3, 2, 4]), ([1, 3, 3], [2, 2, 3])]
    {
        assert_eq!(finding(&first, &second), Finding::OtherBytes, "{first:?} {second:?}");
    }
    assert_eq!(finding(&[1, 2], &[2, 1, 3]), Finding::OtherBytes);
}

#[test]
fn a_packet_may_not_be_missing_nor_double() {
    let one = [udp(1, false, 0), udp(2, false, 9)];
    let two = [udp(1, false, 0), udp(2, false, 9), udp(1, false, 0)];
    let only = |finding| Difference { flow: Some(flow(1)), packet: 1, finding };
    assert_eq!(difference(&two, &one), only(Finding::OnlyInFirst));
    assert_eq!(difference(&one, &two), only(Finding::OnlyInSecond));
}

#[test]
fn a_single_bit_counts() {
    let mut other = udp(1, false, 0);
    other[41] ^= 1;
    let expected = Difference { flow: Some(flow(1)), packet: 0, finding: Finding::OtherBytes };
    assert_eq!(difference(&[udp(1, false, 0)], &[other]), expected);
}

#[test]
fn differences_come_in_the_order_of_their_keys() {
    let first: Vec<_> = (0..40).map(|port| udp(port, false, 0)).collect();
    let second: Vec<_> = (0..40).rev().map(|port| udp(port, false, 1)).collect();
    let comparison = outcome(&first, &second);
    assert_eq!((comparison.differing, comparison.flows), (40, 40));
    let ports: Vec<_> =
        comparison.differences.iter().filter_map(|d| d.flow).map(|flow| flow.source_port).collect();
    assert_eq!(ports, (0..16).collect::<Vec<_>>());
}

#[test]
fn a_damaged_capture_is_named() {
    let whole = capture(&[udp(1, false, 0)]);
    let open = |bytes| Reader::new(bytes).expect("a pcap");
    let cut = &whole[..whole.len() - 1];
    let error: CompareError = compare(open(&whole[..]), open(cut)).expect_err("cut short");
    assert_eq!(error.capture, 1);
    assert_eq!(
        error.to_string(),
        "the second capture: the last part can't be read, at byte 24: the capture ends within a packet: \
         58 bytes where 59 should be"
    );
}
