//! Shards and tables that say anything at any time: the coordinator never panics, it moves nothing
//! by itself, and goes on with sound shards afterwards.

use cora_core::bucket::{Bucket, BucketSet};
use cora_switch::coordinator::Phase;
use cora_switch::{
    Abilities, Answer, Change, Coordinator, Counts, Emulated, Epoch, FlowTable, Limits, Operation,
    Refused, Rule, Said, Shard,
};

#[path = "handover/random.rs"]
mod random;

use random::Random;

const SHARDS: u16 = 3;
const BUCKETS: u64 = 4;

fn bucket(random: &mut Random) -> Bucket {
    Bucket::new(random.below(BUCKETS) as u8)
}

/// Now and then, a shard that isn't there.
fn shard(random: &mut Random) -> Shard {
    Shard::new(random.below(u64::from(SHARDS) + 1) as u16)
}

fn epoch(random: &mut Random) -> Epoch {
    Epoch::new(if random.once_in(20) { u64::MAX } else { random.below(12) })
}

/// A table with answers that nobody asked for.
struct Lying {
    inner: Emulated,
    random: Random,
    lies: bool,
}

impl FlowTable for Lying {
    fn ask(&mut self, operation: Operation, now_ns: u64) -> Result<(), Refused> {
        self.inner.ask(operation, now_ns)
    }

    fn poll(&mut self, now_ns: u64, answered: &mut dyn FnMut(Answer)) {
        self.inner.poll(now_ns, answered);
        let random = &mut self.random;
        if self.lies && random.once_in(4) {
            let rule = Rule { bucket: bucket(random), epoch: epoch(random), to: shard(random) };
            let inserts = random.once_in(2);
            let change = if inserts { Change::Insert(rule) } else { Change::Remove(rule) };
            let refused =
                [Refused::NoRoom, Refused::Busy, Refused::Default, Refused::Taken(rule.to)];
            let refused = refused[random.below(4) as usize];
            let outcome = if random.once_in(2) { Ok(()) } else { Err(refused) };
            let operation = Operation { ticket: random.below(30), change };
            answered(Answer { operation, outcome });
        }
    }

    fn counts(&self, rule: &Rule) -> Option<Counts> {
        self.inner.counts(rule)
    }

    fn default_counts(&self) -> Counts {
        self.inner.default_counts()
    }
}

/// Anything that can be told to a coordinator, true or not. Returns whether it was a fault.
fn babble(coordinator: &mut Coordinator, random: &mut Random, now_ns: u64) -> bool {
    let by = shard(random);
    match random.below(10) {
        0 => {
            let buckets: BucketSet = (0..3).map(|_| bucket(random)).collect();
            coordinator.want(buckets, by).is_err()
        }
        1 => coordinator.died(by, now_ns).is_err(),
        2 => coordinator.restarted(by, now_ns, |_, _| {}).is_err(),
        3 | 4 => {
            coordinator.passed(bucket(random), by, 60, random.below(1_000));
            false
        }
        5 => coordinator.said(by, &Said::Gone { epoch: epoch(random) }, now_ns).is_err(),
        6 | 7 => {
            let said = Said::Entry { epoch: epoch(random), entry: &[0; 9] };
            coordinator.said(by, &said, now_ns).is_err()
        }
        _ => {
            let bytes = if random.once_in(2) { usize::MAX / 4 } else { 60 };
            let said = Said::Stray { bucket: bucket(random), bytes };
            coordinator.said(by, &said, now_ns).is_err()
        }
    }
}

/// Sound shards from now on: returns whether all moves come to their end.
fn recovers(coordinator: &mut Coordinator, table: &mut Lying, mut now_ns: u64) -> bool {
    for shard in (0..SHARDS).map(Shard::new) {
        let restarted = coordinator.restarted(shard, now_ns, |_, _| {});
        restarted.expect("there is such a shard");
    }
    for _ in 0..2_000 {
        now_ns += 1_000;
        coordinator.step(now_ns, table, |_, _| {});
        let Some(moving) = coordinator.report(now_ns).under_way else {
            if coordinator.is_quiet() {
                return true;
            }
            continue;
        };
        if moving.phase == Phase::Handing {
            let gone = Said::Gone { epoch: moving.epoch };
            coordinator.said(moving.from, &gone, now_ns).expect("that is its part");
        }
    }
    false
}

#[test]
fn nothing_that_is_said_stops_the_coordinator() {
    let (mut faults, mut moves) = (0, 0);
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let abilities = Abilities { entries: 8, operations_per_s: 0, delay_ns: 500, in_flight: 3 };
        let inner = Emulated::new(abilities, Shard::new(0));
        let mut table = Lying { inner, random: Random::new(!seed), lies: true };
        let limits = Limits { again_ns: 5_000, entry_bytes: 100, ..Limits::default() };
        let mut coordinator = Coordinator::new(limits, SHARDS, Shard::new(0)).unwrap();
        let mut now_ns = 0;
        for _ in 0..200 {
            faults += u64::from(babble(&mut coordinator, &mut random, now_ns));
            now_ns += random.below(1_000);
            coordinator.step(now_ns, &mut table, |to, _| assert!(to.number() < SHARDS.into()));
        }
        table.lies = false;
        let recovered = recovers(&mut coordinator, &mut table, now_ns);
        assert!(recovered, "seed {seed}: {}", coordinator.report(now_ns));
        moves += coordinator.report(now_ns).totals.moves;
    }
    assert!(faults > 10_000 && moves > 2_000, "{faults} faults, {moves} moves");
}
