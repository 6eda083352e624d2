//! How long a connection is remembered in each of its states.

use super::*;

const SECOND: u64 = 1_000_000_000;
const INSIDE: Port = Port(0);
const OUTSIDE: Port = Port(1);
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 0x10;
const FIN_ACK: u8 = 0x11;
const SYN_ACK: u8 = 0x12;

/// An Ethernet frame with an empty segment, datagram or ping between the two hosts.
fn frame(protocol: u8, port: Port, flags: u8) -> Vec<u8> {
    let (from, to) = if port == INSIDE { (1, 2) } else { (2, 1) };
    let mut payload = [0; 20];
    match protocol {
        protocol::TCP => {
            payload[..4].copy_from_slice(&[9, from, 9, to]);
            payload[12..14].copy_from_slice(&[0x50, flags]);
        }
        protocol::UDP => payload[..6].copy_from_slice(&[9, from, 9, to, 0, 20]),
        _ => payload[0] = if port == INSIDE { 8 } else { 0 },
    }
    cora::testing::ipv4([10, 0, 0, from], [10, 0, 0, to], 64, protocol, &payload)
}

struct Bench {
    connections: cora::testing::TestTable<Connection>,
    rules: cora::testing::TestRows<Rule>,
    times: Times,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        let (connections, rules) = (cora::testing::table(), cora::testing::configured(""));
        Self { connections, rules, times: Times::default(), now: SECOND }
    }

    fn send(&mut self, protocol: u8, port: Port, flags: u8) -> Verdict {
        let mut frame = frame(protocol, port, flags);
        let mut packet = Packet::new(&mut frame, Meta { port, now: self.now, ..Meta::default() });
        cora::testing::at(&mut self.connections, self.now);
        firewall(&mut packet, &mut self.connections, &self.rules, &self.times)
    }

    /// The connection is remembered for so many seconds since the last packet.
    #[track_caller]
    fn is_idle_after(&mut self, seconds: u64, protocol: u8) {
        let flow = Packet::new(&mut frame(protocol, INSIDE, ACK), Meta::default()).flow().unwrap();
        self.now += seconds * SECOND - 1;
        cora::testing::at(&mut self.connections, self.now);
        assert!(self.connections.get(&flow).is_some(), "forgotten before {seconds} s");
        self.now += seconds * SECOND;
        cora::testing::at(&mut self.connections, self.now);
        assert!(self.connections.get(&flow).is_none(), "remembered after {seconds} s");
        assert_eq!(self.send(protocol, OUTSIDE, ACK), Drop(NotAllowed));
    }

    /// A connection after these segments.
    fn tcp(&mut self, segments: &[(Port, u8)]) {
        for (port, flags) in segments {
            self.now += 3 * SECOND;
            assert_eq!(self.send(protocol::TCP, *port, *flags), Transmit, "{segments:?}");
        }
    }
}

#[test]
fn tcp_is_remembered_by_its_state() {
    let mut bench = Bench::new();
    let mut segments = vec![(INSIDE, SYN)];
    bench.tcp(&segments);
    bench.is_idle_after(120, protocol::TCP);
    for (port, flags, seconds) in [
        (OUTSIDE, SYN_ACK, 60),
        (INSIDE, ACK, 7440),
        (INSIDE, FIN_ACK, 120),
        (OUTSIDE, ACK, 60),
        (OUTSIDE, FIN_ACK, 30),
        (INSIDE, ACK, 120),
        (OUTSIDE, RST, 10),
    ] {
        segments.push((port, flags));
        bench.tcp(&segments);
        bench.is_idle_after(seconds, protocol::TCP);
    }
}

#[test]
fn a_segment_out_of_place_is_dropped() {
    let mut bench = Bench::new();
    bench.tcp(&[(INSIDE, SYN)]);
    assert_eq!(bench.send(protocol::TCP, OUTSIDE, FIN_ACK), Drop(BadTcpState));
    assert_eq!(bench.send(protocol::TCP, OUTSIDE, SYN_ACK), Transmit);
}

#[test]
fn datagrams_are_remembered_longer_once_answered() {
    let mut bench = Bench::new();
    assert_eq!(bench.send(protocol::UDP, OUTSIDE, 0), Drop(NotAllowed));
    assert_eq!(bench.send(protocol::UDP, INSIDE, 0), Transmit);
    bench.is_idle_after(30, protocol::UDP);
    assert_eq!(bench.send(protocol::UDP, INSIDE, 0), Transmit);
    assert_eq!(bench.send(protocol::UDP, OUTSIDE, 0), Transmit);
    bench.is_idle_after(180, protocol::UDP);
}

#[test]
fn a_ping_is_remembered_for_its_answer() {
    let mut bench = Bench::new();
    assert_eq!(bench.send(protocol::ICMP, INSIDE, 0), Transmit);
    assert_eq!(bench.send(protocol::ICMP, OUTSIDE, 0), Transmit);
    bench.is_idle_after(30, protocol::ICMP);
}

#[test]
fn times_are_configured_and_hold_from_the_next_state_on() {
    let mut bench = Bench::new();
    bench.times = Times::configure("established 300\nudp 60 # seconds").unwrap();
    bench.tcp(&[(INSIDE, SYN), (OUTSIDE, SYN_ACK), (INSIDE, ACK)]);
    bench.is_idle_after(300, protocol::TCP);
    assert_eq!(bench.send(protocol::UDP, INSIDE, 0), Transmit);
    bench.is_idle_after(60, protocol::UDP);
    assert!(Times::configure("established 7441").is_err(), "longer than an entry lives");
}

#[test]
fn a_segment_that_opens_nothing_leaves_nothing() {
    let mut bench = Bench::new();
    for flags in [0, ACK, FIN_ACK, SYN_ACK, RST, SYN | 1] {
        assert_eq!(bench.send(protocol::TCP, INSIDE, flags), Drop(BadTcpState), "{flags:#x}");
    }
    assert_eq!(bench.send(protocol::TCP, OUTSIDE, ACK), Drop(NotAllowed));
}

#[test]
fn a_rule_about_a_port_is_not_about_pings() {
    let mut bench = Bench::new();
    bench.rules = cora::testing::configured(
        "protocol,destination,destination_port,allow\ntcp,10.0.0.2,7-8,false\nudp,10.0.0.2,7-8,false",
    );
    let echo = |identifier| {
        cora::testing::ipv4(
            [10, 0, 0, 1],
            [10, 0, 0, 2],
            64,
            protocol::ICMP,
            &[8, 0, 0, 0, 0, identifier, 0, 1],
        )
    };
    for identifier in [7, 8, 9] {
        let mut frame = echo(identifier);
        let mut packet = Packet::new(&mut frame, Meta { now: bench.now, ..Meta::default() });
        let Bench { connections, rules, times, .. } = &mut bench;
        assert_eq!(firewall(&mut packet, connections, rules, times), Transmit, "{identifier}");
    }
}

#[test]
fn other_rules_end_what_they_deny() {
    let mut bench = Bench::new();
    bench.tcp(&[(INSIDE, SYN), (OUTSIDE, SYN_ACK), (INSIDE, ACK)]);
    let closed = |port: u16| {
        format!("protocol,destination,destination_port,allow\ntcp,10.0.0.2,{port},false")
    };
    cora::testing::next_version(&mut bench.rules, &closed(80));
    bench.tcp(&[(INSIDE, ACK), (OUTSIDE, ACK)]);
    cora::testing::next_version(&mut bench.rules, &closed(2306));
    assert_eq!(bench.send(protocol::TCP, OUTSIDE, ACK), Drop(NotAllowed), "from either side");
    assert_eq!(bench.send(protocol::TCP, INSIDE, ACK), Drop(NotAllowed));
    cora::testing::next_version(&mut bench.rules, "");
    assert_eq!(bench.send(protocol::TCP, OUTSIDE, ACK), Drop(NotAllowed), "it is forgotten");
    assert_eq!(bench.send(protocol::TCP, INSIDE, SYN), Transmit);
}
