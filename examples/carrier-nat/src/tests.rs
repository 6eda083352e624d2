//! The handler, packet by packet.

use cora::testing::{TestBuckets, TestTable};

use super::pool::{BLOCK_USED_UP, MAPPINGS, NO_MAPPING_LEFT, PORTS};
use super::subscribers::{BLOCK, BLOCKS, FIRST_PORT, port_of};
use super::*;

const SECOND: u64 = 1_000_000_000;
const ALICE: Address = Address::v4([10, 0, 0, 1]);
const BOB: Address = Address::v4([10, 0, 0, 2]);
/// The public address of both.
const PUBLIC: Address = Address::v4([192, 0, 2, 6]);
const SERVER: Address = Address::v4([198, 51, 100, 9]);

/// The program, and the time (s).
struct Nat {
    sessions: TestTable<Session>,
    pool: TestBuckets<Pool>,
    subscribers: Subscribers,
    now: u64,
}

/// Who sends to whom, as it stands in a packet.
type Ends = (Address, u16, Address, u16);

impl Nat {
    fn new() -> Self {
        Self {
            sessions: cora::testing::table(),
            pool: cora::testing::per_bucket(),
            subscribers: Subscribers::default(),
            now: 100,
        }
    }

    /// Time passes, and hooks run.
    fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        for ended in cora::testing::ended(&mut self.sessions, self.now * SECOND) {
            give_back(&ended, &mut self.pool[Bucket::of_port(ended.entry.public_port)]);
        }
    }

    /// Mappings with a session.
    fn held(&self) -> usize {
        Bucket::all().map(|bucket| self.pool[bucket].held()).sum()
    }

    /// A datagram from there to there; how it leaves.
    fn udp(&mut self, port: Port, ends: Ends) -> Result<(Ends, Verdict), Verdict> {
        let (from, from_port, to, to_port) = ends;
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14..18].copy_from_slice(&[0x45, 0, 0, 32]);
        frame[22..24].copy_from_slice(&[64, protocol::UDP]);
        frame[26..30].copy_from_slice(&from.as_v4().unwrap());
        frame[30..34].copy_from_slice(&to.as_v4().unwrap());
        let sum = checksum::internet(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame[34..36].copy_from_slice(&from_port.to_be_bytes());
        frame[36..38].copy_from_slice(&to_port.to_be_bytes());
        frame[38..40].copy_from_slice(&[0, 12]);
        let sum = checksum::transport(from, to, protocol::UDP, &frame[34..46]);
        frame[40..42].copy_from_slice(&sum.to_be_bytes());
        self.frame(port, &mut frame)
    }

    /// A segment, likewise.
    fn tcp(&mut self, port: Port, ends: Ends, flags: u8) -> Result<(Ends, Verdict), Verdict> {
        let (from, from_port, to, to_port) = ends;
        let segment = TcpSegment { flags: TcpFlags(flags), ..TcpSegment::default() };
        let (from, to) = (from.as_v4().unwrap(), to.as_v4().unwrap());
        self.frame(port, &mut cora::testing::tcp((from, from_port), (to, to_port), &segment))
    }

    fn frame(&mut self, port: Port, frame: &mut [u8]) -> Result<(Ends, Verdict), Verdict> {
        let now = self.now * SECOND;
        cora::testing::at(&mut self.sessions, now);
        let mut packet = Packet::new(frame, Meta { now, port, ..Meta::default() });
        // As steering does it: by the port of the inside end.
        let flow = packet.five_tuple().unwrap();
        let inside = if packet.from_inside() { flow.source_port } else { flow.destination_port };
        let pool = &mut self.pool[Bucket::of_port(inside)];
        let verdict = carrier_nat(&mut packet, &mut self.sessions, pool, &self.subscribers);
        if verdict.is_err() {
            return Err(verdict);
        }
        assert!(checksum::verify(&packet), "{packet:?}");
        let FiveTuple { source, source_port, destination, destination_port, .. } =
            packet.five_tuple().unwrap();
        Ok(((source, source_port, destination, destination_port), verdict))
    }

    /// A datagram from a subscriber to a public port, which leaves and comes in again: how it
    /// leaves then.
    fn across(&mut self, from: Address, port: u16, to: u16) -> Result<Ends, Verdict> {
        let (ends, verdict) = self.udp(Port::INSIDE, (from, port, PUBLIC, to))?;
        assert_eq!(verdict, Redirect(HAIRPIN));
        let (ends, verdict) = self.udp(HAIRPIN, ends)?;
        assert_eq!(verdict, Transmit);
        Ok(ends)
    }

    /// From inside to the server; the public port that it leaves from.
    fn out(&mut self, from: Address, port: u16, to_port: u16) -> u16 {
        let (ends, verdict) = self.udp(Port::INSIDE, (from, port, SERVER, to_port)).unwrap();
        let (source, public, destination, destination_port) = ends;
        assert_eq!((source, destination, destination_port), (PUBLIC, SERVER, to_port));
        assert_eq!(verdict, Transmit);
        public
    }
}

/// The number of the block that has this port.
fn block(port: u16) -> u16 {
    (port - FIRST_PORT) / BLOCK
}

#[test]
fn a_subscriber_has_a_block_and_an_endpoint_one_port() {
    let mut nat = Nat::new();
    let first = nat.out(ALICE, 1_000, 80);
    assert_eq!(nat.out(ALICE, 1_000, 443), first, "wherever it sends to (RFC 4787, REQ-1)");
    let second = nat.out(ALICE, 1_001, 80);
    assert!(second != first && block(second) == block(first));
    assert_eq!(block(first), 1, "of the first subscriber's neighbour");
    assert_eq!(block(nat.out(BOB, 1_000, 80)), 2);
    // Bits 0 to 8 stay.
    assert_eq!((first % 512, second % 512), (1_000 % 512, 1_001 % 512));
    // The answer, and nobody else.
    let answer = nat.udp(Port::OUTSIDE, (SERVER, 443, PUBLIC, first)).unwrap();
    assert_eq!(answer, ((SERVER, 443, ALICE, 1_000), Transmit));
    assert_eq!(nat.udp(Port::OUTSIDE, (SERVER, 444, PUBLIC, first)), Err(Drop(NotAllowed)));
}

#[test]
fn a_block_has_four_ports_in_each_bucket() {
    let mut nat = Nat::new();
    let mut ports: Vec<u16> = (0..BLOCK).map(|port| nat.out(ALICE, 5_000 + port, 80)).collect();
    let its = block(ports[0]);
    assert!(ports.iter().all(|port| block(*port) == its));
    let keeps_parity = |(inside, port): (u16, &u16)| inside % 2 == port % 2;
    assert!((5_000..).zip(&ports).all(keeps_parity), "RFC 4787, REQ-4");
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), usize::from(BLOCK));
    let one_more = nat.udp(Port::INSIDE, (ALICE, 5_000 + BLOCK, SERVER, 80));
    assert_eq!(one_more, Err(Drop(BLOCK_USED_UP)));
    assert!(nat.tcp(Port::INSIDE, (ALICE, 5_000 + BLOCK, SERVER, 80), SYN).is_ok());
    // Others have their own.
    nat.out(BOB, 5_000 + BLOCK, 80);
    // What is not used any more is free again.
    nat.pass(310);
    assert_eq!(nat.held(), 0);
    assert_eq!(block(nat.out(ALICE, 5_000 + BLOCK, 80)), its);
}

#[test]
fn a_bucket_has_so_many_mappings() {
    let bucket = Bucket::new(9);
    let mut pool = Pool::from(bucket);
    let subscribers = Subscribers::default();
    let inside =
        |number: u32| Inside { address: Ipv4Addr::from_bits(0x0a00_0000 + number), port: 18 };
    let open = |pool: &mut Pool, number: u32| {
        let block = subscribers.block(inside(number).address).unwrap();
        (block, pool.open(block, inside(number), protocol::UDP))
    };
    for round in 0..20_u32 {
        let opened: Vec<(Block, BucketPort)> = (0..MAPPINGS as u32)
            .map(|number| open(&mut pool, number * 7 + round))
            .map(|(block, port)| (block, port.unwrap()))
            .collect();
        assert_eq!(open(&mut pool, 8_000).1, Err(NO_MAPPING_LEFT));
        for (number, (block, port)) in (0..).zip(&opened) {
            assert_eq!(open(&mut pool, number * 7 + round).1, Ok(*port), "the same");
            let owner = pool.owner(*block, port.number(), protocol::UDP);
            assert_eq!(owner, Some(inside(number * 7 + round)));
            assert_eq!(pool.owner(*block, port.number(), protocol::TCP), None);
            pool.close(*block, port.number(), protocol::UDP);
            assert_eq!(pool.owner(*block, port.number(), protocol::UDP), owner, "one is left");
            pool.close(*block, port.number(), protocol::UDP);
            assert_eq!(pool.owner(*block, port.number(), protocol::UDP), None);
        }
        assert_eq!(pool.held(), 0);
    }
}

/// The example of RFC 4787, section 6: both see the other's public address and port.
#[test]
fn one_inside_reaches_another_by_its_public_port() {
    let mut nat = Nat::new();
    let (alice, bob) = (nat.out(ALICE, 1_000, 80), nat.out(BOB, 2_000, 80));
    assert_ne!(Bucket::of_port(alice), Bucket::of_port(bob));
    for _ in 0..2 {
        assert_eq!(nat.across(ALICE, 1_000, bob), Ok((PUBLIC, alice, BOB, 2_000)));
        assert_eq!(nat.across(BOB, 2_000, alice), Ok((PUBLIC, bob, ALICE, 1_000)));
    }
    // Nobody outside can say that it comes from there.
    let forged = nat.udp(Port::OUTSIDE, (PUBLIC, alice + 1, PUBLIC, bob));
    assert_eq!(forged, Err(Drop(Land)));
    let other = Address::v4([192, 0, 2, 7]);
    assert_eq!(nat.udp(Port::OUTSIDE, (other, alice, PUBLIC, bob)), Err(Drop(NotAllowed)));
    assert_eq!(nat.udp(HAIRPIN, (PUBLIC, alice, PUBLIC, bob + 2)), Err(Drop(NO_MAPPING)));
}

#[test]
fn a_packet_that_turns_goes_back_to_the_link_that_it_came_from() {
    let mut nat = Nat::new();
    let bob = nat.out(BOB, 2_000, 80);
    let mut frame = cora::testing::udp(([10, 0, 0, 1], 1_000), ([192, 0, 2, 6], bob), b"");
    let (from, to) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    assert_eq!(nat.frame(Port::INSIDE, &mut frame).unwrap().1, Redirect(HAIRPIN));
    assert_eq!((&frame[..6], &frame[6..12]), (&from[..], &to[..]));
}

#[test]
fn a_hairpin_keeps_both_mappings_alive() {
    let mut nat = Nat::new();
    let bob = nat.out(BOB, 2_000, 80);
    let alice = nat.across(ALICE, 1_000, bob).unwrap().1;
    for _ in 0..10 {
        nat.pass(200);
        assert_eq!(nat.across(ALICE, 1_000, bob), Ok((PUBLIC, alice, BOB, 2_000)));
    }
    assert_eq!(nat.out(BOB, 2_000, 81), bob, "still Bob's");
    nat.pass(310);
    assert_eq!(nat.held(), 0);
}

#[test]
fn to_a_port_that_nobody_has_there_is_no_way() {
    let mut nat = Nat::new();
    for port in [40_000, 80] {
        assert_eq!(nat.across(ALICE, 1_000, port), Err(Drop(NO_MAPPING)));
    }
    let stranger = Address::v4([172, 16, 0, 1]);
    assert_eq!(nat.udp(Port::INSIDE, (stranger, 1, SERVER, 80)), Err(Drop(NO_SUBSCRIBER)));
}

#[test]
fn a_subscribers_address_says_its_block() {
    let read = |text: &str| Subscribers::configure(text);
    let subscribers = read("100.64.0.0/20 192.0.2.1 # here\n\n10.5.0.0/30 198.51.100.0\n").unwrap();
    let block = |address: [u8; 4]| {
        let block = subscribers.block(Ipv4Addr::from(address))?;
        Some((block.public.octets(), block.number))
    };
    assert_eq!(block([100, 64, 0, 0]), Some(([192, 0, 2, 1], 0)));
    assert_eq!(block([100, 64, 0, 62]), Some(([192, 0, 2, 1], 62)));
    assert_eq!(block([100, 64, 0, 63]), Some(([192, 0, 2, 2], 0)));
    assert_eq!(block([100, 64, 15, 255]), Some(([192, 0, 2, 66], 0)));
    assert_eq!(block([10, 5, 0, 3]), Some(([198, 51, 100, 0], 3)));
    assert_eq!((block([100, 64, 16, 0]), block([10, 5, 0, 4])), (None, None));
    let shared =
        [[192, 0, 2, 0], [192, 0, 2, 1], [192, 0, 2, 66], [192, 0, 2, 67], [198, 51, 100, 0]];
    let shared = shared.map(|address| subscribers.share(Ipv4Addr::from(address)));
    assert_eq!(shared, [false, true, true, false, true]);
    for (text, fault) in [
        ("100.64.0.0/20", "a line is"),
        ("100.64.0.0 192.0.2.1", "a line is"),
        ("100.64.0.1/20 192.0.2.1", "begins at a multiple"),
        ("0.0.0.0/0 192.0.2.1", "8 to 32 bits"),
        ("10.0.0.0/8 255.255.255.1", "fewer public addresses"),
        ("10.0.0.0/24 192.0.2.1\n10.0.0.128/25 192.0.2.9", "overlap"),
        ("10.0.0.0/24 192.0.2.1\n10.1.0.0/24 192.0.2.2", "overlap"),
    ] {
        let told = read(text).map(|_| ()).expect_err(text);
        assert!(told.contains(fault), "{text}: {told}");
    }
    // Every port from the first on is of one block, and of one bucket there.
    let mut ports: Vec<u16> = (0..BLOCKS as u8)
        .flat_map(|number| Bucket::all().map(move |bucket| (number, bucket)))
        .flat_map(|(number, bucket)| PORTS.map(move |nth| (number, bucket, nth.into())))
        .map(|(number, bucket, nth)| {
            let block = Block { number, ..Block::NONE };
            let port = port_of(block, bucket, nth).unwrap().number();
            assert_eq!(
                (Block::of(block.public, port), Bucket::of_port(port)),
                (Some(block), bucket)
            );
            port
        })
        .collect();
    ports.sort_unstable();
    assert!(ports.into_iter().eq(FIRST_PORT..=u16::MAX));
}

const SYN: u8 = 2;
const ACK: u8 = 0x10;
const FIN_ACK: u8 = 0x11;
const SYN_ACK: u8 = 0x12;

impl Nat {
    /// A connection of Alice's from this port to that one of the server; its public port.
    fn connect(&mut self, port: u16, to_port: u16) -> u16 {
        let there = (ALICE, port, SERVER, to_port);
        let public = self.tcp(Port::INSIDE, there, SYN).unwrap().0.1;
        let back = (SERVER, to_port, PUBLIC, public);
        self.all_pass(&[(Port::OUTSIDE, back, SYN_ACK), (Port::INSIDE, there, ACK)]);
        public
    }

    fn close(&mut self, port: u16, to_port: u16, public: u16) {
        let (there, back) = ((ALICE, port, SERVER, to_port), (SERVER, to_port, PUBLIC, public));
        let (inside, outside) = (Port::INSIDE, Port::OUTSIDE);
        self.all_pass(&[(inside, there, FIN_ACK), (outside, back, FIN_ACK), (inside, there, ACK)]);
    }

    fn all_pass(&mut self, segments: &[(Port, Ends, u8)]) {
        for (port, ends, flags) in segments {
            assert!(self.tcp(*port, *ends, *flags).is_ok(), "{flags:#x}");
        }
    }

    fn is_mapped(&self, port: u16) -> bool {
        let block = Block::of(v4(PUBLIC), port).unwrap();
        self.pool[Bucket::of_port(port)].owner(block, port, protocol::TCP).is_some()
    }
}

#[test]
fn a_mapping_lives_as_long_as_its_last_session() {
    let mut nat = Nat::new();
    let public = nat.connect(1_000, 80);
    nat.pass(7_400);
    assert!(nat.is_mapped(public), "an established connection is silent for two hours");
    assert_eq!(nat.connect(1_000, 443), public);
    nat.close(1_000, 80, public);
    nat.pass(7_300);
    assert!(nat.is_mapped(public), "the other one lives");
    nat.close(1_000, 443, public);
    nat.pass(239);
    assert!(nat.is_mapped(public));
    nat.pass(3);
    assert!(!nat.is_mapped(public), "four minutes after the last one");
    // Again from the same ends: a SYN where the last one is over.
    let public = nat.connect(1_000, 80);
    nat.close(1_000, 80, public);
    assert_eq!(nat.connect(1_000, 80), public);
    nat.pass(7_400);
    assert!(nat.is_mapped(public));
}

#[test]
fn nothing_but_an_opening_takes_a_port() {
    let mut nat = Nat::new();
    for flags in [0, FIN_ACK, SYN_ACK, 4, SYN | 1] {
        let opened = nat.tcp(Port::INSIDE, (ALICE, 1_000, SERVER, 80), flags);
        assert_eq!(opened, Err(Drop(BadTcpState)), "{flags:#x}");
    }
    let ping = |kind, from: [u8; 4], to: [u8; 4]| {
        let [high, low] = (!(u16::from(kind) << 8 | 8)).to_be_bytes();
        cora::testing::ipv4(from, to, 64, protocol::ICMP, &[kind, 0, high, low, 0, 7, 0, 1])
    };
    let (alice, server, public) = ([10, 0, 0, 1], [198, 51, 100, 9], [192, 0, 2, 6]);
    for (mut frame, reason) in [
        (ping(0, alice, server), NotAllowed),
        (ping(8, alice, public), NO_MAPPING),
        (ping(8, [127, 0, 0, 1], server), MartianSource),
        (ping(8, alice, [169, 254, 0, 1]), MartianDestination),
        (ping(8, public, server), MartianSource),
        (ping(8, alice, alice), Land),
    ] {
        assert_eq!(nat.frame(Port::INSIDE, &mut frame), Err(Drop(reason)));
    }
    assert_eq!(nat.held(), 0);
    assert!(nat.frame(Port::INSIDE, &mut ping(8, alice, server)).is_ok());
}

#[test]
fn who_dials_itself_hears_itself() {
    let mut nat = Nat::new();
    let port = nat.out(ALICE, 1_000, 80);
    assert_eq!(nat.across(ALICE, 1_000, port), Ok((PUBLIC, port, ALICE, 1_000)));
}
