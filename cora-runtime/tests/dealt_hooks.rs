//! Hooks of entries whose bucket moves: each runs between the same two packets of its bucket as on
//! one shard, whatever time other packets bring meanwhile.

mod halves_support;

use std::cell::RefCell;

use cora_core::app::{App, Lifecycle, PlanFacts, Prefetch, Sides, States, Transaction, Transfer};
use cora_core::bucket::{Bucket, BucketSet, Mark};
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::MovingEnds;
use cora_core::state::table::hooked::{DELAY, hook_time};
use cora_core::state::{
    Described, Home, Keyed, Memory, OutOfMemory, Place, Reach, Stored as _, Table,
};
use cora_core::verdict::{Transmit, Verdict};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Deals, Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;

use halves_support::{flow, frame, memory};

/// Tenths of a second (ns).
const TENTH: u64 = DELAY / 10;
/// Idle time of an entry.
const IDLE: u64 = 40 * TENTH;

#[derive(Clone, Copy, Debug)]
struct Held(u16);

impl Plain for Held {
    const SIZE: usize = 2;
    const HOOKED: bool = true;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u16::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Keyed for Held {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Held";
    const CAPACITY: u32 = 64;
    const IDLE: u64 = IDLE;
    const REPLY: bool = false;
}

/// What ran: a packet of the flow with this port, at this tenth; or the hook of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    Packet(u16, u64),
    Hook(u16),
}

std::thread_local! {
    static LOG: RefCell<Vec<Ran>> = const { RefCell::new(Vec::new()) };
}

/// What ran of this port's flow since the last call.
fn log(port: u16) -> Vec<Ran> {
    let all = LOG.take();
    let is_its = |ran: &Ran| matches!(ran, Ran::Packet(of, _) | Ran::Hook(of) if *of == port);
    all.into_iter().filter(is_its).collect()
}

/// Makes an entry for each flow, which later packets do not use.
#[derive(Debug)]
struct Holding {
    held: Table<Held>,
}

impl States for Holding {
    const PLACES: &'static [(&'static str, Place)] = &[("Held", Place::Travels)];
    const STATES: usize = 1;
    fn state(&mut self, _: usize) -> &mut dyn Home {
        &mut self.held
    }
    fn described(&mut self, _: usize) -> &mut dyn Described {
        &mut self.held
    }
}

impl Lifecycle for Holding {
    const MEMORY: usize = 256 + Table::<Held>::BYTES;
    const HOOKED: &'static [usize] = &[0];
    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { held: Table::create(memory)? })
    }
    fn is_due(&self, now: u64) -> bool {
        now >= self.held.next_hook()
    }
    fn run_due(&mut self, now: u64, _: &mut Outbox, _: &mut dyn FnMut(&mut Outbox)) {
        while hook_time(self.held.next_end()) <= now
            && let Some(ended) = self.held.take_ended()
        {
            LOG.with_borrow_mut(|log| log.push(Ran::Hook(ended.entry.0)));
        }
    }
    fn each_apart(&mut self, visit: &mut dyn FnMut(u16, &mut dyn MovingEnds)) {
        visit(0, self.held.moving_ends());
    }
}

impl Prefetch for Holding {
    fn prefetch_owner(&self, _: u8) {}
    fn predicted_owner(&self, _: u8) -> Option<u32> {
        None
    }
}

impl Transaction for Holding {
    fn begin(&mut self, visit: cora_core::state::Visit) {
        self.held.begin(visit);
    }
    fn commit(&mut self, undo: bool) {
        self.held.commit(undo);
    }
}

impl Transfer for Holding {
    type Group = FiveTuple;
}

impl App for Holding {
    const NAME: &'static str = "holding";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Dealt);
    const MARKED: bool = true;
    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        let key = packet.five_tuple()?;
        let port = key.source_port;
        LOG.with_borrow_mut(|log| log.push(Ran::Packet(port, packet.now() / TENTH)));
        // The first packets open; later ones leave the entry as it is.
        if packet.now() < IDLE {
            self.held.insert(key, Held(port))?;
        }
        Transmit
    }
}

#[derive(Default)]
struct Out(Vec<(u16, Vec<u8>)>);

impl PeerOutbox for Out {
    fn send(&mut self, message: &Message<'_>) {
        if let Message::Deals(_) = message {
            self.0.push(message.encode(|kind, parts| (kind, parts.concat())));
        }
    }
}

impl HostOutbox for Out {}

impl Wire for Out {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {}
    fn tell(&mut self, message: Deals<'_>) {
        self.send(&message.into());
    }
}

enum Half {
    Nic(Box<NicHalf<Holding>>),
    Host(Box<HostHalf<Holding>>),
}

struct Shard {
    half: Half,
    out: Out,
}

fn set(ports: &[u16]) -> BucketSet {
    ports.iter().map(|port| Bucket::new(*port as u8)).collect()
}

impl Shard {
    /// One with the buckets of these ports.
    fn new(at_nic: bool, ports: &[u16]) -> Self {
        let mut app = Holding::new(&mut memory(Holding::MEMORY)).expect("there is memory");
        let half = if at_nic {
            let bytes = NicHalf::bytes(&mut app);
            let half = NicHalf::create(app, &mut memory(bytes)).expect("there is memory");
            Half::Nic(Box::new(half))
        } else {
            let bytes = HostHalf::bytes(&mut app);
            let mut half = HostHalf::create(app, &mut memory(bytes), true).expect("it has memory");
            half.receive();
            Half::Host(Box::new(half))
        };
        let mut shard = Self { half, out: Out::default() };
        shard.told(Deals::Owns { buckets: &set(ports).to_bytes() });
        shard
    }

    /// A packet of this port's flow, whose bucket has the same number, at this tenth.
    fn packet(&mut self, port: u16, tenth: u64) {
        let (now, mark) =
            (tenth * TENTH, Mark { bucket: Bucket::new(port as u8), ..Mark::UNMARKED });
        let meta = Meta { time: now, now, port: Port::INSIDE, mark };
        let (parked, egress) = (Parked::NONE, Port::INSIDE);
        let stamp = Stamp { meta, number: now, horizon: now, egress, parked, missing: 0 };
        let (mut frame, mut burst) = (frame(port), Burst::new());
        assert_eq!(Packet::new(&mut frame, meta).five_tuple(), Ok(flow(port)));
        burst.push(stamp, &mut frame);
        match &mut self.half {
            Half::Nic(half) => half.burst(&mut burst, &mut self.out),
            Half::Host(half) => half.burst(&mut burst, &mut self.out).expect("a sound burst"),
        }
    }

    fn told(&mut self, message: Deals<'_>) {
        let (kind, bytes) = Message::Deals(message).encode(|kind, parts| (kind, parts.concat()));
        match &mut self.half {
            Half::Nic(half) => half.deal(kind, &bytes, &mut self.out),
            Half::Host(half) => half.message(&message.into(), &mut self.out),
        }
        .expect("it has a place");
    }

    fn give_to(&mut self, to: &mut Self) {
        while self.out.0.last().is_none_or(|(kind, _)| *kind != Kind::Gone) {
            match &mut self.half {
                Half::Nic(half) => half.hand_over(1, &mut self.out),
                Half::Host(half) => half.hand_over(1, &mut self.out).expect("it gives"),
            }
        }
        for (kind, bytes) in std::mem::take(&mut self.out.0) {
            let Some(Message::Deals(message)) = Message::decode(kind, &bytes) else {
                panic!("{kind} is no record of a deal");
            };
            if kind != Kind::Gone {
                to.told(message);
            }
        }
    }
}

/// When the move begins.
const BEGUN: u64 = 53 * TENTH;
/// A flow of the bucket that moves, another of it, and one of each shard that stays.
const MOVES: u16 = 307;
const LIVES: u16 = MOVES + 256;
const STAYS: [u16; 2] = [308, 309];

/// Two shards, a NIC's and a host's in either order. The entries of the bucket that moves were made
/// at the first one. One ended at 4.5 s, and the other will at 7.9 s. The move begins at 5.3 s.
fn both_ways() -> [[Shard; 2]; 2] {
    LOG.take();
    [true, false].map(|from_nic| {
        let mut from = Shard::new(from_nic, &[MOVES, STAYS[0]]);
        let mut to = Shard::new(!from_nic, &[STAYS[1]]);
        from.packet(MOVES, 5);
        from.packet(LIVES, 39);
        from.packet(STAYS[0], 53);
        to.packet(STAYS[1], 53);
        let buckets = &set(&[MOVES]).to_bytes();
        from.told(Deals::Leaving { epoch: 1, now: BEGUN, buckets });
        to.told(Deals::Coming { epoch: 1, now: BEGUN, buckets });
        assert_eq!(log(MOVES), [Ran::Packet(MOVES, 5)]);
        [from, to]
    })
}

fn arrive([from, to]: &mut [Shard; 2]) {
    from.told(Deals::Going { epoch: 1 });
    from.give_to(to);
    to.told(Deals::Arrived { epoch: 1 });
}

#[test]
fn a_hook_goes_along_and_runs_behind_older_packets() {
    for mut shards in both_ways() {
        // Due at 5.5 s: other packets reach that time at both shards.
        shards[0].packet(STAYS[0], 57);
        shards[1].packet(MOVES, 54);
        shards[1].packet(STAYS[1], 57);
        assert_eq!(log(MOVES), [], "its packet is held, and the hook waits");
        arrive(&mut shards);
        assert_eq!(log(MOVES), [Ran::Packet(MOVES, 54)]);
        shards[1].packet(MOVES, 57);
        assert_eq!(log(MOVES), [Ran::Hook(MOVES), Ran::Packet(MOVES, 57)]);
        shards[0].packet(STAYS[0], 99);
        assert_eq!(log(MOVES), [], "it runs once");
    }
}

#[test]
fn a_hook_runs_before_a_packet_that_still_comes_the_old_way() {
    for mut shards in both_ways() {
        shards[0].packet(STAYS[0], 57);
        shards[0].packet(MOVES, 54);
        assert_eq!(log(MOVES), [Ran::Packet(MOVES, 54)]);
        shards[0].packet(MOVES, 56);
        assert_eq!(log(MOVES), [Ran::Hook(MOVES), Ran::Packet(MOVES, 56)]);
        arrive(&mut shards);
        shards[1].packet(MOVES, 99);
        assert_eq!(log(MOVES), [Ran::Packet(MOVES, 99)], "it runs once");
    }
}

#[test]
fn a_hook_runs_without_packets_of_its_bucket_once_the_move_is_over() {
    for mut shards in both_ways() {
        arrive(&mut shards);
        shards[1].packet(STAYS[1], 57);
        assert_eq!(log(MOVES), [Ran::Hook(MOVES)]);
        shards[1].packet(STAYS[1], 90);
        assert_eq!(log(LIVES), [Ran::Hook(LIVES)]);
    }
}

#[test]
fn a_bucket_that_stays_has_its_hooks_back() {
    for mut shards in both_ways() {
        let buckets = &set(&[MOVES]).to_bytes();
        for shard in &mut shards {
            shard.told(Deals::Stays { epoch: 1, buckets });
        }
        shards[0].packet(STAYS[0], 57);
        assert_eq!(log(MOVES), [Ran::Hook(MOVES)]);
    }
}

#[test]
fn hooks_of_what_came_from_a_half_that_died_are_void() {
    for mut shards in both_ways() {
        let [from, to] = &mut shards;
        from.told(Deals::Going { epoch: 1 });
        from.give_to(to);
        to.told(Deals::Void { epoch: 1 });
        to.told(Deals::Arrived { epoch: 1 });
        to.packet(MOVES, 99);
        let all = LOG.take();
        assert_eq!(all, [Ran::Packet(MOVES, 99)], "neither of what had ended nor of what lived");
    }
}
