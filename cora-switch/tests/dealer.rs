//! The dealer: its records for shards, its answers to their words, and when packets wait.

use cora_core::app::{App, Lifecycle, PlanFacts, Prefetch, Sides, States, Transaction, Transfer};
use cora_core::bucket::{Bucket, BucketSet, Mark};
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::{
    Described, Divided, Home, Line, Memory, OutOfMemory, PerBucket, Place, Reach,
};
use cora_core::verdict::{Transmit, Verdict};
use cora_runtime::link::message::{Deals, Frames, Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::steering::Deal;
use cora_switch::coordinator::Lie;
use cora_switch::dealer::{Lied, Passed, Record};
use cora_switch::{Abilities, Dealer, Emulated, Limits, NoSuchShard, Shard};

const X: Shard = Shard::new(0);
const Y: Shard = Shard::new(1);
/// Time that an operation of the flow table takes (ns).
const DELAY: u64 = 100;
/// Period of the program's timer (ns).
const PERIOD: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Lot(u8);

impl Plain for Lot {
    const SIZE: usize = 1;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u8::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl From<Bucket> for Lot {
    fn from(bucket: Bucket) -> Self {
        Self(bucket.number() as u8)
    }
}

impl PerBucket for Lot {
    const NAME: &'static str = "Lot";
}

/// A program with a value for each bucket, and a timer.
#[derive(Debug)]
struct Lots {
    lots: Divided<Lot>,
}

impl States for Lots {
    const PLACES: &'static [(&'static str, Place)] = &[("Lot", Place::Divided)];
    const STATES: usize = 1;
    fn state(&mut self, _: usize) -> &mut dyn Home {
        &mut self.lots
    }
    fn described(&mut self, _: usize) -> &mut dyn Described {
        &mut self.lots
    }
}

impl Lifecycle for Lots {
    const MEMORY: usize = 256 + Divided::<Lot>::BYTES;
    const PERIODS: &'static [u64] = &[PERIOD];
    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { lots: Divided::create(memory)? })
    }
}

impl Prefetch for Lots {
    fn prefetch_owner(&self, _: u8) {}
    fn predicted_owner(&self, _: u8) -> Option<u32> {
        None
    }
}

impl Transaction for Lots {}

impl Transfer for Lots {
    type Group = FiveTuple;
}

impl App for Lots {
    const NAME: &'static str = "lots";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Dealt);
    const MARKED: bool = true;
    fn chain<R: Reach>(&mut self, _: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        Transmit
    }
}

/// A record that a shard gets, without its time; of a value, its move and its bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Got {
    Owns(BucketSet),
    Leaving(BucketSet, u64),
    Coming(BucketSet, u64),
    Value(u64, u8),
    Going,
    Stays(BucketSet),
    Void,
    Arrived,
}

fn got((kind, bytes): &Record) -> Got {
    let Some(Message::Deals(message)) = Message::decode(*kind, bytes) else {
        panic!("no record of a deal: {kind}");
    };
    let set = |bytes: &[u8]| BucketSet::from_bytes(bytes.try_into().expect("a set of buckets"));
    match message {
        Deals::Owns { buckets } => Got::Owns(set(buckets)),
        Deals::Leaving { now, buckets, .. } => Got::Leaving(set(buckets), now),
        Deals::Coming { now, buckets, .. } => Got::Coming(set(buckets), now),
        Deals::Stays { buckets, .. } => Got::Stays(set(buckets)),
        Deals::Going { .. } => Got::Going,
        Deals::Void { .. } => Got::Void,
        Deals::Arrived { .. } => Got::Arrived,
        Deals::Value { epoch, state: 0, piece } => {
            let bytes = Lots::new(&mut memory()).expect("memory").lots.bucket_of(piece);
            Got::Value(epoch, bytes.expect("it says its bucket").number() as u8)
        }
        other => panic!("shards don't hear {other:?}"),
    }
}

fn memory() -> Memory {
    Memory::new(vec![Line::ZERO; Lots::MEMORY / Line::BYTES + 32].leak())
}

fn set(buckets: &[u8]) -> BucketSet {
    buckets.iter().map(|bucket| Bucket::new(*bucket)).collect()
}

fn meta(bucket: u8, now: u64) -> Meta {
    let mark = Mark { bucket: Bucket::new(bucket), ..Mark::UNMARKED };
    Meta { time: now, now, port: Port::INSIDE, mark }
}

fn record(message: Deals<'_>) -> Record {
    Message::from(message).encode(|kind, parts| (kind, parts.concat()))
}

/// A dealer of X and Y.
struct Setup {
    dealer: Dealer<Emulated>,
    now: u64,
}

impl Setup {
    fn with(entries: u32) -> Self {
        let abilities = Abilities { entries, operations_per_s: 0, delay_ns: DELAY, in_flight: 64 };
        let mut app = Lots::new(&mut memory()).expect("memory");
        let table = Emulated::new(abilities, X);
        let deal = Deal::even(1);
        let dealer = Dealer::new(&mut app, table, Limits::default(), (&deal, 2));
        let dealer = dealer.expect("there are shards");
        Self { dealer, now: 0 }
    }

    /// One whose packets come in. All buckets are at X.
    fn new() -> Self {
        let mut setup = Self::with(300);
        assert!(setup.dealer.stops(0, false), "the rules are not yet in force");
        assert_eq!(setup.step(), [(X, Got::Owns(BucketSet::ALL)), (Y, Got::Owns(set(&[])))]);
        assert!(!setup.dealer.stops(0, false));
        setup
    }

    fn step(&mut self) -> Vec<(Shard, Got)> {
        let mut given = Vec::new();
        self.dealer.step(self.now, &mut |to, record| given.push((to, got(&record))));
        given
    }

    fn later(&mut self) -> Vec<(Shard, Got)> {
        self.now += DELAY;
        self.step()
    }

    /// Buckets 7 and 9 go to Y, a packet of time 50 has passed.
    fn moving(&mut self) -> BucketSet {
        self.dealer.passed(&meta(7, 50), X, 60);
        let moving = set(&[7, 9]);
        self.dealer.want(moving, Y).expect("Y is there");
        moving
    }

    fn said(&mut self, by: Shard, message: Deals<'_>) -> Result<Passed, Lied> {
        self.dealer.said(by, record(message), self.now)
    }
}

#[test]
fn a_move_in_records() {
    let mut setup = Setup::new();
    let moving = setup.moving();
    let begun = [
        (X, Got::Leaving(moving, 50)),
        (Y, Got::Coming(moving, 50)),
        (Y, Got::Value(1, 7)),
        (Y, Got::Value(1, 9)),
    ];
    assert_eq!(setup.step(), begun, "buckets begin behind the record that says that they come");
    assert_eq!(setup.later(), [(X, Got::Going)]);
    let parts = [
        Deals::Moved { epoch: 1, bucket: 7, state: 0, piece: &[1, 2] },
        Deals::Waits { epoch: 1, end: 3, bucket: 7, state: 0, piece: &[4] },
        Deals::Value { epoch: 1, state: 0, piece: &[7, 8] },
    ];
    for part in parts {
        let passed = setup.said(X, part).expect("X gives");
        assert_eq!(passed, Passed::Record(Y, record(part)), "it goes on as it is");
    }
    assert_eq!(setup.said(X, Deals::Gone { epoch: 1 }), Ok(Passed::Done));
    assert_eq!(setup.step(), [(Y, Got::Arrived)]);
    assert!(setup.dealer.is_quiet());
    assert_eq!(setup.dealer.coordinator().owner_of(Bucket::new(9)), Y);
    assert_eq!(setup.dealer.table().queue_of(Bucket::new(9)), Y);
}

/// The half that gave died: its entries are void, and the buckets begin again.
#[test]
fn buckets_without_entries_begin_again() {
    let mut setup = Setup::new();
    setup.moving();
    setup.step();
    setup.later();
    let piece = &[1, 2];
    setup.said(X, Deals::Moved { epoch: 1, bucket: 7, state: 0, piece }).expect("X gives");
    let mut first = Vec::new();
    let mut push = |to, record: Record| first.push((to, got(&record)));
    setup.dealer.restarted(X, setup.now, &mut push).expect("X is there");
    let others = BucketSet::ALL.without(set(&[7, 9]));
    let values = [7, 9].map(|bucket| (Y, Got::Value(1, bucket)));
    let [seven, nine] = values;
    assert_eq!(
        [first, setup.step()].concat(),
        [(Y, Got::Void), seven, nine, (Y, Got::Arrived), (X, Got::Owns(others))]
    );
}

/// The table has room for one rule of the two.
#[test]
fn a_bucket_that_stays_does_not_begin_again() {
    let mut setup = Setup::with(1);
    setup.step();
    setup.moving();
    setup.step();
    let stays = set(&[9]);
    let told = setup.later();
    assert!(told.contains(&(Y, Got::Stays(stays))) && told.contains(&(X, Got::Going)), "{told:?}");
    let mut first = Vec::new();
    let mut push = |to, record: Record| first.push((to, got(&record)));
    setup.dealer.restarted(X, setup.now, &mut push).expect("X is there");
    first.extend(setup.step());
    assert!(!first.contains(&(Y, Got::Value(1, 9))), "{first:?}");
}

#[test]
fn no_packet_passes_a_tick_amid_a_move() {
    let mut setup = Setup::new();
    assert!(setup.dealer.may_tell(PERIOD) && !setup.dealer.stops(PERIOD, true));
    setup.moving();
    setup.step();
    assert!(!setup.dealer.stops(PERIOD - 1, false) && setup.dealer.may_tell(PERIOD - 1));
    assert!(setup.dealer.stops(PERIOD - 1, true), "an epoch begins with it");
    assert!(setup.dealer.stops(PERIOD, false) && !setup.dealer.may_tell(PERIOD));
    setup.dealer.passed(&meta(8, PERIOD + 1), X, 60);
    assert!(!setup.dealer.stops(2 * PERIOD - 1, false), "that tick has been");
    assert!(setup.dealer.stops(2 * PERIOD, false));
}

#[test]
fn a_half_takes_again_what_is_its_own() {
    let mut setup = Setup::new();
    let (dealer, old) = (&mut setup.dealer, meta(3, 40));
    assert!(dealer.takes_again(X, &old, 60) && !dealer.takes_again(Y, &old, 60));
    assert_eq!(dealer.restarted(Shard::new(2), 0, &mut |_, _| {}), Err(no_such_shard()));
    assert_eq!(dealer.want(set(&[3]), Shard::new(2)), Err(no_such_shard()));
}

fn no_such_shard() -> NoSuchShard {
    NoSuchShard { shard: Shard::new(2), last: 1 }
}

#[test]
fn strays_go_to_the_owner() {
    let mut setup = Setup::new();
    let stamp = stamp_of(3);
    let stray = Deals::Stray { stamp, frame: &[1, 2, 3] };
    let lie = |lie| Err(Lied::Fault(cora_switch::Fault { shard: Y, lie }));
    assert_eq!(setup.said(Y, stray), lie(Lie::Stray), "it got none");
    setup.dealer.passed(&stamp.meta, Y, 3);
    assert_eq!(setup.said(Y, stray), Ok(Passed::Packet(X, stamp, vec![1, 2, 3])));
}

#[test]
fn what_no_shard_says_is_refused() {
    let mut setup = Setup::new();
    let told = Deals::Going { epoch: 1 };
    assert_eq!(setup.said(X, told), Err(Lied::Undecodable(record(told).0)), "the dealer says it");
    let (kind, bytes) = record(Deals::Gone { epoch: 1 });
    let short = (kind, bytes[1..].to_vec());
    assert_eq!(setup.dealer.said(X, short, 0), Err(Lied::Undecodable(kind)));
    assert_eq!(setup.dealer.said(X, (9_999, Vec::new()), 0), Err(Lied::Undecodable(9_999)));
    let frame = Frames::Frame { stamp: stamp_of(1), frame: &[1] };
    let frame = Message::from(frame).encode(|kind, parts| (kind, parts.concat()));
    let refused = setup.dealer.said(X, frame, 0);
    assert_eq!(refused, Err(Lied::Undecodable(Kind::Frame.number())), "it is no word of a deal");
    let lied = setup.said(X, Deals::Gone { epoch: 1 }).expect_err("no move is under way");
    assert_eq!(
        lied.to_string(),
        "shard 0 ends move 1: only the shard that buckets leave may, after its marker"
    );
}

fn stamp_of(bucket: u8) -> Stamp {
    let (meta, parked) = (meta(bucket, 1), Parked::NONE);
    Stamp { meta, number: 1, horizon: 1, egress: Port::INSIDE, parked, missing: 0 }
}
