use cora::testing::{
    TestBuckets, TestMerged, TestOutbox, TestRows, TestTable, configured, in_room, outbox, sent,
    table, tcp, udp,
};

use super::budget::{MOST_ERRORS, TOO_MANY_ERRORS};
use super::*;

const HOST: ([u8; 6], [u8; 4]) = ([2, 0, 0, 0, 0, 7], [10, 77, 0, 1]);
const NEXT: ([u8; 6], [u8; 4]) = ([2, 0, 0, 0, 0, 9], [198, 51, 100, 1]);
const FAR: [u8; 4] = [203, 0, 113, 1];

struct Router {
    hops: TestTable<Hop>,
    interfaces: TestRows<Interface>,
    routes: TestRows<Route>,
    neighbours: TestMerged<Neighbours>,
    budget: TestBuckets<Budget>,
    out: TestOutbox,
}

impl Router {
    fn new() -> Self {
        Self {
            hops: table(),
            interfaces: configured(include_str!("../interfaces.toml")),
            routes: configured(include_str!("../routes.csv")),
            neighbours: cora::testing::merged(),
            budget: cora::testing::per_bucket(),
            out: outbox(),
        }
    }

    /// What becomes of a frame long after the one before: the verdict, and the frame as it leaves.
    fn frame(&mut self, bytes: &[u8], port: Port, second: u64) -> (Verdict, Vec<u8>) {
        let mut frame = bytes.to_vec();
        let now = second * SECOND;
        let meta = Meta { time: now, now, port, ..Meta::default() };
        let Self { hops, interfaces, routes, neighbours, budget, out } = self;
        out.clear();
        cora::testing::merge(neighbours);
        let budget = &mut budget[Bucket::new(9)];
        let verdict = in_room(&mut frame, meta, |packet| {
            route(packet, hops, interfaces, routes, neighbours, budget, out)
        });
        (verdict, frame)
    }

    fn mac(&self, port: u8) -> [u8; 6] {
        self.interfaces.get(&At { port }).expect("it is in the file").mac.0
    }

    /// A frame of the host's to the router.
    fn as_host(&self, mut frame: Vec<u8>) -> Vec<u8> {
        frame[..6].copy_from_slice(&self.mac(0));
        frame[6..12].copy_from_slice(&HOST.0);
        frame
    }

    /// The neighbours say who they are.
    fn introduce(&mut self, second: u64) {
        for (port, (mac, address)) in [(Port::INSIDE, HOST), (Port::OUTSIDE, NEXT)] {
            let own = self.interfaces.get(&At { port: port.0 }).expect("it is there").v4;
            let asked = arp(1, (mac, address), own.as_v4().expect("IPv4"));
            assert_eq!(self.frame(&asked, port, second).0, Redirect(port));
        }
    }
}

fn arp(operation: u8, (mac, address): ([u8; 6], [u8; 4]), target: [u8; 4]) -> Vec<u8> {
    let mut frame = [[0xff; 6], mac].concat();
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, operation]);
    frame.extend(mac.iter().chain(&address).chain(&[0; 6]).chain(&target));
    frame.resize(60, 0);
    frame
}

fn ask(data: &[u8]) -> Vec<u8> {
    udp((HOST.1, 5_000), (FAR, 53), data)
}

fn read(frame: &[u8], check: impl FnOnce(&Packet)) {
    let mut frame = frame.to_vec();
    check(&Packet::new(&mut frame, Meta::default()));
}

#[test]
fn arp_is_answered_for_the_routers_own_address() {
    let mut router = Router::new();
    let (verdict, answer) = router.frame(&arp(1, HOST, [10, 77, 0, 254]), Port::INSIDE, 0);
    assert_eq!(verdict, Redirect(Port::INSIDE));
    let own = router.mac(0);
    assert_eq!((&answer[..6], &answer[6..12], answer[21]), (&HOST.0[..], &own[..], 2));
    assert_eq!((&answer[22..28], &answer[28..32]), (&own[..], &[10, 77, 0, 254][..]));
    assert_eq!(&answer[32..42], [&HOST.0[..], &HOST.1].concat());
    let (verdict, _) = router.frame(&arp(1, HOST, [10, 77, 0, 9]), Port::INSIDE, 0);
    assert_eq!(verdict, Pass, "somebody else's");
}

#[test]
fn an_unknown_next_hop_is_asked_for_once_in_a_second() {
    let mut router = Router::new();
    let packet = router.as_host(ask(b"who"));
    assert_eq!(router.frame(&packet, Port::INSIDE, 5).0, Drop(UNRESOLVED));
    let asked = sent(&router.out);
    let [(port, frame)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((*port, &frame[..6], frame[21]), (Port::OUTSIDE, &[0xff; 6][..], 1));
    assert_eq!(&frame[38..42], NEXT.1, "the next hop, not the destination");
    assert_eq!(router.frame(&packet, Port::INSIDE, 5).0, Drop(UNRESOLVED));
    assert!(router.out.is_empty());
    assert_eq!(router.frame(&packet, Port::INSIDE, 6).0, Drop(UNRESOLVED));
    assert_eq!(router.out.len(), 1, "again in the next second");
    let answer = arp(2, NEXT, [192, 0, 2, 1]);
    assert_eq!(router.frame(&answer, Port::OUTSIDE, 6).0, Pass);
    let (verdict, left) = router.frame(&packet, Port::INSIDE, 6);
    assert_eq!(verdict, Redirect(Port::OUTSIDE));
    assert_eq!((&left[..6], &left[6..12]), (&NEXT.0[..], &router.mac(1)[..]));
    read(&left, |packet| {
        assert_eq!(packet.ttl(), Ok(63));
        assert!(checksum::verify(packet));
    });
}

#[test]
fn neighbours_are_asked_again_and_forgotten() {
    let mut router = Router::new();
    router.introduce(0);
    let packet = router.as_host(ask(b"who"));
    let mut at = |second| {
        let verdict = router.frame(&packet, Port::INSIDE, second).0;
        (verdict, router.out.len())
    };
    let forwarded = Redirect(Port::OUTSIDE);
    assert_eq!(at(1), (forwarded, 0));
    assert_eq!(at(62), (forwarded, 1), "it was silent for a minute");
    assert_eq!(at(63), (forwarded, 0), "the destination asks in ten seconds again");
    assert_eq!(at(130), (Drop(UNRESOLVED), 1), "it did not answer");
}

#[test]
fn the_source_hears_why_its_packet_is_not_forwarded() {
    let mut router = Router::new();
    router.introduce(0);
    let mut last = router.as_host(ask(b"who"));
    last[22] = 1;
    let sum = checksum::internet(&[&last[14..24], &[0, 0], &last[26..34]].concat());
    last[24..26].copy_from_slice(&sum.to_be_bytes());
    let (verdict, error) = router.frame(&last, Port::INSIDE, 1);
    assert_eq!(verdict, Redirect(Port::INSIDE));
    read(&error, |packet| {
        assert_eq!(packet.source(), Ok(Address::v4([10, 77, 0, 254])));
        assert_eq!(
            (packet.destination(), packet.icmp_type_and_code()),
            (Ok(Address::v4(HOST.1)), Some(11 << 8))
        );
    });
    let mut long = router.as_host(ask(&[7; 1_500]));
    assert_eq!(router.frame(&long, Port::INSIDE, 1).0, Drop(NEEDS_FRAGMENTS));
    long[20] = 0x40;
    let sum = checksum::internet(&[&long[14..24], &[0, 0], &long[26..34]].concat());
    long[24..26].copy_from_slice(&sum.to_be_bytes());
    let (_, error) = router.frame(&long, Port::INSIDE, 1);
    read(&error, |packet| assert_eq!(packet.icmp_type_and_code(), Some(3 << 8 | 4)));
    assert_eq!(error[40..42], 1_500_u16.to_be_bytes(), "the MTU");
    router.routes = configured("prefix,port,via\n10.77.0.0/24,0,::\n");
    let packet = router.as_host(ask(b"who"));
    let (_, error) = router.frame(&packet, Port::INSIDE, 20);
    read(&error, |packet| assert_eq!(packet.icmp_type_and_code(), Some(3 << 8)));
}

#[test]
fn errors_are_limited() {
    let mut router = Router::new();
    let own = router.as_host(udp((HOST.1, 5_000), ([10, 77, 0, 254], 53), b"who"));
    for _ in 0..MOST_ERRORS {
        assert_eq!(router.frame(&own, Port::INSIDE, 3).0, Redirect(Port::INSIDE));
    }
    assert_eq!(router.frame(&own, Port::INSIDE, 3).0, Drop(TOO_MANY_ERRORS));
    assert_eq!(router.frame(&own, Port::INSIDE, 4).0, Redirect(Port::INSIDE));
}

#[test]
fn the_router_answers_echo_requests() {
    let mut router = Router::new();
    let echo = [8, 0, 0, 0, 0, 1, 0, 2, b'h', b'i'];
    let mut echo = echo.to_vec();
    let sum = checksum::internet(&echo);
    echo[2..4].copy_from_slice(&sum.to_be_bytes());
    let frame = cora::testing::ipv4(HOST.1, [10, 77, 0, 254], 9, protocol::ICMP, &echo);
    let frame = router.as_host(frame);
    let (verdict, answer) = router.frame(&frame, Port::INSIDE, 0);
    assert_eq!(verdict, Redirect(Port::INSIDE));
    read(&answer, |packet| {
        assert_eq!(packet.icmp_query(), Some(Query::Answer));
        assert_eq!(packet.destination(), Ok(Address::v4(HOST.1)));
        assert!(checksum::verify(packet));
    });
    let segment = TcpSegment { flags: TcpFlags::SYN, ..TcpSegment::default() };
    let frame = router.as_host(tcp((HOST.1, 5_000), ([10, 77, 0, 254], 22), &segment));
    assert_eq!(router.frame(&frame, Port::INSIDE, 0).0, Pass, "nothing listens");
}

#[test]
fn solicitations_are_answered_and_advertisements_believed() {
    let mut router = Router::new();
    let own = router.interfaces.get(&At { port: 0 }).expect("it is there").v6;
    let mut host = [0; 16];
    (host[0], host[15]) = (0xfd, 1);
    let icmp = |kind: u8, target: Address, option: u8, to: Address| {
        let mut message = [kind, 0, 0, 0, 0, 0, 0, 0].to_vec();
        message.extend(target.octets());
        message.extend([option, 1]);
        message.extend(HOST.0);
        let sum = checksum::transport(Address::v6(host), to, protocol::ICMPV6, &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut frame = cora::testing::ipv6(host, to.octets(), 255, protocol::ICMPV6, &message);
        frame[6..12].copy_from_slice(&HOST.0);
        frame
    };
    let (verdict, answer) = router.frame(&icmp(135, own, 1, own), Port::INSIDE, 0);
    assert_eq!(verdict, Redirect(Port::INSIDE));
    read(&answer, |packet| {
        assert_eq!(packet.icmp_type_and_code(), Some(136 << 8));
        assert_eq!((packet.source(), packet.destination()), (Ok(own), Ok(Address::v6(host))));
        assert!(checksum::verify(packet) && packet.is_link_local_control());
    });
    assert_eq!(answer[80..86], router.mac(0));
    let other = Address::v6([0xfd; 16]);
    let mut damaged = icmp(136, other, 2, own);
    damaged[60] ^= 1;
    assert_eq!(router.frame(&damaged, Port::INSIDE, 0).0, Drop(BadChecksum));
    assert_eq!(router.frame(&icmp(136, other, 2, own), Port::INSIDE, 0).0, Pass);
    cora::testing::merge(&mut router.neighbours);
    assert_eq!(router.neighbours.merged().resolve(other, SECOND), (Some(HOST.0), false));
}

#[test]
fn frames_for_others_are_not_forwarded() {
    let mut router = Router::new();
    router.introduce(0);
    let mut frame = router.as_host(ask(b"who"));
    frame[5] ^= 0xff;
    assert_eq!(router.frame(&frame, Port::INSIDE, 1).0, Drop(NOT_FOR_ROUTER));
    frame[..6].fill(0xff);
    assert_eq!(router.frame(&frame, Port::INSIDE, 1).0, Drop(TO_MANY));
}

#[test]
fn a_third_link_is_a_link_like_the_others() {
    const SERVER: ([u8; 6], [u8; 4]) = ([2, 0, 0, 0, 0, 8], [172, 16, 0, 5]);
    const DMZ: Port = Port(2);
    let mut router = Router::new();
    let third = "\n[[interface]]\nport = 2\nmac = \"02:00:5e:00:53:02\"\nv4 = \"172.16.0.254\"\n\
                 v6 = \"fd00:2::fe\"\nmtu = 1500\n";
    router.interfaces = configured(&[include_str!("../interfaces.toml"), third].concat());
    router.routes = configured(&[include_str!("../routes.csv"), "172.16.0.0/24,2,::\n"].concat());
    router.introduce(0);
    let asked = arp(1, SERVER, [172, 16, 0, 254]);
    assert_eq!(router.frame(&asked, DMZ, 0).0, Redirect(DMZ));
    // From each of two links to the third, and from there to both.
    let there = router.as_host(udp((HOST.1, 5_000), (SERVER.1, 53), b"who"));
    let (verdict, left) = router.frame(&there, Port::INSIDE, 1);
    assert_eq!((verdict, &left[..6]), (Redirect(DMZ), &SERVER.0[..]));
    for (to, port) in [(HOST.1, Port::INSIDE), (FAR, Port::OUTSIDE)] {
        let mut frame = udp((SERVER.1, 53), (to, 5_000), b"I");
        frame[..6].copy_from_slice(&router.mac(2));
        assert_eq!(router.frame(&frame, DMZ, 1).0, Redirect(port));
    }
    // Its address is the router's own, by any link that it is asked for.
    let own = router.as_host(udp((HOST.1, 5_000), ([172, 16, 0, 254], 53), b"who"));
    assert_eq!(router.frame(&own, Port::INSIDE, 1).0, Redirect(Port::INSIDE));
}

#[test]
fn a_new_own_address_is_no_next_hops_any_more() {
    let mut router = Router::new();
    router.introduce(0);
    let packet = router.as_host(ask(b"who"));
    assert_eq!(router.frame(&packet, Port::INSIDE, 1).0, Redirect(Port::OUTSIDE));
    let changed = include_str!("../interfaces.toml").replace("192.0.2.1", "203.0.113.1");
    cora::testing::next_version(&mut router.interfaces, &changed);
    let (verdict, error) = router.frame(&packet, Port::INSIDE, 1);
    assert_eq!(verdict, Redirect(Port::INSIDE));
    read(&error, |packet| assert_eq!(packet.icmp_type_and_code(), Some(3 << 8 | 3)));
}

#[test]
fn a_bucket_asks_for_some_next_hops_in_a_second() {
    let mut budget = Budget::from(Bucket::new(0));
    let hop = |number: u8| Address::v4([10, 77, 0, number]);
    let asked: Vec<u8> = (0..20).filter(|number| budget.take_question(hop(*number), 5)).collect();
    assert_eq!(asked, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(!budget.take_question(hop(3), 5), "once");
    assert!(budget.take_question(hop(19), 6), "another second");
}
