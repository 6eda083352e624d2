//! The handler, packet by packet.

use super::*;

const HOST: Address = Address::v6([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
const ROUTER: Address = Address::v6([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
const SERVER: Address = Address::v4([198, 51, 100, 9]);
const FAR_ROUTER: Address = Address::v4([198, 51, 100, 1]);

/// Memory of a frame, with room behind it.
struct Wire {
    memory: [u8; 512],
    length: usize,
}

impl Wire {
    fn of(frame: &[u8]) -> Self {
        let mut memory = [0xee; 512];
        memory[..frame.len()].copy_from_slice(frame);
        Self { memory, length: frame.len() }
    }

    fn frame(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    fn packet(&mut self, meta: Meta) -> Packet<'_> {
        let room = self.length + ROOM;
        Packet::in_room(Roomy::new(&mut self.memory[..room], self.length), meta)
    }

    fn flow(&self) -> FiveTuple {
        let mut frame = self.frame().to_vec();
        let packet = Packet::new(&mut frame, Meta::default());
        assert!(checksum::verify(&packet), "{packet:?}");
        packet.flow().unwrap()
    }
}

/// A packet of these ends around a transport; it corrects the transport's checksum.
fn ip(ends: [Address; 2], protocol: u8, transport: &[u8]) -> Vec<u8> {
    let [source, destination] = ends;
    let length = transport.len() as u16;
    let mut bytes = match (source.as_v4(), destination.as_v4()) {
        (Some(source), Some(destination)) => {
            let mut head = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
            head[2..4].copy_from_slice(&(20 + length).to_be_bytes());
            head.extend_from_slice(&[source, destination].concat());
            let sum = checksum::internet(&head);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            head
        }
        _ => {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
            head[4..6].copy_from_slice(&length.to_be_bytes());
            head.extend_from_slice(&[source.octets(), destination.octets()].concat());
            head
        }
    };
    let at = bytes.len() + if protocol == protocol::UDP { 6 } else { 2 };
    bytes.extend_from_slice(transport);
    let transport = &bytes[bytes.len() - usize::from(length)..];
    let sum = match protocol {
        protocol::ICMP => checksum::internet(transport),
        _ => checksum::transport(source, destination, protocol, transport),
    };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn ethernet(packet: &[u8]) -> Wire {
    let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    Wire::of(&[&[2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa], &kind[..], packet].concat())
}

fn udp(ends: [Address; 2], from: u16, to: u16) -> Vec<u8> {
    let head = [from.to_be_bytes(), to.to_be_bytes(), [0, 12], [0, 0]].concat();
    ip(ends, protocol::UDP, &[&head[..], b"data"].concat())
}

/// An echo: its type tells the version and the direction.
fn echo(ends: [Address; 2], kind: u8, identifier: u16) -> Vec<u8> {
    let [high, low] = identifier.to_be_bytes();
    let protocol = if ends[0].is_v4() { protocol::ICMP } else { protocol::ICMPV6 };
    ip(ends, protocol, &[kind, 0, 0, 0, high, low, 0, 1, 1, 2, 3, 4])
}

struct Box64 {
    sessions: cora::testing::TestTable<Session>,
    ports: Box<PortPool>,
}

impl Box64 {
    fn new() -> Self {
        Self { sessions: cora::testing::table(), ports: Box::new(PortPool::from(Bucket::new(0))) }
    }

    fn handle(&mut self, wire: &mut Wire, port: Port, second: u64) -> Verdict {
        let now = second * SECOND;
        let mut packet = wire.packet(Meta { time: now, now, port, ..Meta::default() });
        let verdict = nat64(&mut packet, &mut self.sessions, &mut self.ports);
        wire.length = packet.len();
        verdict
    }
}

fn tuple(ends: [Address; 2], ports: [u16; 2], protocol: u8) -> FiveTuple {
    let [source, destination] = ends;
    let [source_port, destination_port] = ports;
    FiveTuple { source, destination, source_port, destination_port, protocol }
}

#[test]
fn a_question_goes_out_and_its_answer_comes_in() {
    let mut nat = Box64::new();
    let mut out = ethernet(&udp([HOST, embed(SERVER)], 5000, 53));
    assert_eq!(nat.handle(&mut out, Port::INSIDE, 1), Transmit);
    let sent = out.flow();
    assert_eq!(sent, tuple([PUBLIC, SERVER], [FIRST_PORT, 53], protocol::UDP));
    assert_eq!(out.frame()[22], 63, "a router more");
    let mut back = ethernet(&udp([SERVER, PUBLIC], 53, FIRST_PORT));
    assert_eq!(nat.handle(&mut back, Port::OUTSIDE, 2), Transmit);
    assert_eq!(back.flow(), tuple([embed(SERVER), HOST], [53, 5000], protocol::UDP));
    assert_eq!(&back.frame()[14 + 48..], b"data");
}

#[test]
fn pings_go_by_their_identifier() {
    let mut nat = Box64::new();
    let mut out = ethernet(&echo([HOST, embed(SERVER)], 128, 99));
    assert_eq!(nat.handle(&mut out, Port::INSIDE, 1), Transmit);
    assert_eq!(out.flow(), tuple([PUBLIC, SERVER], [FIRST_PORT; 2], protocol::ICMP));
    let mut back = ethernet(&echo([SERVER, PUBLIC], 0, FIRST_PORT));
    assert_eq!(nat.handle(&mut back, Port::OUTSIDE, 2), Transmit);
    assert_eq!(back.flow(), tuple([embed(SERVER), HOST], [99; 2], protocol::ICMPV6));
    assert_eq!(back.frame()[54], 129, "an echo reply");
}

#[test]
fn complaints_reach_whom_they_are_about() {
    let mut nat = Box64::new();
    let mut out = ethernet(&udp([HOST, embed(SERVER)], 5000, 53));
    nat.handle(&mut out, Port::INSIDE, 1).unwrap();
    // A router far away can't deliver it: too big, for its next link takes 1400 bytes.
    let quoted = out.frame()[14..].to_vec();
    let message = [&[3, 4, 0, 0, 0, 0, 5, 120], &quoted[..]].concat();
    let mut back = ethernet(&ip([FAR_ROUTER, PUBLIC], protocol::ICMP, &message));
    assert_eq!(nat.handle(&mut back, Port::OUTSIDE, 2), Transmit);
    assert_eq!(back.flow(), tuple([embed(SERVER), HOST], [53, 5000], protocol::UDP));
    assert_eq!(back.frame()[14 + 8..14 + 24], embed(FAR_ROUTER).octets());
    assert_eq!(back.frame()[54..62], [2, 0, back.frame()[56], back.frame()[57], 0, 0, 5, 140]);
    // And a router inside can't deliver the answer.
    let mut answer = ethernet(&udp([SERVER, PUBLIC], 53, FIRST_PORT));
    nat.handle(&mut answer, Port::OUTSIDE, 3).unwrap();
    let message = [&[1, 4, 0, 0, 0, 0, 0, 0], &answer.frame()[14..]].concat();
    let mut out = ethernet(&ip([ROUTER, embed(SERVER)], protocol::ICMPV6, &message));
    assert_eq!(nat.handle(&mut out, Port::INSIDE, 4), Transmit);
    assert_eq!(out.flow(), tuple([PUBLIC, SERVER], [FIRST_PORT, 53], protocol::UDP));
    assert_eq!(out.frame()[34..36], [3, 3]);
}

#[test]
fn nobody_outside_may_open() {
    let mut nat = Box64::new();
    let mut knock = ethernet(&udp([SERVER, PUBLIC], 53, FIRST_PORT));
    assert_eq!(nat.handle(&mut knock, Port::OUTSIDE, 1), Drop(NotAllowed));
}

#[test]
fn what_is_not_for_the_translator_passes_as_it_came() {
    let elsewhere = Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    for (packet, port) in [
        (udp([HOST, elsewhere], 1, 2), Port::INSIDE),
        (udp([elsewhere, HOST], 1, 2), Port::OUTSIDE),
        (udp([SERVER, FAR_ROUTER], 1, 2), Port::OUTSIDE),
    ] {
        let mut wire = ethernet(&packet);
        assert_eq!(Box64::new().handle(&mut wire, port, 1), Transmit);
        assert_eq!(wire.frame()[14..], packet);
    }
}

#[test]
fn ports_are_reused_only_when_no_session_has_them() {
    let mut nat = Box64::new();
    for from in 0..PORTS as u16 {
        let mut out = ethernet(&udp([HOST, embed(SERVER)], from, 53));
        assert_eq!(nat.handle(&mut out, Port::INSIDE, 1), Transmit);
    }
    let mut one_more = ethernet(&udp([HOST, embed(FAR_ROUTER)], 7, 53));
    assert_eq!(nat.handle(&mut one_more, Port::INSIDE, 2), Drop(NO_PORT_LEFT));
    // Five minutes of silence, and at most two more.
    assert_eq!(nat.handle(&mut one_more, Port::INSIDE, 301), Drop(NO_PORT_LEFT));
    assert_eq!(nat.handle(&mut one_more, Port::INSIDE, 301 + 120), Transmit);
}

/// How many ports are leased then.
fn leased(nat: &Box64, second: u32) -> usize {
    nat.ports.leased_until.iter().filter(|until| **until > second).count()
}

#[test]
fn the_prefix_stands_for_public_servers_alone() {
    let mut nat = Box64::new();
    for (server, reason) in [
        ([10, 0, 0, 1], NOT_PUBLIC),
        ([172, 31, 0, 1], NOT_PUBLIC),
        ([192, 168, 1, 1], NOT_PUBLIC),
        ([100, 64, 0, 1], NOT_PUBLIC),
        ([127, 0, 0, 1], NOT_PUBLIC),
        ([169, 254, 169, 254], NOT_PUBLIC),
        ([0, 0, 0, 0], NOT_PUBLIC),
        ([224, 0, 0, 1], NOT_PUBLIC),
        ([255, 255, 255, 255], NOT_PUBLIC),
        ([192, 0, 2, 64], Hairpin),
    ] {
        let mut out = ethernet(&udp([HOST, embed(Address::v4(server))], 5000, 53));
        assert_eq!(nat.handle(&mut out, Port::INSIDE, 1), Drop(reason), "{server:?}");
    }
    for (host, reason) in [(embed(SERVER), MartianSource), (Address::v6([0; 16]), MartianSource)] {
        let mut out = ethernet(&udp([host, embed(FAR_ROUTER)], 5000, 53));
        assert_eq!(nat.handle(&mut out, Port::INSIDE, 1), Drop(reason), "{host}");
    }
    assert_eq!(leased(&nat, 1), 0);
}

#[test]
fn what_is_not_translated_takes_no_port() {
    let mut nat = Box64::new();
    let question = udp([HOST, embed(SERVER)], 5000, 53);
    let mut last_hop = question.clone();
    last_hop[7] = 1;
    let mut damaged = echo([HOST, embed(SERVER)], 128, 9);
    damaged[42] ^= 1;
    let answer = echo([HOST, embed(SERVER)], 129, 9);
    let reason = |nat: &mut Box64, packet: &[u8]| {
        nat.handle(&mut ethernet(packet), Port::INSIDE, 1).unwrap_err().reason().unwrap().name()
    };
    assert_eq!(reason(&mut nat, &last_hop), "ttl-exceeded");
    assert_eq!(reason(&mut nat, &damaged), "bad-checksum");
    assert_eq!(reason(&mut nat, &answer), "not-allowed");
    // A router's error about nothing that is known.
    let quoted = udp([embed(SERVER), HOST], 53, 5000);
    let message = [&[1, 4, 0, 0, 0, 0, 0, 0], &quoted[..]].concat();
    let about = ip([ROUTER, embed(SERVER)], protocol::ICMPV6, &message);
    assert_eq!(reason(&mut nat, &about), "not-allowed");
    assert_eq!(leased(&nat, 1), 0);
    nat.handle(&mut ethernet(&question), Port::INSIDE, 1).unwrap();
    assert_eq!(leased(&nat, 1), 1);
}
