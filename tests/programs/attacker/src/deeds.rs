//! The attacker's deeds where the agent runs it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cora_core::packet::{Meta, Port};
use cora_runtime::link::message::{Kind, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::link::region::{NicStatus, Region};
use cora_runtime::link::ring::{Consumer, Producer};

use crate::memory::{inherited, layout, map, nap, orders, region};

/// A deed on the attacker's region, with addresses to forge; it ends when it likes.
type Deed = fn(&Scene) -> ExitCode;

/// The ways to do harm, by name. Those that only lie to the agent begin as an idle half.
pub(crate) const WAYS: [(&str, Deed); 14] = [
    ("idle", |scene| scene.turns(|_, _| ())),
    ("hang", |scene| scene.turns(|_, _| spin())),
    ("sleep", |scene| scene.turns(|_, _| nap(Duration::from_secs(1_000)))),
    ("burn", |scene| scene.burn()),
    ("forge", |scene| scene.turns(forge)),
    ("flood", |scene| scene.turns(flood)),
    ("scribble", |scene| scene.turns(Scene::scribble)),
    ("rush", |scene| scene.rush()),
    ("open", |_| told(std::fs::read("/etc/passwd").is_ok())),
    ("socket", |_| told(std::net::UdpSocket::bind("0.0.0.0:0").is_ok())),
    ("kill", |_| told(rustix::process::test_kill_process(rustix::process::Pid::INIT).is_ok())),
    ("fork", |_| told(std::process::Command::new("/bin/true").spawn().is_ok())),
    ("hoard", |_| hoard()),
    ("fault", |_| std::process::abort()),
];

/// A region, and the addresses to forge.
pub(crate) struct Scene {
    words: &'static [AtomicU64],
    region: Region,
    addresses: [u64; 4],
}

/// Does the deed that the client ordered.
pub(crate) fn harm(file: i32, length: usize) -> ExitCode {
    let words = map(inherited(file), length);
    let (way, addresses) = orders(words);
    let scene = Scene { words, region: region(words), addresses };
    scene.region.set_nic_status(NicStatus::Ready);
    match WAYS.get(way as usize) {
        Some((_, deed)) => deed(&scene),
        None => ExitCode::FAILURE,
    }
}

/// Whether it could, in its exit status.
fn told(could: bool) -> ExitCode {
    if could { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

/// Takes all memory there is.
fn hoard() -> ExitCode {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for _ in 0..1_000_000 {
        let mut more = Vec::new();
        if more.try_reserve_exact(1 << 20).is_err() {
            break;
        }
        more.resize(1 << 20, 1);
        all.push(more);
    }
    // More than an agent lets it have.
    told(all.len() > 512)
}

impl Scene {
    /// Does something in each turn, and ends it.
    fn turns(&self, mut each: impl FnMut(&Self, u64)) -> ExitCode {
        let mut seen = 1;
        loop {
            let turn = self.region.turn();
            if turn == seen {
                nap(Duration::from_micros(20));
                continue;
            }
            seen = turn;
            let mut wire = Consumer::new(self.region.rings().wire_in);
            let mut buffer = vec![0; 1 << 16];
            while let Ok(Some(_)) = wire.pop(&mut buffer) {}
            wire.release();
            each(self, turn);
            self.region.end_turn(turn);
            cora_runtime::link::region::wake(&self.region.agent_bell(Rings));
        }
    }

    /// Works all the time, in its turns and outside of them.
    fn burn(&self) -> ExitCode {
        loop {
            self.region.end_turn(self.region.turn());
            std::hint::spin_loop();
        }
    }

    /// Sends all the time, whosever turn it is.
    fn rush(&self) -> ExitCode {
        let mut out = Producer::new(self.region.rings().wire_out);
        let frame = datagram(self.addresses[0], self.addresses[2], &[7; 1400]);
        loop {
            self.region.end_turn(self.region.turn());
            let _full = out.push_behind(Kind::Frame.number(), &stamp().words(), &frame);
            out.publish();
        }
    }

    /// Writes nonsense over rings and header: other nonsense in each turn.
    fn scribble(&self, turn: u64) {
        let mut random = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let words = &self.words[..layout().bytes() / 8];
        for _ in 0..4_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % words.len();
            words[at].store(random, Ordering::Relaxed);
        }
        // The indices of all rings, which begin at whole lines behind the header.
        for word in words.iter().skip(2048).take(64) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            word.store(random >> (random % 64), Ordering::Relaxed);
        }
    }
}

/// Sends in the name of others: from the victim to its client, from strangers, to other ports, and
/// frames that are no packets at all.
fn forge(scene: &Scene, _: u64) {
    let mut out = Producer::new(scene.region.rings().wire_out);
    let [own, victim, client, _] = scene.addresses;
    let elsewhere = own ^ 0x0100_0000;
    let lie = b"forged!!forged!!forged!!";
    for (egress, frame) in [
        (1, datagram(victim, client, lie)),
        (0, datagram(client, victim, lie)),
        (1, datagram(elsewhere, client, lie)),
        (1, fragment(own, client)),
        (5, datagram(own, client, lie)),
        (1, vec![0xff; 60]),
        (1, Vec::new()),
        (1, arp(victim)),
    ] {
        let stamp = Stamp { egress: Port(egress), ..stamp() };
        let _full = out.push_behind(Kind::Frame.number(), &stamp.words(), &frame);
    }
    out.publish();
}

/// Sends as much as its ring takes, in its own name.
fn flood(scene: &Scene, _: u64) {
    let mut out = Producer::new(scene.region.rings().wire_out);
    let frame = datagram(scene.addresses[0], scene.addresses[2], &[7; 1400]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1)
        && out.push_behind(Kind::Frame.number(), &stamp().words(), &frame).is_ok()
    {}
    out.publish();
}

fn stamp() -> Stamp {
    let meta = Meta { port: Port::OUTSIDE, ..Meta::default() };
    Stamp { meta, number: 0, horizon: 0, egress: Port::OUTSIDE, parked: Parked::NONE, missing: 0 }
}

/// A UDP datagram in Ethernet, without a UDP checksum.
fn datagram(from: u64, to: u64, payload: &[u8]) -> Vec<u8> {
    packet(from, to, payload, 0)
}

/// The first fragment of one.
fn fragment(from: u64, to: u64) -> Vec<u8> {
    packet(from, to, &[1; 40], 0x2000)
}

fn packet(from: u64, to: u64, payload: &[u8], flags: u16) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 66, 8, 0]);
    let length = (28 + payload.len()) as u16;
    let mut head = vec![0x45, 0];
    head.extend(length.to_be_bytes());
    head.extend([0, 9]);
    head.extend(flags.to_be_bytes());
    head.extend([64, 17, 0, 0]);
    head.extend(((from >> 16) as u32).to_be_bytes());
    head.extend(((to >> 16) as u32).to_be_bytes());
    let words = head.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    head[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(head);
    frame.extend((from as u16).to_be_bytes());
    frame.extend((to as u16).to_be_bytes());
    frame.extend((8 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

/// Says by ARP that the victim's address is here.
fn arp(victim: u64) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 66, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 66]);
    frame.extend(((victim >> 16) as u32).to_be_bytes());
    frame.extend([0xff; 6]);
    frame.extend(((victim >> 16) as u32).to_be_bytes());
    frame.resize(60, 0);
    frame
}

/// Rings the agent, which may sleep.
#[derive(Clone, Copy)]
struct Rings;

impl cora_runtime::link::region::Futex for Rings {
    fn wait(&self, _: &AtomicU64, _: u32, _: Duration) {}

    fn wake(&self, word: &AtomicU64) {
        crate::memory::wake(word);
    }
}
