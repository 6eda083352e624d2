//! The handler, packet by packet.

use super::pool::{BLOCK, BLOCK_USED_UP, FIRST_PORT, NO_BLOCK_LEFT};
use super::*;

const ALICE: Address = Address::v4([10, 0, 0, 1]);
const BOB: Address = Address::v4([10, 0, 0, 2]);
const SERVER: Address = Address::v4([198, 51, 100, 9]);

/// The program, and the time (s).
struct Nat {
    sessions: cora::testing::TestTable<Session>,
    pool: Pool,
    now: u64,
}

/// Who sends to whom, as it stands in a packet.
type Ends = (Address, u16, Address, u16);

impl Nat {
    fn new() -> Self {
        Self { sessions: cora::testing::table(), pool: Pool::default(), now: 100 }
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
        let verdict = carrier_nat(&mut packet, &mut self.sessions, &mut self.pool);
        if verdict.is_err() {
            return Err(verdict);
        }
        assert!(checksum::verify(&packet), "{packet:?}");
        let FiveTuple { source, source_port, destination, destination_port, .. } =
            packet.five_tuple().unwrap();
        Ok(((source, source_port, destination, destination_port), verdict))
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

fn block(port: u16) -> usize {
    usize::from(port) / BLOCK
}

#[test]
fn a_subscriber_has_a_block_and_an_endpoint_one_port() {
    let mut nat = Nat::new();
    let first = nat.out(ALICE, 1_000, 80);
    assert_eq!(nat.out(ALICE, 1_000, 443), first, "wherever it sends to (RFC 4787, REQ-1)");
    let second = nat.out(ALICE, 1_001, 80);
    assert!(second != first && block(second) == block(first));
    assert_ne!(block(nat.out(BOB, 1_000, 80)), block(first));
    // The answer, and nobody else.
    let answer = nat.udp(Port::OUTSIDE, (SERVER, 443, PUBLIC, first)).unwrap();
    assert_eq!(answer, ((SERVER, 443, ALICE, 1_000), Transmit));
    assert_eq!(nat.udp(Port::OUTSIDE, (SERVER, 444, PUBLIC, first)), Err(Drop(NotAllowed)));
}

#[test]
fn a_block_has_so_many_ports_and_is_anothers_when_all_leases_ended() {
    let mut nat = Nat::new();
    let mut ports: Vec<u16> = (0..BLOCK as u16).map(|port| nat.out(ALICE, port, 80)).collect();
    let its = block(ports[0]);
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), BLOCK);
    let one_more = nat.udp(Port::INSIDE, (ALICE, 5_000, SERVER, 80));
    assert_eq!(one_more, Err(Drop(BLOCK_USED_UP)));
    // All other blocks to others.
    for number in 0..511_u16 {
        let [high, low] = number.to_be_bytes();
        assert_ne!(block(nat.out(Address::v4([10, 1, high, low]), 7, 80)), its);
    }
    assert_eq!(nat.udp(Port::INSIDE, (BOB, 7, SERVER, 80)), Err(Drop(NO_BLOCK_LEFT)));
    // One session of Alice's goes on, so her block stays hers; the others' are free.
    nat.now += 290;
    let kept = nat.out(ALICE, 9, 80);
    nat.now += 290;
    assert_eq!(nat.out(ALICE, 9, 80), kept);
    nat.now += 290;
    assert_eq!(nat.out(ALICE, 9, 80), kept);
    assert_ne!(block(nat.out(BOB, 7, 80)), its);
    assert_eq!(block(nat.out(ALICE, 5_000, 80)), its, "and what was used up is free again");
}

/// The example of RFC 4787, section 6: both see the other's public address and port.
#[test]
fn one_inside_reaches_another_by_its_public_port() {
    let mut nat = Nat::new();
    let (alice, bob) = (nat.out(ALICE, 1_000, 80), nat.out(BOB, 2_000, 80));
    let inside = Redirect(Port::INSIDE);
    let there = nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, bob)).unwrap();
    assert_eq!(there, ((PUBLIC, alice, BOB, 2_000), inside));
    let back = nat.udp(Port::INSIDE, (BOB, 2_000, PUBLIC, alice)).unwrap();
    assert_eq!(back, ((PUBLIC, bob, ALICE, 1_000), inside));
    let again = nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, bob)).unwrap();
    assert_eq!(again, there);
}

#[test]
fn a_hairpin_keeps_both_mappings_alive() {
    let mut nat = Nat::new();
    let bob = nat.out(BOB, 2_000, 80);
    let alice = nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, bob)).unwrap().0.1;
    for _ in 0..10 {
        nat.now += 200;
        let there = nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, bob)).unwrap().0;
        assert_eq!(there, (PUBLIC, alice, BOB, 2_000));
    }
    assert_eq!(nat.out(BOB, 2_000, 81), bob, "still Bob's");
}

#[test]
fn to_a_port_that_nobody_has_there_is_no_way() {
    let mut nat = Nat::new();
    let asked = nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, 40_000));
    assert_eq!(asked, Err(Drop(NO_MAPPING)));
    assert_eq!(nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, 80)), Err(Drop(NO_MAPPING)));
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
        self.pool.owner(port, protocol::TCP, self.now as u32).is_some()
    }
}

#[test]
fn a_mapping_lives_as_long_as_its_last_session() {
    let mut nat = Nat::new();
    let public = nat.connect(1_000, 80);
    nat.now += 7_400;
    assert!(nat.is_mapped(public), "an established connection is silent for two hours");
    assert_eq!(nat.connect(1_000, 443), public);
    nat.close(1_000, 80, public);
    nat.now += 7_300;
    assert!(nat.is_mapped(public), "the other one lives");
    nat.close(1_000, 443, public);
    nat.now += 239;
    assert!(nat.is_mapped(public));
    nat.now += 65;
    assert!(!nat.is_mapped(public), "five minutes after the last one");
    // Again from the same ends: a SYN where the last one is over.
    let public = nat.connect(1_000, 80);
    nat.close(1_000, 80, public);
    assert_eq!(nat.connect(1_000, 80), public);
    nat.now += 7_400;
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
    let (alice, server, public) = ([10, 0, 0, 1], [198, 51, 100, 9], [192, 0, 2, 1]);
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
    assert!(
        (FIRST_PORT..=u16::MAX).all(|port| nat.pool.owner(port, protocol::ICMP, 100).is_none())
    );
    assert!(nat.frame(Port::INSIDE, &mut ping(8, alice, server)).is_ok());
}

#[test]
fn who_dials_itself_hears_itself() {
    let mut nat = Nat::new();
    let port = nat.out(ALICE, 1_000, 80);
    let heard = nat.udp(Port::INSIDE, (ALICE, 1_000, PUBLIC, port)).unwrap();
    assert_eq!(heard, ((PUBLIC, port, ALICE, 1_000), Redirect(Port::INSIDE)));
}
