//! The handler, packet by packet: which of them take a port, and for how long.

use super::pool::{FIRST_PORT, NO_PORT_LEFT, PORTS};
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
    ports: Box<PortPool>,
    times: Times,
    now: u64,
}

impl Nat {
    fn new() -> Self {
        let (sessions, ports) = (cora::testing::table(), Box::default());
        Self { sessions, ports, times: Times::default(), now: 100 * SECOND }
    }

    /// How it leaves: its ends, or why it does not.
    fn send(&mut self, port: Port, mut frame: Vec<u8>) -> Result<FiveTuple, Verdict> {
        cora::testing::at(&mut self.sessions, self.now);
        let meta = Meta { now: self.now, time: self.now, port };
        let mut packet = Packet::new(&mut frame, meta);
        match nat(&mut packet, &mut self.sessions, &mut self.ports, &self.times) {
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

    fn leased(&self) -> usize {
        let now = (self.now / TICK) as u32;
        self.ports.leases().filter(|until| *until > now).count()
    }

    /// The port's lease ends no sooner than so many seconds from now, and two minutes later at
    /// most.
    #[track_caller]
    fn is_leased_for(&self, port: u16, seconds: u64) {
        let until = self.ports.leases().nth(usize::from(port - FIRST_PORT)).unwrap();
        let until = u64::from(until) * TICK;
        let left = until.saturating_sub(self.now) / SECOND;
        let most = seconds + seconds / 100 + 125;
        assert!((seconds..=most).contains(&left), "{left} s instead of {seconds}");
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
    assert_eq!(nat.leased(), 0);
    assert_eq!(nat.out(1000, ACK), Ok(FIRST_PORT), "the first, for the middle of a connection");
    assert_eq!(nat.send(Port::INSIDE, ping(8)).map(|it| it.source_port), Ok(FIRST_PORT + 1));
}

#[test]
fn a_lease_is_as_long_as_its_session() {
    let mut nat = Nat::new();
    let port = nat.out(1000, SYN).unwrap();
    nat.is_leased_for(port, 240);
    nat.back(port, SYN_ACK).unwrap();
    nat.is_leased_for(port, 240);
    nat.out(1000, ACK).unwrap();
    nat.is_leased_for(port, 7440);
    // It goes on for hours, a packet each half an hour.
    for _ in 0..10 {
        nat.now += 1_800 * SECOND;
        assert_eq!(nat.out(1000, ACK), Ok(port));
        nat.is_leased_for(port, 7440);
    }
    nat.out(1000, FIN_ACK).unwrap();
    nat.is_leased_for(port, 240);
    nat.back(port, FIN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    nat.is_leased_for(port, 240);
    // Another connection of the same ends.
    assert_eq!(nat.out(1000, SYN), Ok(port));
    nat.back(port, SYN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    nat.is_leased_for(port, 7440);
    nat.back(port, RST).unwrap();
    nat.is_leased_for(port, 240);
    nat.now += 365 * SECOND;
    assert_eq!(nat.leased(), 0);
    assert_eq!(nat.back(port, ACK), Err(Drop(NotAllowed)));
}

#[test]
fn an_established_session_is_kept_for_two_hours_of_silence() {
    let mut nat = Nat::new();
    let port = nat.out(1000, SYN).unwrap();
    nat.back(port, SYN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    nat.now += 7_439 * SECOND;
    assert_eq!(nat.back(port, ACK), Ok(1000));
    let datagram = cora::testing::udp((A, 1), (SERVER, 53), b"");
    let mapped = nat.send(Port::INSIDE, datagram.clone()).unwrap();
    nat.now += 299 * SECOND;
    assert_eq!(nat.send(Port::INSIDE, datagram.clone()), Ok(mapped));
    nat.is_leased_for(mapped.source_port, 300);
    nat.times = Times::configure("udp 30").unwrap();
    nat.now += 301 * SECOND;
    let mapped = nat.send(Port::INSIDE, datagram).unwrap();
    nat.is_leased_for(mapped.source_port, 30);
}

#[test]
fn a_port_is_anothers_only_when_its_session_is_gone() {
    let mut nat = Nat::new();
    for port in 0..PORTS as u16 {
        nat.out(port, SYN).unwrap();
    }
    assert_eq!(nat.out(40_000, SYN), Err(Drop(NO_PORT_LEFT)));
    nat.now += 239 * SECOND;
    assert_eq!(nat.out(40_000, SYN), Err(Drop(NO_PORT_LEFT)));
    assert_eq!(nat.back(FIRST_PORT, SYN_ACK), Ok(0), "still there");
    nat.now += 125 * SECOND;
    assert_eq!(nat.out(40_000, SYN), Ok(FIRST_PORT + 1), "the first one goes on");
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
    assert_eq!(nat.leased(), 4);
}

#[test]
fn a_port_is_held_for_the_longest_of_its_sessions() {
    let mut nat = Nat::new();
    let port = nat.out(1000, SYN).unwrap();
    nat.back(port, SYN_ACK).unwrap();
    nat.out(1000, ACK).unwrap();
    assert_eq!(nat.there(1000, SYN), Ok(port));
    nat.is_leased_for(port, 7440);
    // The other one is refused, and does not shorten it.
    nat.send(Port::OUTSIDE, segment((ANOTHER, 80), (OURS, port), 0x14)).unwrap();
    nat.is_leased_for(port, 7440);
    nat.now += 100 * SECOND;
    nat.send(Port::OUTSIDE, segment((ANOTHER, 80), (OURS, port), 0x14)).unwrap();
    nat.out(1000, ACK).unwrap();
    nat.is_leased_for(port, 7440);
    nat.back(port, RST).unwrap();
    nat.is_leased_for(port, 240);
}

/// Endpoints of one chain, again and again, while ports change hands.
#[test]
fn a_port_that_changes_hands_is_found_by_its_new_endpoint_alone() {
    let mut pool = Box::<PortPool>::default();
    let endpoint = |number: u32| Endpoint {
        address: Ipv4Addr::from_bits(0x0a00_0000 | number),
        port: (number % 7) as u16,
        protocol: protocol::UDP,
    };
    for round in 0..4_u32 {
        let now = round * 1_000 + 1;
        let ports: Vec<u16> = (0..PORTS as u32)
            .map(|number| pool.lease(&endpoint(number * 3 + round), now, now + 100).unwrap())
            .collect();
        let mut all = ports.clone();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), PORTS, "each has its own");
        assert_eq!(pool.lease(&endpoint(1 << 20), now, now + 100), Err(NO_PORT_LEFT));
        for (number, port) in (0..).zip(&ports) {
            let found = pool.lease(&endpoint(number * 3 + round), now + 50, now + 100);
            assert_eq!(found, Ok(*port));
        }
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
