//! The handler, packet by packet: which of them take a port, and for how long.

use super::pool::{NO_PORT_LEFT, PORTS};
use super::*;

const A: [u8; 4] = [10, 0, 0, 2];
const SERVER: [u8; 4] = [198, 51, 100, 7];
const OURS: [u8; 4] = [192, 0, 2, 1];
const SECOND: u64 = 1_000_000_000;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 0x10;
const FIN_ACK: u8 = 0x11;
const SYN_ACK: u8 = 0x12;

struct Nat {
    sessions: cora::testing::TestTable<Session>,
    ports: cora::testing::TestBuckets<PortPool>,
    hosts: cora::testing::TestMerged<Hosts>,
    times: Times,
    public: Public,
    forwards: cora::testing::TestRows<Forward>,
    now: u64,
}

impl Nat {
    fn new() -> Self {
        Self {
            sessions: cora::testing::table(),
            ports: cora::testing::per_bucket(),
            hosts: cora::testing::merged(),
            times: Times::default(),
            public: Public::default(),
            forwards: cora::testing::configured("address,protocol,port,inside,inside_port\n"),
            now: 100 * SECOND,
        }
    }

    /// Time passes, and hooks run.
    fn pass(&mut self, seconds: u64) {
        self.now += seconds * SECOND;
        for ended in cora::testing::ended(&mut self.sessions, self.now) {
            let bucket = Bucket::of_port(ended.entry.public_port);
            give_back(&ended, &mut self.ports[bucket], &mut self.hosts);
        }
    }

    /// How it leaves: its ends, or why it does not.
    fn send(&mut self, port: Port, mut frame: Vec<u8>) -> Result<FiveTuple, Verdict> {
        cora::testing::at(&mut self.sessions, self.now);
        let meta = Meta { now: self.now, time: self.now, port, ..Meta::default() };
        let mut packet = Packet::new(&mut frame, meta);
        let Self { sessions, ports, hosts, times, public, forwards, .. } = self;
        cora::testing::merge(hosts);
        let ports = &mut ports[bucket_of(&packet, !forwards.is_empty())];
        match nat(&mut packet, sessions, ports, hosts, times, public, forwards) {
            Ok(_) => Ok(packet.five_tuple().unwrap()),
            dropped => Err(dropped),
        }
    }

    /// A segment from inside; the public port that it leaves from.
    fn out(&mut self, port: u16, flags: u8) -> Result<u16, Verdict> {
        self.send(Port::INSIDE, segment((A, port), (SERVER, 80), flags)).map(|it| it.source_port)
    }

    /// An answer to that port; the inside port that it reaches.
    fn back(&mut self, public: u16, flags: u8) -> Result<u16, Verdict> {
        let sent = segment((SERVER, 80), (OURS, public), flags);
        self.send(Port::OUTSIDE, sent).map(|it| it.destination_port)
    }
}

/// Where steering puts a packet: by the port of its inside end, or, if there are services, of their
/// client.
fn bucket_of(packet: &Packet, serves: bool) -> Bucket {
    let Ok(flow) = packet.five_tuple() else { return Bucket::default() };
    let inside = if packet.from_inside() { flow.source_port } else { flow.destination_port };
    let client = if packet.from_inside() { flow.destination_port } else { flow.source_port };
    Bucket::of_port(if serves && SERVED.contains(&inside) { client } else { inside })
}

/// The public ports of services and those inside.
const SERVED: [u16; 3] = [443, 50_000, 8_443];

/// The port that the first endpoint with this inside port gets.
fn first(inside: u16) -> u16 {
    Bucket::of_port(inside).port(FIRST_PORT, 0).unwrap().number()
}

impl Nat {
    /// Ports with a session.
    fn held(&self) -> usize {
        Bucket::all().map(|bucket| self.ports[bucket].held()).sum()
    }
}

fn segment(from: ([u8; 4], u16), to: ([u8; 4], u16), flags: u8) -> Vec<u8> {
    let segment = TcpSegment { flags: TcpFlags(flags), ..TcpSegment::default() };
    cora::testing::tcp(from, to, &segment)
}

fn icmp(from: [u8; 4], to: [u8; 4], kind: u8, rest: &[u8]) -> Vec<u8> {
    let message = [&[kind, 1, 0, 0], rest].concat();
    cora::testing::ipv4(from, to, 64, protocol::ICMP, &message)
}

#[test]
fn nothing_but_an_opening_takes_a_port() {
    let mut nat = Nat::new();
    for flags in [0, FIN_ACK, SYN_ACK, RST, SYN | 1, 0x29] {
        assert_eq!(nat.out(1000, flags), Err(Drop(BadTcpState)), "{flags:#x}");
    }
    let ping = |kind| icmp(A, SERVER, kind, &[0, 7, 0, 1]);
    assert_eq!(nat.send(Port::INSIDE, ping(0)), Err(Drop(NotAllowed)));
    let answer = cora::testing::udp((SERVER, 53), (A, 5000), b"");
    let about = icmp(A, SERVER, 3, &[&[0; 4], &answer[14..]].concat());
    assert_eq!(nat.send(Port::INSIDE, about), Err(Drop(NotAllowed)));
    for (from, to, reason) in [
        ([127, 0, 0, 1], SERVER, MartianSource),
        ([0; 4], SERVER, MartianSource),
        (OURS, SERVER, MartianSource),
        (A, [255; 4], MartianDestination),
        (A, [169, 254, 169, 254], MartianDestination),
        (A, OURS, Hairpin),
        (OURS, OURS, Land),
    ] {
        let frame = cora::testing::udp((from, 5), (to, 6), b"");
        assert_eq!(nat.send(Port::INSIDE, frame), Err(Drop(reason)), "{from:?} {to:?}");
    }
    assert_eq!(nat.held(), 0);
    assert_eq!(nat.out(1000, ACK), Ok(first(1000)), "the first, for the middle of a connection");
    assert_eq!(nat.send(Port::INSIDE, ping(8)).map(|it| it.source_port), Ok(first(7)));
}

#[test]
fn a_port_is_held_as_long_as_its_session_lives() {
    let mut nat = Nat::new();
    let port = nat.out(1000, SYN).unwrap();
    nat.pass(240);
    assert_eq!(nat.held(), 1, "its end is a second ago at least");
    nat.pass(1);
    assert_eq!(nat.held(), 0);
    let next = nat.out(1000, SYN).unwrap();
    assert_eq!(next, port + 1, "a port rests before it is reused");
    nat.back(next, SYN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    // It goes on for hours, a packet every two.
    for _ in 0..10 {
        nat.pass(7_200);
        assert_eq!(nat.out(1000, ACK), Ok(next));
    }
    nat.out(1000, FIN_ACK).unwrap();
    nat.back(next, FIN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    nat.pass(239);
    // Another connection of the same ends.
    assert_eq!(nat.out(1000, SYN), Ok(next));
    nat.back(next, RST).unwrap();
    nat.pass(241);
    assert_eq!(nat.held(), 0);
    assert_eq!(nat.back(next, ACK), Err(Drop(NotAllowed)));
}

#[test]
fn an_established_session_is_kept_for_two_hours_of_silence() {
    let mut nat = Nat::new();
    let port = nat.out(1000, SYN).unwrap();
    nat.back(port, SYN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    nat.pass(7_439);
    assert_eq!(nat.back(port, ACK), Ok(1000));
    let datagram = cora::testing::udp((A, 1), (SERVER, 53), b"");
    let mapped = nat.send(Port::INSIDE, datagram.clone()).unwrap();
    nat.pass(299);
    assert_eq!(nat.send(Port::INSIDE, datagram.clone()), Ok(mapped));
    nat.times = Times::configure("udp 30").unwrap();
    nat.pass(302);
    nat.send(Port::INSIDE, datagram).unwrap();
    assert_eq!(nat.held(), 2);
    nat.pass(31);
    assert_eq!(nat.held(), 1);
}

#[test]
fn a_port_is_anothers_only_when_its_session_is_gone() {
    let mut nat = Nat::new();
    // As many as there are in all buckets together.
    for port in 0..32_768 {
        nat.out(port, SYN).unwrap();
    }
    assert_eq!(nat.out(40_000, SYN), Err(Drop(NO_PORT_LEFT)));
    nat.pass(239);
    assert_eq!(nat.out(40_000, SYN), Err(Drop(NO_PORT_LEFT)));
    assert_eq!(nat.back(first(0), SYN_ACK), Ok(0), "still there");
    nat.pass(2);
    assert_eq!(nat.held(), 1, "the first one goes on");
    assert!(nat.out(40_000, SYN).is_ok());
    assert!(nat.out(512, SYN).is_ok_and(|port| port != first(0)));
}

#[test]
fn hosts_are_spread_over_the_addresses_and_have_so_many_ports() {
    let mut nat = Nat::new();
    nat.public =
        Public::configure("address 192.0.2.1\naddress 192.0.2.7 # the other\n\nports-per-host 3\n")
            .unwrap();
    let mut used = [0; 2];
    for host in 0..100 {
        let mut leaves = |port| {
            let frame = cora::testing::udp(([10, 0, 1, host], port), (SERVER, 53), b"");
            nat.send(Port::INSIDE, frame)
        };
        let first = leaves(1).unwrap().source;
        assert_eq!((leaves(2).unwrap().source, leaves(3).unwrap().source), (first, first));
        assert_eq!(leaves(4), Err(Drop(TOO_MANY_PORTS)));
        used[usize::from(first == Address::v4([192, 0, 2, 7]))] += 1;
    }
    assert!(used.iter().all(|hosts| *hosts > 30), "{used:?}");
    assert_eq!(nat.held(), 300);
    nat.pass(301);
    assert_eq!(nat.held(), 0);
    for (text, fault) in [
        ("address 192.0.2", "no IPv4 address"),
        (
            "address 1.1.1.1\naddress 1.1.1.2\naddress 1.1.1.3\naddress 1.1.1.4\naddress 1.1.1.5",
            "more than four",
        ),
        ("ports-per-host many", "ports are from"),
        ("port 5", "a line is"),
    ] {
        let told = Public::configure(text).map(|_| ()).expect_err(text);
        assert!(told.contains(fault), "{text}: {told}");
    }
}

#[test]
fn outside_opens_what_is_forwarded_and_nothing_else() {
    let mut nat = Nat::new();
    nat.forwards = cora::testing::configured(
        "address,protocol,port,inside,inside_port\n192.0.2.1,6,443,10.0.0.9,8443\n\
         192.0.2.1,6,50000,10.0.0.9,22\n",
    );
    let client = (ANOTHER, 5_555);
    let to = |port, flags| segment(client, (OURS, port), flags);
    let reached = nat.send(Port::OUTSIDE, to(443, SYN)).unwrap();
    assert_eq!(reached.destination, Address::v4([10, 0, 0, 9]));
    assert_eq!((reached.destination_port, reached.source_port), (8_443, 5_555));
    let answered =
        nat.send(Port::INSIDE, segment(([10, 0, 0, 9], 8_443), client, SYN_ACK)).unwrap();
    assert_eq!((answered.source, answered.source_port), (Address::v4(OURS), 443));
    assert_eq!(nat.send(Port::OUTSIDE, to(444, SYN)), Err(Drop(NotAllowed)));
    assert_eq!(
        nat.send(Port::OUTSIDE, to(50_000, SYN)),
        Err(Drop(NotAllowed)),
        "a port of the pool"
    );
    assert_eq!(nat.send(Port::OUTSIDE, to(443, RST)).map(|it| it.destination_port), Ok(8_443));
    let datagram = cora::testing::udp(client, (OURS, 443), b"");
    assert_eq!(nat.send(Port::OUTSIDE, datagram), Err(Drop(NotAllowed)), "another protocol");
    nat.pass(300);
    assert_eq!(nat.held(), 0, "it held no port of the pool");
}

/// A resolver asks a hundred questions a second, each from a port of its own.
#[test]
fn no_port_of_a_dead_session_is_held() {
    let mut nat = Nat::new();
    for second in 0..400_u32 {
        for question in 0..100 {
            let number = second * 100 + question;
            let from = ([10, 0, (number / 50_000) as u8, 2], 1_024 + (number % 50_000) as u16);
            let frame = cora::testing::udp(from, (SERVER, 53), b"question");
            assert!(nat.send(Port::INSIDE, frame).is_ok(), "in second {second}");
        }
        nat.pass(1);
    }
    // Those of the last five minutes.
    assert_eq!(nat.held(), 30_000);
}

const ANOTHER: [u8; 4] = [198, 51, 100, 8];

impl Nat {
    /// As [`Self::out`], to the other server.
    fn there(&mut self, port: u16, flags: u8) -> Result<u16, Verdict> {
        self.send(Port::INSIDE, segment((A, port), (ANOTHER, 80), flags)).map(|it| it.source_port)
    }
}

/// RFC 4787, REQ-1, and RFC 5382, REQ-1.
#[test]
fn an_endpoint_has_one_port_wherever_it_sends() {
    let mut nat = Nat::new();
    let datagram = |port, to, to_port| cora::testing::udp((A, port), (to, to_port), b"");
    let mut of = |port, to, to_port| {
        nat.send(Port::INSIDE, datagram(port, to, to_port)).unwrap().source_port
    };
    let first = of(5_000, SERVER, 3_478);
    assert_eq!((of(5_000, ANOTHER, 3_478), of(5_000, SERVER, 3_479)), (first, first));
    let second = of(5_001, SERVER, 3_478);
    assert_ne!(second, first);
    let tcp = nat.out(5_000, SYN).unwrap();
    assert!(tcp != first && tcp != second, "another protocol is another endpoint");
    assert_eq!(nat.there(5_000, SYN), Ok(tcp));
    let ping = |to| icmp(A, to, 8, &[0x13, 0x88, 0, 1]);
    let [one, two] = [SERVER, ANOTHER].map(|to| nat.send(Port::INSIDE, ping(to)).unwrap());
    assert_eq!(one.source_port, two.source_port);
    // Those that were asked may answer, and nobody else.
    for (from, from_port, reaches) in
        [(SERVER, 3_478, true), (ANOTHER, 3_478, true), (ANOTHER, 9, false)]
    {
        let answer = cora::testing::udp((from, from_port), (OURS, first), b"");
        let reached = nat.send(Port::OUTSIDE, answer).map(|it| it.destination_port);
        assert_eq!(reached, if reaches { Ok(5_000) } else { Err(Drop(NotAllowed)) });
    }
    assert_eq!(nat.held(), 4);
}

#[test]
fn a_port_is_held_until_the_last_of_its_sessions_expired() {
    let mut nat = Nat::new();
    let port = nat.out(1000, SYN).unwrap();
    nat.back(port, SYN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    assert_eq!(nat.there(1000, SYN), Ok(port));
    nat.pass(300);
    assert_eq!(nat.held(), 1, "the other one lives");
    nat.pass(7_000);
    assert_eq!(nat.out(1000, ACK), Ok(port));
    nat.back(port, RST).unwrap();
    nat.pass(241);
    assert_eq!(nat.held(), 0);
}

/// Endpoints come and go, and the chains of the pool with them.
#[test]
fn a_port_that_changes_hands_is_found_by_its_new_endpoint_alone() {
    let bucket = Bucket::new(7);
    let mut pool = PortPool::from(bucket);
    let endpoint = |number: u32| Inside {
        address: Ipv4Addr::from_bits(0x0a00_0000 | number),
        port: (number % 7) as u16,
        protocol: protocol::UDP,
    };
    for round in 0..40_u32 {
        let open = |pool: &mut PortPool, number: u32| pool.open(&endpoint(number * 3 + round), 1);
        let leases: Vec<Lease> =
            (0..PORTS as u32).map(|number| open(&mut pool, number).unwrap()).collect();
        let mut all: Vec<BucketPort> = leases.iter().map(|lease| lease.port).collect();
        assert!(all.iter().all(|port| port.bucket() == bucket));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), PORTS, "each has its own");
        assert_eq!(open(&mut pool, 1 << 20), Err(NO_PORT_LEFT));
        for (number, lease) in (0..).zip(&leases) {
            let Lease { address, port, .. } = *lease;
            assert_eq!(open(&mut pool, number), Ok(Lease { is_new: false, ..*lease }));
            assert!(!pool.close(address, port.number()), "a session goes on");
            assert!(pool.close(address, port.number()));
        }
        assert_eq!(pool.held(), 0);
        let Lease { address, port, .. } = leases[0];
        assert!(!pool.close(address, port.number()), "it is free already");
        assert!(!pool.close(address, port.number() ^ 2), "another bucket's");
    }
}

#[test]
fn a_redirect_is_nobodys_behind_the_nat() {
    let mut nat = Nat::new();
    let sent = nat.send(Port::INSIDE, cora::testing::udp((A, 40_000), (SERVER, 33_434), b"data"));
    let public = sent.unwrap().source_port;
    let quoted = cora::testing::udp((OURS, public), (SERVER, 33_434), b"data");
    let about = |kind| icmp([203, 0, 113, 254], OURS, kind, &[&[0; 4], &quoted[14..]].concat());
    assert_eq!(nat.send(Port::OUTSIDE, about(5)), Err(Drop(IcmpRedirect)));
    for kind in [3, 11, 12] {
        let reached = nat.send(Port::OUTSIDE, about(kind)).unwrap();
        assert_eq!((reached.destination, reached.destination_port), (Address::v4(A), 40_000));
    }
}

#[test]
fn who_asks_is_told_from_who_answers() {
    let mut nat = Nat::new();
    let out = nat.send(Port::INSIDE, icmp(A, SERVER, 8, &[0, 7, 0, 1])).unwrap();
    let [high, low] = out.source_port.to_be_bytes();
    let back = |kind| icmp(SERVER, OURS, kind, &[high, low, 0, 1]);
    assert_eq!(nat.send(Port::OUTSIDE, back(8)), Err(Drop(NotAllowed)));
    assert_eq!(nat.send(Port::OUTSIDE, back(0)).map(|it| it.destination_port), Ok(7));
}
