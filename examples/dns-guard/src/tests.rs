//! The guard, packet by packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use cora::testing::{TestRows, TestTable, at, commit, configured, on, replica, table};

use super::*;

const QUESTION: u16 = 0x0100;
const ANSWER: u16 = 0x8180;
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 53);

/// A name as on the wire.
fn wire(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        wire.push(u8::try_from(label.len()).unwrap());
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    wire
}

/// A message with one question: an address of this name.
fn message(id: u16, flags: u16, name: &str) -> Vec<u8> {
    let mut message: Vec<u8> =
        [id, flags, 1, 0, 0, 0].iter().flat_map(|n| n.to_be_bytes()).collect();
    message.extend(wire(name));
    message.extend([0, 1, 0, 1]);
    message
}

struct Bench {
    questions: TestTable<Asked>,
    askers: TestTable<Asker>,
    limits: TestRows<Limit>,
    blocked: TestRows<Blocked>,
    counts: Counts,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        Self::with("prefix, per_second, burst\n", "name\n")
    }

    fn with(limits: &str, blocked: &str) -> Self {
        Self {
            questions: table(),
            askers: table(),
            limits: configured(limits),
            blocked: configured(blocked),
            counts: replica(),
            now: SECOND,
        }
    }

    /// The verdict on a frame, which the handler may change.
    fn handle(&mut self, frame: &mut [u8], port: Port) -> Verdict {
        let meta = Meta { port, now: self.now, ..Meta::default() };
        let mut packet = Packet::new(frame, meta);
        at(&mut self.questions, self.now);
        on(&mut self.questions, &packet);
        let (limits, blocked) = (&self.limits, &self.blocked);
        let verdict = guard(
            &mut packet,
            &mut self.questions,
            &mut self.askers,
            limits,
            blocked,
            &mut self.counts,
        );
        commit(&mut self.counts);
        verdict
    }

    /// A datagram of the host 10.0.0.`host`, port 5000, to the server.
    fn from(&mut self, host: u8, data: &[u8]) -> Verdict {
        let mut frame = cora::testing::udp(([10, 0, 0, host], 5_000), (SERVER, DNS), data);
        self.handle(&mut frame, Port::INSIDE)
    }

    /// A datagram from the server to the host 10.0.0.`host`, port 5000.
    fn to(&mut self, host: u8, data: &[u8]) -> Verdict {
        let mut frame = cora::testing::udp((SERVER, DNS), ([10, 0, 0, host], 5_000), data);
        self.handle(&mut frame, Port::OUTSIDE)
    }

    fn ask(&mut self, id: u16, name: &str) -> Verdict {
        self.from(1, &message(id, QUESTION, name))
    }

    fn answer(&mut self, id: u16, name: &str) -> Verdict {
        self.to(1, &message(id, ANSWER, name))
    }
}

#[test]
fn an_answer_passes_once_for_each_question() {
    let mut bench = Bench::new();
    assert_eq!(bench.answer(7, "example.org"), Drop(UNASKED));
    assert_eq!(bench.ask(7, "example.org"), Transmit);
    assert_eq!(bench.answer(7, "example.org"), Transmit);
    assert_eq!(bench.answer(7, "example.org"), Drop(UNASKED));
    for verdict in [bench.ask(8, "example.org"), bench.ask(8, "example.org")] {
        assert_eq!(verdict, Transmit, "a client that asks again");
    }
    let answers = [0; 3].map(|_| bench.answer(8, "example.org"));
    assert_eq!(answers, [Transmit, Transmit, Drop(UNASKED)]);
    assert_eq!(bench.ask(0, ""), Transmit, "the root is a name");
    assert_eq!(bench.answer(0, ""), Transmit);
    let counts = &bench.counts;
    let sums = [counts.questions, counts.answers, counts.unasked].map(|sum| sum.value());
    assert_eq!(sums, [4, 4, 3]);
}

#[test]
fn an_answer_repeats_all_of_the_question() {
    let mut bench = Bench::new();
    bench.ask(7, "wWw.Example.org").unwrap();
    assert_eq!(bench.answer(8, "www.example.org"), Drop(UNASKED), "the identifier");
    assert_eq!(bench.answer(7, "www.example.com"), Drop(UNASKED), "the name");
    assert_eq!(bench.answer(7, "ww.wexample.org"), Drop(UNASKED), "where its labels end");
    assert_eq!(bench.answer(7, "\0www.example.org"), Drop(UNASKED), "how long they are");
    assert_eq!(bench.to(2, &message(7, ANSWER, "www.example.org")), Drop(UNASKED), "the host");
    let data = message(7, ANSWER, "www.example.org");
    for (server, port) in [((SERVER, DNS), 5_001), (([192, 0, 2, 54].into(), DNS), 5_000)] {
        let mut frame = cora::testing::udp(server, ([10, 0, 0, 1], port), &data);
        assert_eq!(bench.handle(&mut frame, Port::OUTSIDE), Drop(UNASKED), "{server:?} {port}");
    }
    let back = message(7, QUESTION, "www.example.org");
    assert_eq!(bench.to(1, &back), Drop(UNASKED), "a question is no answer");
    assert_eq!(bench.answer(7, "WWW.eXAMPLE.ORG"), Transmit, "in any case");
}

#[test]
fn a_question_is_forgotten_after_ten_seconds() {
    let mut bench = Bench::new();
    bench.ask(7, "example.org").unwrap();
    bench.now += 11 * SECOND;
    assert_eq!(bench.answer(7, "example.org"), Drop(UNASKED));
}

#[test]
fn a_host_asks_at_its_rate() {
    let mut bench = Bench::with("prefix,per_second,burst\n10.0.0.1,10,3\n10.0.0.2,0,5\n", "name\n");
    let asked = [1, 2, 3, 4].map(|id| bench.ask(id, "example.org"));
    assert_eq!(asked, [Transmit, Transmit, Transmit, Drop(OVER_RATE)]);
    assert_eq!(bench.answer(4, "example.org"), Drop(UNASKED), "its question went nowhere");
    bench.now += SECOND / 10 - 1;
    assert_eq!(bench.ask(5, "example.org"), Drop(OVER_RATE), "a nanosecond too early");
    bench.now += 1;
    assert_eq!(bench.ask(6, "example.org"), Transmit);
    let question = message(7, QUESTION, "example.org");
    assert_eq!(bench.from(2, &question), Drop(OVER_RATE), "none at all");
    assert!((0..50).all(|_| bench.from(3, &question) == Transmit), "a host without a limit");
}

#[test]
fn names_of_the_list_and_below_are_answered_with_nxdomain() {
    let rows = "name,silent\nADS.example.,\nbad.test,true\n";
    let mut bench = Bench::with("prefix,per_second,burst\n", rows);
    for name in ["ads.example", "x.y.Ads.EXAMPLE"] {
        // Behind the question comes an additional record (EDNS), which the answer leaves out.
        let mut data = message(7, QUESTION, name);
        data[11] = 1;
        data.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        let mut frame = cora::testing::udp(([10, 0, 0, 1], 5_000), (SERVER, DNS), &data);
        assert_eq!(bench.handle(&mut frame, Port::INSIDE), Redirect(Port::INSIDE), "{name}");
        let packet = Packet::new(&mut frame, Meta::default());
        let flow = packet.five_tuple().unwrap();
        assert_eq!((flow.source, flow.source_port), (Address::v4(SERVER.octets()), DNS));
        assert_eq!((flow.destination, flow.destination_port), (Address::v4([10, 0, 0, 1]), 5_000));
        assert_eq!(packet.payload(), message(7, 0x8183, name));
        assert!(checksum::verify(&packet));
    }
    assert_eq!(bench.ask(7, "www.bad.test"), Drop(BLOCKED));
    for name in ["example", "heads.example", "ads.example.org", "test"] {
        assert_eq!(bench.ask(7, name), Transmit, "{name}");
    }
    assert_eq!(bench.counts.blocked.value(), 3);
    assert_eq!(bench.answer(7, "ads.example"), Drop(UNASKED));
}

#[test]
fn damaged_messages_are_dropped_by_name_and_no_cut_goes_unnoticed() {
    let mut bench = Bench::new();
    let whole = message(7, QUESTION, "www.example.org");
    for length in 0..whole.len() {
        assert_eq!(bench.from(1, &whole[..length]), Drop(Truncated), "{length}");
        assert_eq!(bench.to(1, &whole[..length]), Drop(Truncated), "{length}");
    }
    let mut pointer = whole.clone();
    pointer[12] = 0xc0;
    assert_eq!(bench.from(1, &pointer), Drop(Malformed));
    for questions in [0, 2] {
        let mut several = whole.clone();
        several[5] = questions;
        assert_eq!(bench.to(1, &several), Drop(Malformed), "{questions}");
    }
    let label = "a".repeat(61);
    let longest = format!("{label}.{label}.{label}.{label}.abcde");
    assert_eq!(bench.ask(7, &longest), Transmit, "{} bytes", wire(&longest).len());
    assert_eq!(bench.ask(7, &format!("{longest}e")), Drop(Malformed));
    assert_eq!(bench.ask(7, &"a.".repeat(127)), Transmit);
    assert_eq!(bench.ask(7, &"a.".repeat(128)), Drop(Malformed));
    // Whatever bytes come, none of them is a panic.
    let mut random = 1_u32;
    for round in 0..20_000 {
        let mut data = whole.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (random >> 16) as usize % data.len();
            data[at] = (random >> 8) as u8;
        }
        data.truncate(whole.len() - round % 7);
        let _any = (bench.from(1, &data), bench.to(1, &data));
    }
}

#[test]
fn what_is_not_between_a_host_and_a_server_outside_passes() {
    let mut bench = Bench::new();
    let junk = b"no DNS";
    let (client, inside) = (([198, 51, 100, 9], 5_000), ([10, 0, 0, 53], DNS));
    // A server inside, and its answer.
    let mut frame = cora::testing::udp(client, inside, junk);
    assert_eq!(bench.handle(&mut frame, Port::OUTSIDE), Transmit);
    let mut frame = cora::testing::udp(inside, client, junk);
    assert_eq!(bench.handle(&mut frame, Port::INSIDE), Transmit);
    // The same, asked by another server, from port 53.
    let (asks, says) = (message(1, QUESTION, "a.b"), message(1, ANSWER, "a.b"));
    let mut frame = cora::testing::udp((client.0, DNS), inside, &asks);
    assert_eq!(bench.handle(&mut frame, Port::OUTSIDE), Transmit);
    let mut frame = cora::testing::udp(inside, (client.0, DNS), &says);
    assert_eq!(bench.handle(&mut frame, Port::INSIDE), Transmit);
    let segment = TcpSegment { flags: TcpFlags::SYN, ..TcpSegment::default() };
    let mut frame = cora::testing::tcp((SERVER, DNS), ([10, 0, 0, 1], 5_000), &segment);
    assert_eq!(bench.handle(&mut frame, Port::OUTSIDE), Transmit);
    // An error about a question quotes the question, and is no DNS.
    let mut frame = cora::testing::udp(([10, 0, 0, 1], 5_000), (SERVER, DNS), junk);
    let mut error = frame.clone();
    cora::testing::in_room(&mut error, Meta::default(), |packet| {
        let router = Address::v4([198, 51, 100, 1]);
        packet.turn_to_error(router, IcmpError::PortUnreachable).unwrap();
    });
    assert_eq!(bench.handle(&mut error, Port::OUTSIDE), Transmit);
    // LLDP.
    frame[12..14].copy_from_slice(&[0x88, 0xcc]);
    assert_eq!(bench.handle(&mut frame, Port::OUTSIDE), Transmit);
}

#[test]
fn fragments_and_damaged_headers_are_dropped() {
    let mut bench = Bench::new();
    let mut later =
        cora::testing::ipv4([192, 0, 2, 53], [10, 0, 0, 1], 64, protocol::UDP, &[0; 40]);
    later[20..22].copy_from_slice(&[0, 9]);
    let sum = checksum::internet(&[&later[14..24], &[0, 0], &later[26..34]].concat());
    later[24..26].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(bench.handle(&mut later, Port::OUTSIDE), Drop(reasons::Fragment));
    later[24] ^= 1;
    assert_eq!(bench.handle(&mut later, Port::OUTSIDE), Drop(BadIpChecksum));
}

#[test]
fn ipv6_is_guarded_too() {
    let mut bench = Bench::with("prefix,per_second,burst\n2001:db8::/32,1,1\n", "name\n");
    let [host, server]: [SocketAddr; 2] = [("2001:db8::1", 5_000), ("2001:db8:1::53", DNS)]
        .map(|(ip, port)| (ip.parse::<Ipv6Addr>().map(IpAddr::V6).unwrap(), port).into());
    let mut ask = cora::testing::udp(host, server, &message(7, QUESTION, "example.org"));
    let mut answer = cora::testing::udp(server, host, &message(7, ANSWER, "example.org"));
    assert_eq!(bench.handle(&mut answer, Port::OUTSIDE), Drop(UNASKED));
    assert_eq!(bench.handle(&mut ask, Port::INSIDE), Transmit);
    assert_eq!(bench.handle(&mut answer, Port::OUTSIDE), Transmit);
    assert_eq!(bench.handle(&mut ask, Port::INSIDE), Drop(OVER_RATE));
}

#[test]
fn rows_that_are_no_names_are_told() {
    for name in ["a..b", ".", &"a".repeat(64), &"ab.".repeat(85)] {
        assert!(name.parse::<Name>().is_err(), "{name}");
    }
    let parsed: Name = "Www.example.ORG.".parse().unwrap();
    assert_eq!(parsed, Message::of(&message(0, 0, "www.Example.org")).unwrap().name());
}
