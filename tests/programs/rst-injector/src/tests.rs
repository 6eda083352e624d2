//! Refusals, packet by packet.

use cora::testing::{self, TestOutbox, TestRows, TestTable};

use super::*;

const SECOND: u64 = 1_000_000_000;
const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 5_000);
const RULES: &str = "destination, protocol, destination_port, number, allow\n\
                     192.0.2.9, any, any, 1, true\n\
                     any, tcp, 23, 2, false\n\
                     198.51.100.0/24, any, any, 3, false\n";

struct Bench {
    connections: TestTable<Connection>,
    refusals: TestTable<Refusal>,
    rules: TestRows<Rule>,
    out: TestOutbox,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        let (connections, refusals) = (testing::table(), testing::table());
        let (rules, out) = (testing::configured(RULES), testing::outbox());
        Self { connections, refusals, rules, out, now: SECOND }
    }

    /// The verdict on a frame, and the frames that are sent beside it.
    fn frame(&mut self, mut frame: Vec<u8>, port: Port) -> (Verdict, Vec<(Port, Vec<u8>)>) {
        self.out.clear();
        let Self { connections, refusals, rules, out, now } = self;
        testing::at(connections, *now);
        testing::at(refusals, *now);
        let meta = Meta { time: *now, now: *now, port, ..Meta::default() };
        let verdict = testing::in_room(&mut frame, meta, |packet| {
            inject(packet, connections, refusals, rules, out)
        });
        (verdict, testing::sent(out))
    }

    fn segment(
        &mut self,
        server: ([u8; 4], u16),
        segment: &TcpSegment<'_>,
    ) -> (Verdict, Vec<(Port, Vec<u8>)>) {
        self.frame(testing::tcp(CLIENT, server, segment), Port::INSIDE)
    }
}

/// The ports, sequence numbers and flags of a segment with right checksums.
fn read(frame: &[u8]) -> (u16, u16, u32, u32, u8) {
    let mut frame = frame.to_vec();
    let packet = Packet::new(&mut frame, Meta::default());
    assert!(checksum::verify(&packet));
    let tcp = packet.tcp().expect("it is TCP");
    (tcp.source_port, tcp.destination_port, tcp.seq, tcp.ack, tcp.flags.0)
}

const RST: u8 = TcpFlags::RST.0;
const ACK: u8 = TcpFlags::ACK.0;

#[test]
fn both_ends_of_a_refused_connection_get_a_reset() {
    let mut bench = Bench::new();
    let syn = TcpSegment { flags: TcpFlags::SYN, seq: 100, ..TcpSegment::default() };
    let (verdict, sent) = bench.segment(([192, 0, 2, 1], 23), &syn);
    assert_eq!(verdict, Drop(REFUSED));
    let [(Port::OUTSIDE, on), (Port::INSIDE, back)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(read(on), (5_000, 23, 100, 0, RST));
    assert_eq!(read(back), (23, 5_000, 0, 101, RST | ACK), "as the client asks of an answer");
    let data =
        TcpSegment { flags: TcpFlags::ACK, seq: 101, ack: 7, data: b"x", ..TcpSegment::default() };
    let (verdict, sent) = bench.segment(([192, 0, 2, 1], 23), &data);
    assert_eq!(verdict, Drop(REFUSED));
    assert_eq!((read(&sent[0].1).2, read(&sent[1].1).2), (101, 7));
    let reset = TcpSegment { flags: TcpFlags::RST, ..TcpSegment::default() };
    assert_eq!(bench.segment(([192, 0, 2, 1], 23), &reset), (Drop(REFUSED), Vec::new()));
    let answer = testing::tcp(([192, 0, 2, 1], 23), CLIENT, &data);
    let (verdict, sent) = bench.frame(answer, Port::OUTSIDE);
    assert_eq!((verdict, sent[0].0, sent[1].0), (Drop(REFUSED), Port::INSIDE, Port::OUTSIDE));
}

/// The frame that goes back has to find its way over Ethernet, too.
#[test]
fn answers_go_back_to_the_station_that_asked() {
    let mut bench = Bench::new();
    let syn = TcpSegment { flags: TcpFlags::SYN, ..TcpSegment::default() };
    let stations = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
    for mut frame in [
        testing::tcp(CLIENT, ([192, 0, 2, 1], 23), &syn),
        testing::udp(CLIENT, ([198, 51, 100, 1], 53), b"data"),
    ] {
        frame[..12].copy_from_slice(stations.as_flattened());
        let (_, sent) = bench.frame(frame, Port::INSIDE);
        let (port, back) = sent.last().expect("an answer");
        assert_eq!(
            (*port, &back[..6], &back[6..12]),
            (Port::INSIDE, &stations[1][..], &stations[0][..])
        );
    }
}

#[test]
fn what_the_first_fitting_rule_allows_passes_both_ways() {
    let mut bench = Bench::new();
    let syn = TcpSegment { flags: TcpFlags::SYN, ..TcpSegment::default() };
    assert_eq!(bench.segment(([192, 0, 2, 9], 23), &syn), (Transmit, Vec::new()));
    // The rule is about port 23 of the server, not of the client.
    let from_23 = testing::tcp(([10, 0, 0, 1], 23), ([192, 0, 2, 1], 80), &syn);
    assert_eq!(bench.frame(from_23, Port::INSIDE).0, Transmit);
    let answer = testing::tcp(([192, 0, 2, 1], 80), ([10, 0, 0, 1], 23), &syn);
    assert_eq!(bench.frame(answer, Port::OUTSIDE).0, Transmit);
}

#[test]
fn the_sender_of_a_refused_datagram_is_told_once_a_second() {
    let mut bench = Bench::new();
    let datagram = testing::udp(CLIENT, ([198, 51, 100, 1], 53), b"who is it?");
    let (verdict, sent) = bench.frame(datagram.clone(), Port::INSIDE);
    assert_eq!(verdict, Drop(REFUSED));
    let [(Port::INSIDE, error)] = &sent[..] else { panic!("{sent:?}") };
    let mut error = error.clone();
    let error = Packet::new(&mut error, Meta::default());
    assert_eq!(error.icmp_type_and_code(), Some(0x0303));
    assert_eq!(error.source(), Ok(Address::v4([198, 51, 100, 1])));
    assert_eq!(error.destination(), Ok(Address::v4(CLIENT.0)));
    assert_eq!(bench.frame(datagram.clone(), Port::INSIDE), (Drop(REFUSED), Vec::new()));
    bench.now += PAUSE;
    assert_eq!(bench.frame(datagram, Port::INSIDE).1.len(), 1);
    // A packet to a group is refused without an answer.
    bench.rules = testing::configured("protocol, number, allow\nudp, 9, false\n");
    let to_group = testing::udp(CLIENT, ([224, 0, 0, 251], 5_353), b"data");
    assert_eq!(bench.frame(to_group, Port::INSIDE), (Drop(REFUSED), Vec::new()));
    bench.rules = testing::configured("protocol, number, allow\ntcp, 9, false\n");
    let segment = TcpSegment { flags: TcpFlags::ACK, ..TcpSegment::default() };
    let to_group = testing::tcp(CLIENT, ([224, 0, 0, 251], 80), &segment);
    let (verdict, sent) = bench.frame(to_group, Port::INSIDE);
    assert_eq!((verdict, sent.len()), (Drop(REFUSED), 1), "the reset that goes on");
}

#[test]
fn other_rules_judge_anew_and_end_a_record() {
    let mut bench = Bench::new();
    let (server, syn) = (([192, 0, 2, 1], 23), TcpSegment::default());
    let syn = TcpSegment { flags: TcpFlags::SYN, ..syn };
    assert_eq!(bench.segment(server, &syn).0, Drop(REFUSED));
    testing::next_version(&mut bench.rules, "number, allow\n7, true\n");
    assert_eq!(bench.segment(server, &syn).0, Transmit);
    testing::next_version(&mut bench.rules, "number, allow\n8, false\n");
    let answer = testing::tcp(server, CLIENT, &syn);
    assert_eq!(bench.frame(answer, Port::OUTSIDE).0, Drop(REFUSED));
}

#[test]
fn a_record_tells_the_packets_and_the_rule() {
    let mut bench = Bench::new();
    let datagram = testing::udp(CLIENT, ([198, 51, 100, 1], 53), b"who is it?");
    for _ in 0..3 {
        assert_eq!(bench.frame(datagram.clone(), Port::INSIDE).0, Drop(REFUSED));
        bench.now += SECOND;
    }
    let key = FiveTuple {
        source: Address::v4(CLIENT.0),
        destination: Address::v4([198, 51, 100, 1]),
        source_port: CLIENT.1,
        destination_port: 53,
        protocol: protocol::UDP,
    };
    let told = testing::record(bench.refusals.get(&key).expect("it is there"), &key, End::Idle);
    let value = |element| {
        let (_, value) = told.iter().find(|(of, _)| *of == element).expect("it is told");
        value.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    assert_eq!([element::PACKETS, SELECTOR, FIREWALL_EVENT].map(value), [3, 3, DENIED.into()]);
    let ends = [element::START_MILLISECONDS, element::END_MILLISECONDS].map(value);
    assert_eq!(ends, [1_000, 3_000]);
}

#[test]
fn what_has_no_ports_passes_but_for_fragments() {
    let mut bench = Bench::new();
    let to = [198, 51, 100, 1];
    let ping = testing::ipv4(CLIENT.0, to, 64, protocol::ICMP, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0]);
    assert_eq!(bench.frame(ping, Port::INSIDE).0, Transmit);
    let mut error = testing::udp(CLIENT, (to, 53), b"data");
    let meta = Meta::default();
    testing::in_room(&mut error, meta, |packet| {
        packet.turn_to_error(Address::v4(to), IcmpError::HostUnreachable).expect("it may");
    });
    assert_eq!(bench.frame(error, Port::OUTSIDE).0, Transmit);
    let mut fragment = testing::udp(CLIENT, (to, 53), b"data");
    fragment[20] |= 0x20;
    // The header's checksum covers the flag.
    let sum = u16::from_be_bytes([fragment[24], fragment[25]]) - 0x2000;
    fragment[24..26].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(bench.frame(fragment, Port::INSIDE).0, Drop(Fragment));
}
