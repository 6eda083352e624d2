//! The counts of a flow.

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

#[test]
fn what_has_no_flow_passes_and_is_counted() {
    let mut flows = cora::testing::table();
    let mut totals = cora::testing::replica::<Totals>();
    let mut lldp = vec![0; 60];
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    let mut fragment = frame(1, 2, 2, 64);
    fragment[20] = 0x20;
    let sum = checksum::internet(&[&fragment[14..24], &[0, 0], &fragment[26..34]].concat());
    fragment[24..26].copy_from_slice(&sum.to_be_bytes());
    let ip = |protocol| cora::testing::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64, protocol, &[0; 26]);
    for mut frame in [lldp, fragment, ip(47), ip(50), ip(89), ip(2)] {
        let mut packet = Packet::new(&mut frame, Meta::default());
        assert_eq!(monitor(&mut packet, &mut flows, &mut totals), Transmit, "{packet:?}");
        cora::testing::commit(&mut totals);
    }
    assert_eq!(
        (totals.other_packets.value(), totals.bytes.value(), totals.flows.value()),
        (6, 360, 0)
    );
}

const FIN: u8 = 0x11;
const RST: u8 = 0x04;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const SECOND: u64 = 1_000_000_000;

/// The program, and the flow from 1 to 2.
struct Monitor {
    flows: cora::testing::TestTable<Flow>,
    totals: Totals,
}

impl Monitor {
    fn new() -> Self {
        Self { flows: cora::testing::table(), totals: cora::testing::replica() }
    }

    /// A packet of host 1 or 2 to the other, so many seconds after the beginning.
    fn packet(&mut self, from: u8, flags: u8, seconds: u64) {
        let now = seconds * SECOND;
        cora::testing::at(&mut self.flows, now);
        let mut frame = frame(from, 3 - from, flags, 64);
        let mut packet = Packet::new(&mut frame, Meta { now, ..Meta::default() });
        assert_eq!(monitor(&mut packet, &mut self.flows, &mut self.totals), Transmit);
    }

    fn flow(&self) -> Option<Flow> {
        self.flows.get(&key(1, 2)).copied()
    }
}

fn key(from: u8, to: u8) -> FiveTuple {
    FiveTuple {
        source: Address::v4([10, 0, 0, from]),
        destination: Address::v4([10, 0, 0, to]),
        source_port: from.into(),
        destination_port: to.into(),
        protocol: protocol::TCP,
    }
}

#[test]
fn a_flow_that_goes_on_begins_another_record_each_minute() {
    let mut all = Monitor::new();
    for second in (1..=59).step_by(2) {
        all.packet(1, ACK, second);
    }
    assert_eq!(all.flow().unwrap().original.packets, 30);
    all.packet(2, ACK, 61);
    let flow = all.flow().unwrap();
    assert_eq!((flow.first, flow.original.packets, flow.reply.packets), (61 * SECOND, 0, 1));
    assert!(all.flows.find_mut(&key(1, 2)).is_some_and(|(way, _)| way == Direction::Original));
}

#[test]
fn what_is_idle_or_over_is_forgotten_in_its_time() {
    let mut all = Monitor::new();
    all.packet(1, ACK, 0);
    all.packet(2, ACK, 29);
    assert_eq!(all.flow().unwrap().reply.packets, 1);
    all.packet(1, FIN, 30);
    all.packet(2, FIN, 31);
    cora::testing::at(&mut all.flows, 36 * SECOND - 1);
    assert!(all.flow().is_some());
    cora::testing::at(&mut all.flows, 41 * SECOND);
    assert!(all.flow().is_none(), "five seconds after its end");
}

#[test]
fn a_syn_behind_the_end_is_another_flow_from_its_sender() {
    let mut all = Monitor::new();
    all.packet(1, ACK, 0);
    all.packet(2, RST, 1);
    all.packet(1, ACK, 2);
    assert_eq!(all.flow().unwrap().original.packets, 2, "what was on its way is counted");
    all.packet(2, SYN, 3);
    let (way, flow) = all.flows.find_mut(&key(2, 1)).unwrap();
    assert_eq!((way, flow.first, flow.original.packets), (Direction::Original, 3 * SECOND, 1));
    assert!(!flow.is_over());
}

#[test]
fn a_record_says_what_was_counted_and_why_it_ended() {
    let mut all = Monitor::new();
    all.packet(1, SYN, 1);
    all.packet(2, SYN | ACK, 2);
    all.packet(1, ACK, 3);
    let flow = all.flow().unwrap();
    let told = cora::testing::record(&flow, &key(1, 2), End::Idle);
    let number = |wanted: Element| {
        let (_, value) = told.iter().find(|(element, _)| *element == wanted).unwrap();
        value.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    for (element, value) in [
        (element::SOURCE_IPV4, 0x0a00_0001),
        (element::DESTINATION_PORT, 2),
        (element::PROTOCOL, 6),
        (element::START_MILLISECONDS, 1_000),
        (element::END_MILLISECONDS, 3_000),
        (element::PACKETS, 2),
        (element::PACKETS.reverse(), 1),
        (element::LAYER2_OCTETS, 120),
        (element::TCP_FLAGS, 0x12),
        (element::LONGEST_FRAME, 60),
        (element::END_REASON, 1),
    ] {
        assert_eq!(number(element), value, "{element:?}");
    }
    let reason = |flow: &Flow, end| {
        let told = cora::testing::record(flow, &key(1, 2), end);
        told.into_iter().find(|(of, _)| *of == element::END_REASON).unwrap().1
    };
    assert_eq!(reason(&flow, End::Removed), [2]);
    assert_eq!(reason(&flow, End::RunOver), [4]);
    all.packet(2, RST, 4);
    assert_eq!(reason(&all.flow().unwrap(), End::Removed), [3]);
}

/// What a record tells, by element.
fn told(flow: &Flow, key: &FiveTuple) -> Vec<(Element, u64)> {
    let number = |value: &[u8]| value.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let told = cora::testing::record(flow, key, End::Idle);
    told.iter().map(|(element, value)| (*element, number(value))).collect()
}

fn value(told: &[(Element, u64)], wanted: Element) -> Option<u64> {
    told.iter().find(|(element, _)| *element == wanted).map(|(_, value)| *value)
}

/// Lets a packet of these protocols pass, at time 5, and gives its flow's record.
fn record_of(protocol: u8, transport: &[u8], key_ports: (u16, u16)) -> Vec<(Element, u64)> {
    let mut flows = cora::testing::table();
    let mut totals = cora::testing::replica::<Totals>();
    let mut frame = cora::testing::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64, protocol, transport);
    let mut packet = Packet::new(&mut frame, Meta { now: 5, ..Meta::default() });
    assert_eq!(monitor(&mut packet, &mut flows, &mut totals), Transmit);
    let key = FiveTuple {
        protocol,
        source_port: key_ports.0,
        destination_port: key_ports.1,
        ..key(1, 2)
    };
    told(flows.get(&key).expect("it is there"), &key)
}

#[test]
fn nothing_is_told_of_a_way_back_that_nobody_went() {
    let told = record_of(protocol::UDP, &[0, 1, 0, 2, 0, 8, 0, 0], (1, 2));
    assert_eq!(value(&told, element::PACKETS), Some(1));
    assert_eq!(value(&told, element::LEAST_TTL), Some(64));
    assert_eq!(value(&told, element::SOURCE_PORT), Some(1));
    assert!(told.iter().all(|(element, _)| element.enterprise == 0), "{told:?}");
    assert_eq!(value(&told, element::TCP_FLAGS), None, "a datagram has none");
    assert_eq!(value(&told, element::ICMP_TYPE_CODE_IPV4), None);
}

#[test]
fn a_ping_has_a_type_and_no_ports() {
    let told = record_of(protocol::ICMP, &[8, 0, 0, 0, 0, 7, 0, 1], (7, 7));
    assert_eq!(value(&told, element::ICMP_TYPE_CODE_IPV4), Some(0x0800));
    let ports = [element::SOURCE_PORT, element::DESTINATION_PORT];
    assert_eq!(ports.map(|port| value(&told, port)), [Some(0), Some(0)]);
    let told = record_of(protocol::ICMP, &[14, 3, 0, 0, 0, 7, 0, 1], (7, 7));
    assert_eq!(value(&told, element::ICMP_TYPE_CODE_IPV4), Some(0x0e03));
}

/// A record that begins with a reply, since the one before it was a minute long.
#[test]
fn of_a_way_without_packets_no_time_to_live_is_told() {
    let mut all = Monitor::new();
    all.packet(1, ACK, 0);
    for second in (2..=60).step_by(2) {
        all.packet(2, ACK, second);
    }
    let flow = all.flow().unwrap();
    assert_eq!((flow.original.packets, flow.reply.packets), (0, 1));
    let told = told(&flow, &key(1, 2));
    assert_eq!(value(&told, element::PACKETS), Some(0));
    assert_eq!(value(&told, element::LEAST_TTL), None);
    assert_eq!(value(&told, element::LEAST_TTL.reverse()), Some(64));
    assert_eq!(value(&told, element::TCP_FLAGS.reverse()), Some(ACK.into()));
}
