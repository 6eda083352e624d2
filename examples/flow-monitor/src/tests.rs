//! What is counted of a flow.

use super::*;

/// An Ethernet frame with a TCP segment without data, from one host and port to another.
fn frame(from: u8, to: u8, flags: u8, ttl: u8) -> Vec<u8> {
    let mut segment = [0; 20];
    segment[..4].copy_from_slice(&[0, from, 0, to]);
    segment[12..14].copy_from_slice(&[0x50, flags]);
    cora::testing::ipv4([10, 0, 0, from], [10, 0, 0, to], ttl, protocol::TCP, &segment)
}

#[test]
fn both_ways_are_counted_in_one_record() {
    let mut flows = cora::testing::table();
    let mut totals = cora::testing::replica::<Totals>();
    for (from, to, flags, ttl, now) in
        [(1, 2, 2, 64, 5), (2, 1, 0x12, 60, 7), (1, 2, 0x10, 63, 8), (2, 1, 0x11, 61, 9)]
    {
        let mut frame = frame(from, to, flags, ttl);
        let mut packet = Packet::new(&mut frame, Meta { now, ..Meta::default() });
        assert_eq!(monitor(&mut packet, &mut flows, &mut totals), Transmit);
    }
    let (one, two) = (Address::v4([10, 0, 0, 1]), Address::v4([10, 0, 0, 2]));
    let key = FiveTuple {
        source: one,
        destination: two,
        source_port: 1,
        destination_port: 2,
        protocol: protocol::TCP,
    };
    let flow = *flows.get(&key).expect("it is there");
    assert_eq!((flow.first, flow.last, flow.longest), (5, 9, 60));
    let way = |tcp_flags, least_ttl, greatest_ttl| Way {
        packets: 2,
        bytes: 120,
        tcp_flags,
        least_ttl,
        greatest_ttl,
    };
    assert_eq!((flow.original, flow.reply), (way(0x12, 63, 64), way(0x13, 60, 61)));
    let largest: Vec<_> = totals.largest.iter().collect();
    assert_eq!(largest, [(key, 240)], "one flow, under the key of its first packet");
}
