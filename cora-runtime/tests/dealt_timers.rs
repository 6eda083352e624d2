//! Timers of a program without merged states, where each side receives its own buckets: an epoch
//! that the wire tells starts them, and they run for the buckets of the half, at either one.

use std::cell::RefCell;

use cora_core::app::{App, Lifecycle, PlanFacts, Prefetch, Sides, States, Transaction, Transfer};
use cora_core::bucket::{Bucket, BucketSet};
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::Packet;
use cora_core::state::commutative::EPOCH;
use cora_core::state::{Described, Home, Line, Memory, OutOfMemory, Place, Reach};
use cora_core::timer::Schedule;
use cora_core::verdict::{Transmit, Verdict};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Wire;
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Deals, Merges, Message, Stamp};
use cora_runtime::nic_half::NicHalf;

/// Two ticks in an epoch.
const PERIOD: u64 = EPOCH / 2;

std::thread_local! {
    /// The ticks that ran: when, in periods, and for how many buckets.
    static TICKS: RefCell<Vec<(u64, usize)>> = const { RefCell::new(Vec::new()) };
}

/// A program with a timer for each bucket.
#[derive(Debug)]
struct Ticker {
    timer: Schedule,
    own: BucketSet,
}

impl States for Ticker {
    const PLACES: &'static [(&'static str, Place)] = &[];
    const STATES: usize = 0;
    fn state(&mut self, number: usize) -> &mut dyn Home {
        unreachable!("there is no state {number}")
    }
    fn described(&mut self, number: usize) -> &mut dyn Described {
        unreachable!("there is no state {number}")
    }
}

impl Lifecycle for Ticker {
    const MEMORY: usize = 0;
    const PERIODS: &'static [u64] = &[PERIOD];
    fn new(_: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { timer: Schedule::BEFORE, own: BucketSet::ALL })
    }
    fn own_buckets(&mut self, buckets: BucketSet) {
        self.own = buckets;
    }
    fn run_due(&mut self, now: u64, _: &mut Outbox, _: &mut dyn FnMut(&mut Outbox)) {
        self.timer.pass(PERIOD, now);
        while self.timer.next() <= now {
            let tick = self.timer.take(PERIOD);
            TICKS.with_borrow_mut(|ticks| ticks.push((tick.at / PERIOD, self.own.len())));
        }
    }
}

impl Prefetch for Ticker {
    fn prefetch_owner(&self, _: u8) {}
    fn predicted_owner(&self, _: u8) -> Option<u32> {
        None
    }
}

impl Transaction for Ticker {}

impl Transfer for Ticker {
    type Group = FiveTuple;
}

impl App for Ticker {
    const NAME: &'static str = "ticker";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Dealt);
    const MARKED: bool = true;
    fn chain<R: Reach>(&mut self, _: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        Transmit
    }
}

struct Nowhere;

impl PeerOutbox for Nowhere {
    fn send(&mut self, _: &Message<'_>) {}
}

impl HostOutbox for Nowhere {}

impl Wire for Nowhere {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {}
    fn tell(&mut self, _: Deals<'_>) {}
}

/// Epochs end then, in periods.
const ENDS: [u64; 3] = [8, 10, 14];

/// Those of the ticks that are behind the begin of the first epoch, at 6 periods.
fn expected(own: usize) -> Vec<(u64, usize)> {
    (7..=12).map(|tick| (tick, own)).collect()
}

/// Memory of at least `bytes` bytes, never given back.
fn memory(bytes: usize) -> Memory {
    Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 32].leak())
}

/// The buckets of the half.
fn own() -> BucketSet {
    [3, 200].map(Bucket::new).into_iter().collect()
}

#[test]
fn an_epoch_starts_the_timers_of_a_nic_half() {
    let mut app = Ticker::new(&mut memory(0)).expect("it needs none");
    let bytes = NicHalf::bytes(&mut app);
    let mut half = NicHalf::create(app, &mut memory(bytes)).expect("there is memory");
    let own = own().to_bytes();
    let owns = Message::from(Deals::Owns { buckets: &own });
    let (kind, bytes) = owns.encode(|kind, parts| (kind, parts.concat()));
    half.deal(kind, &bytes, &mut Nowhere).expect("it has a place");
    TICKS.take();
    for ends in ENDS {
        half.epoch_begins(ends * PERIOD, &mut Nowhere);
    }
    assert_eq!(TICKS.take(), expected(2));
}

#[test]
fn an_epoch_starts_the_timers_of_a_host_half() {
    let mut app = Ticker::new(&mut memory(0)).expect("it needs none");
    let bytes = HostHalf::bytes(&mut app);
    let mut half = HostHalf::create(app, &mut memory(bytes), true).expect("there is memory");
    half.receive();
    let own = own().to_bytes();
    let owns = Deals::Owns { buckets: &own };
    half.message(&owns.into(), &mut Nowhere).expect("it has a place");
    TICKS.take();
    for ends in ENDS {
        let turn = Merges::Turn { ends: ends * PERIOD, follows: 0 };
        half.message(&turn.into(), &mut Nowhere).expect("the wire tells it");
    }
    assert_eq!(TICKS.take(), expected(2));
    let refused = half.message(&Merges::Whole {}.into(), &mut Nowhere);
    assert!(refused.is_err(), "without merged states, no merge has parts");
}
