//! A region in two memories, over a network with faults: a wire, a host half and a NIC half use it
//! as if it were one. Halves and cards die.
//!
//! `CORA_LINK_SEEDS` says how many seeds a long run has.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod network;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use cora_link::mirror::host::Standing;
use cora_link::mirror::{CardMirror, Hello, HostMirror, Memory};
use cora_link::{Addresses, End, Settings};
use cora_runtime::link::message::Kind;
use cora_runtime::link::region::{
    Futex, HashSeed, Identity, NicStatus, Region, RegionLayout, generation,
};
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};
use network::{Draw, Network};

const HOST: Addresses = Addresses { own: [2, 0, 0, 0, 0, 1], peer: [2, 0, 0, 0, 0, 2] };
const CARD: Addresses = Addresses { own: HOST.peer, peer: HOST.own };
const RINGS: [usize; 4] = [1 << 12; 4];
const PLAN: u64 = 7;

/// Nobody sleeps here.
#[derive(Clone, Copy, Debug)]
struct Nobody;

impl Futex for Nobody {
    fn wait(&self, _: &AtomicU64, _: u32, _: Duration) {}
    fn wake(&self, _: &AtomicU64) {}
}

fn layout() -> RegionLayout {
    RegionLayout::new(RINGS).unwrap()
}

fn memory() -> &'static [AtomicU64] {
    let words: Vec<_> = (0..2 * layout().bytes() / 8).map(|_| AtomicU64::new(0)).collect();
    words.leak()
}

fn make(file: &'static [AtomicU64], generation: u64) -> Region {
    let seed = HashSeed(3);
    let identity = Identity { plan: PLAN, generation, seed, resident: false, afresh: false };
    let place = generation::place(file, generation);
    let region = Region::create(place, &layout(), identity).unwrap();
    generation::announce(file, generation);
    region
}

type From = Consumer<SharedMemory>;
type To = Producer<SharedMemory>;

fn pop(ring: &mut From) -> Option<u64> {
    let mut buffer = [0; 2048];
    let popped = ring.pop(&mut buffer).unwrap()?;
    // Its length follows from its number, and so do its bytes.
    let number = u64::from_le_bytes(buffer[..8].try_into().unwrap());
    assert_eq!(popped.len, length(number));
    assert!(buffer[8..popped.len].iter().all(|byte| *byte == number as u8));
    Some(number)
}

fn length(number: u64) -> usize {
    8 + (number.wrapping_mul(0x9e37_79b9) % 300) as usize
}

fn push(ring: &mut To, kind: Kind, number: u64) -> bool {
    let body = vec![number as u8; length(number) - 8];
    ring.push(kind.number(), &[&number.to_le_bytes(), &body]).is_ok()
}

/// A NIC half: says what it takes from the wire to the host, and then sends it.
struct Nic {
    file: &'static [AtomicU64],
    region: Region,
    wire: From,
    back: From,
    punt: To,
    out: To,
    /// The last message from the host.
    heard: Option<u64>,
}

impl Nic {
    fn attach(file: &'static [AtomicU64], heard: Option<u64>) -> Self {
        let generation = generation::current(file);
        let region = Region::attach(generation::place(file, generation), PLAN).unwrap();
        region.set_nic_status(NicStatus::Ready);
        let rings = region.rings();
        let (wire, back) = (Consumer::new(rings.wire_in), Consumer::new(rings.back));
        let (punt, out) = (Producer::new(rings.punt), Producer::new(rings.wire_out));
        Self { file, region, wire, back, punt, out, heard }
    }

    fn hear(&mut self) {
        while let Some(number) = pop(&mut self.back) {
            assert!(self.heard.is_none_or(|heard| number == heard + 1), "{:?}", self.heard);
            self.heard = Some(number);
        }
        self.back.release();
    }

    fn step(&mut self, most: u64) {
        if generation::is_followed(self.file, self.region.identity().generation) {
            self.hear();
            *self = Self::attach(self.file, self.heard);
            return;
        }
        self.hear();
        let mut taken = Vec::new();
        for _ in 0..most {
            let room = [length(0) + 300].repeat(taken.len() + 1);
            if !self.punt.has_room_for(&room) || !self.out.has_room_for(&room) {
                break;
            }
            let Some(number) = pop(&mut self.wire) else { break };
            taken.push(number);
        }
        self.wire.release();
        for number in &taken {
            assert!(push(&mut self.punt, Kind::Punt, *number));
            assert!(push(&mut self.out, Kind::Frame, *number));
        }
        self.punt.publish();
        self.out.publish();
        self.region.nic_beats(self.region.nic_heartbeat() + 1);
    }
}

/// The host: a supervisor with the wire, and a host half.
struct Host {
    file: &'static [AtomicU64],
    region: Region,
    wire_in: To,
    wire_out: From,
    punt: From,
    back: To,
    /// Frames that the wire has to feed in again.
    first: Vec<u64>,
    fed: u64,
    said: u64,
    /// The last numbers that came as notes, and that left.
    noted: Option<u64>,
    left: Option<u64>,
    out: u64,
    /// The punt ring of the region before, until the NIC half has left it; and the wire's rings.
    before: Option<(From, From, SharedMemory)>,
}

impl Host {
    fn new() -> Self {
        let file = memory();
        let region = make(file, 1);
        let rings = region.rings();
        Self {
            file,
            region,
            wire_in: Producer::new(rings.wire_in),
            wire_out: Consumer::new(rings.wire_out),
            punt: Consumer::new(rings.punt),
            back: Producer::new(rings.back),
            first: Vec::new(),
            fed: 0,
            said: 0,
            noted: None,
            left: None,
            out: 0,
            before: None,
        }
    }

    fn is_there(&self) -> bool {
        self.region.nic_status() == Some(NicStatus::Ready)
    }

    fn note(noted: &mut Option<u64>, punt: &mut From) {
        while let Some(number) = pop(punt) {
            assert!(noted.is_none_or(|noted| number > noted), "{number} after {noted:?}");
            *noted = Some(number);
        }
        punt.release();
    }

    /// Takes what left: its note is there.
    fn drain(&mut self, wire_out: &mut From) {
        while let Some(number) = pop(wire_out) {
            match &mut self.before {
                Some((punt, ..)) => Self::note(&mut self.noted, punt),
                None => Self::note(&mut self.noted, &mut self.punt),
            }
            assert!(self.noted >= Some(number), "{number} left before its note: {:?}", self.noted);
            assert!(self.left < Some(number), "{number} left after {:?}", self.left);
            self.left = Some(number);
            self.out += 1;
        }
        wire_out.release();
    }

    fn step(&mut self, most: u64, until: u64) {
        if let Some((mut punt, mut wire_out, wire_in)) = self.before.take() {
            let is_there = self.is_there();
            self.before = Some((punt, Consumer::new(self.region.rings().wire_out), wire_in));
            // The checks of what left look at the ring of its region.
            self.drain(&mut wire_out);
            (punt, ..) = self.before.take().unwrap();
            Self::note(&mut self.noted, &mut punt);
            if is_there {
                self.feed_again(wire_in);
            } else {
                self.before = Some((punt, wire_out, wire_in));
            }
            return;
        }
        if !self.is_there() {
            return;
        }
        self.region.host_beats(1);
        let mut wire_out =
            std::mem::replace(&mut self.wire_out, Consumer::new(self.region.rings().wire_out));
        self.drain(&mut wire_out);
        self.wire_out = wire_out;
        Self::note(&mut self.noted, &mut self.punt);
        for _ in 0..most {
            let again = self.first.first().copied();
            let number = again.unwrap_or(self.fed);
            if number >= until || !push(&mut self.wire_in, Kind::Frame, number) {
                break;
            }
            match again {
                Some(_) => drop(self.first.remove(0)),
                None => self.fed += 1,
            }
        }
        self.wire_in.publish();
        while self.said < until && push(&mut self.back, Kind::Send, self.said) {
            self.said += 1;
        }
        self.back.publish();
    }

    /// What the NIC left unread is fed in again.
    fn feed_again(&mut self, wire_in: SharedMemory) {
        let mut rest = Consumer::new(wire_in);
        let mut unread: Vec<u64> = std::iter::from_fn(|| pop(&mut rest)).collect();
        unread.append(&mut self.first);
        self.first = unread;
    }

    /// A half died: the next region.
    fn succeed(&mut self) {
        let before = self.region.rings();
        self.region = make(self.file, self.region.identity().generation + 1);
        let rings = self.region.rings();
        // Halves begin again where they were read.
        let punt = std::mem::replace(&mut self.punt, Consumer::new(rings.punt));
        let wire_out = std::mem::replace(&mut self.wire_out, Consumer::new(rings.wire_out));
        (self.wire_in, self.back) = (Producer::new(rings.wire_in), Producer::new(rings.back));
        self.before = Some((punt, wire_out, before.wire_in));
    }
}

/// A NIC half that runs in turn with the rest, or whenever it likes.
enum Runs {
    InTurn(Box<Nic>),
    Apart(Arc<AtomicBool>, Option<JoinHandle<()>>),
}

impl Runs {
    fn apart(mut nic: Nic) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        let thread = spawn(move || {
            while !told.load(Relaxed) {
                nic.step(6);
            }
        });
        Self::Apart(ends, Some(thread))
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        if let Self::Apart(ends, thread) = self {
            ends.store(true, Relaxed);
            let ended = thread.take().map(JoinHandle::join);
            assert!(ended.is_none_or(|it| it.is_ok()) || std::thread::panicking());
        }
    }
}

struct World {
    host: Host,
    near: HostMirror<Nobody>,
    far: CardMirror<Nobody>,
    nic: Option<Runs>,
    apart: bool,
    ways: [Network; 2],
    now: u64,
    calls: u64,
    draw: Draw,
    settings: Settings,
}

impl World {
    fn new(seed: u64, faults: u64) -> Self {
        let settings = Settings { window: 1, ..Settings::of_mtu(1500) };
        let host = Host::new();
        let near = call(&host, 1, settings);
        Self {
            host,
            near,
            far: CardMirror::new(End::answerer(CARD, settings), Nobody),
            nic: None,
            apart: false,
            ways: [Network::new(faults), Network::new(faults)],
            now: 0,
            calls: 1,
            draw: Draw(seed),
            settings,
        }
    }

    fn round(&mut self, until: u64) {
        let Self { host, near, far, nic, apart, ways, now, draw, .. } = self;
        let [down, up] = ways;
        for frame in down.arrived(*now) {
            if let Some(call) = far.hear(&frame, *now).unwrap() {
                let hello = Hello::decode(&call.words, PLAN, false).unwrap();
                let file = memory();
                far.accept(
                    (&call, draw.next() | 1),
                    &hello,
                    Memory { nic: file, wire: None },
                    *now,
                )
                .unwrap();
                let half = Nic::attach(file, None);
                *nic = Some(if *apart { Runs::apart(half) } else { Runs::InTurn(Box::new(half)) });
            }
        }
        for frame in up.arrived(*now) {
            near.hear(&frame, *now).unwrap();
        }
        if let Some(Runs::InTurn(nic)) = nic {
            nic.step(draw.below(6));
        }
        far.step(*now, &mut |frame| {
            up.send(frame, *now, draw);
            true
        })
        .unwrap();
        host.step(draw.below(6), until);
        near.step(*now, &mut |frame| {
            down.send(frame, *now, draw);
            true
        })
        .unwrap();
        self.now += 5_000 + self.draw.below(20_000);
    }

    fn nic(&self) -> &Nic {
        match &self.nic {
            Some(Runs::InTurn(nic)) => nic,
            _ => panic!("no NIC half runs in turn"),
        }
    }

    /// The card loses its power, and another one follows.
    fn lose_card(&mut self) {
        self.far = CardMirror::new(End::answerer(CARD, self.settings), Nobody);
        self.nic = None;
        self.host.succeed();
        // Its supervisor drains what is there, and feeds the rest in again.
        let (punt, wire_out, wire_in) = self.host.before.take().unwrap();
        let (mut punt, mut wire_out) = (punt, wire_out);
        Host::note(&mut self.host.noted, &mut punt);
        self.host.drain(&mut wire_out);
        self.host.feed_again(wire_in);
        // The next host half speaks to another NIC half, which has heard nothing.
        self.calls += 1;
        self.near = call(&self.host, self.calls, self.settings);
    }
}

fn call(host: &Host, number: u64, settings: Settings) -> HostMirror<Nobody> {
    let end = End::caller(HOST, settings);
    HostMirror::call(end, number, host.file, (RINGS, false), (PLAN, Nobody)).unwrap()
}

fn finish(world: &mut World, until: u64) {
    let begun = world.now;
    while world.host.out < until {
        world.round(until);
        assert!(world.now < begun + 100_000_000_000, "nothing leaves: {}", world.host.out);
    }
}

#[test]
fn a_region_in_two_memories_is_as_one() {
    for seed in 0..20 {
        let mut world = World::new(seed, 30);
        finish(&mut world, 500);
        let nic = world.nic();
        assert_eq!((world.host.noted, world.host.left), (Some(499), Some(499)));
        assert!(nic.heard.is_some() && nic.region.host_heartbeat() == 1);
        assert_eq!(world.near.standing(), Standing::GoesOn);
        // Nothing is left anywhere.
        for _ in 0..2_000 {
            world.round(500);
        }
        assert_eq!(world.nic().heard, Some(499));
    }
}

/// Host halves die: nothing is lost but what the test's own host lost, and nothing comes twice.
#[test]
fn a_host_half_that_dies_leaves_nothing_behind() {
    for seed in 0..seeds() {
        let mut world = World::new(seed, 30 + seed % 100);
        world.apart = seed % 4 == 0;
        for _ in 0..4 {
            for _ in 0..world.draw.below(120) {
                world.round(u64::MAX);
            }
            if world.host.is_there() && world.host.before.is_none() {
                world.host.succeed();
            }
        }
        let (fed, said) = (world.host.fed, world.host.said);
        finish(&mut world, fed.max(said));
        assert_eq!(world.host.out, world.host.fed, "each frame left once");
    }
}

/// Cards lose their power: what had left does not leave again, and what a card had not taken leaves
/// by the next one.
#[test]
fn what_a_card_did_not_take_is_for_the_next_one() {
    let mut lost = 0;
    for seed in 0..seeds() {
        let mut world = World::new(seed, 30 + seed % 100);
        world.apart = seed % 4 == 0;
        for _ in 0..3 {
            for _ in 0..world.draw.below(200) {
                world.round(u64::MAX);
            }
            if world.host.is_there() && world.host.before.is_none() {
                world.lose_card();
            }
        }
        let before = world.host.fed;
        let last = before + 50;
        let begun = world.now;
        while world.host.left != Some(last - 1) {
            world.round(last);
            assert!(world.now < begun + 100_000_000_000, "{:?}", world.host.left);
        }
        lost += last - world.host.out;
    }
    assert!(lost > 0, "cards had taken frames when they lost their power");
}

#[test]
fn the_end_of_a_nic_half_comes_behind_all_that_it_said() {
    for seed in 0..50 {
        let mut world = World::new(seed, 100);
        while world.host.out < 20 {
            world.round(u64::MAX);
        }
        // It ended between two steps, and published all.
        let said = world.nic.take().is_some();
        world.far.nic_ended(134);
        let (mut rounds, fed) = (0, world.host.fed);
        while world.near.standing() == Standing::GoesOn {
            world.round(fed);
            rounds += 1;
            assert!(rounds < 10_000);
        }
        assert_eq!(world.near.standing(), Standing::Ended(134));
        world.round(fed);
        assert!(said && world.host.left == world.host.noted, "{:?}", world.host.left);
        while !world.far.is_over() {
            world.round(fed);
        }
    }
}

fn seeds() -> u64 {
    let told = std::env::var("CORA_LINK_SEEDS").ok().and_then(|text| text.parse().ok());
    told.unwrap_or(300)
}
