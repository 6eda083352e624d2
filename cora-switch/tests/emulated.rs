//! The emulated flow table: priorities, room, time, counts, and a look-up that is an array read.

use cora_core::app::FlowTableFacts;
use cora_core::bucket::{Bucket, BucketSet};
use cora_switch::{
    Abilities, Answer, Change, Coordinator, Counts, Emulated, Epoch, FlowTable, Limits, Operation,
    Refused, Rule, Shard, Told,
};

const ROOMY: Abilities =
    Abilities { entries: 1_000, operations_per_s: 0, delay_ns: 0, in_flight: 1_000 };

fn rule(bucket: u8, epoch: u64, to: u16) -> Rule {
    Rule { bucket: Bucket::new(bucket), epoch: Epoch::new(epoch), to: Shard::new(to) }
}

fn asked(table: &mut Emulated, ticket: u64, change: Change, now_ns: u64) -> Result<(), Refused> {
    table.ask(Operation { ticket, change }, now_ns)
}

fn answers(table: &mut Emulated, now_ns: u64) -> Vec<(u64, Result<(), Refused>)> {
    let mut answers = Vec::new();
    table.poll(now_ns, &mut |Answer { operation, outcome }| {
        answers.push((operation.ticket, outcome));
    });
    answers
}

fn done(table: &mut Emulated, change: Change) {
    assert_eq!(asked(table, 1, change, 0), Ok(()));
    assert_eq!(answers(table, 0), [(1, Ok(()))], "{change:?}");
}

/// A table that was made at compile time, where nothing is allocated, locked or called by pointer.
static UNTOUCHED: Emulated = Emulated::new(ROOMY, Shard::new(3));
const LOOKED_UP: Shard = UNTOUCHED.queue_of(Bucket::new(7));

#[test]
fn a_look_up_is_an_array_read() {
    assert_eq!(LOOKED_UP, Shard::new(3));
    // It needs nothing but the array: the rules say the same, but take a search.
    let mut table = Emulated::new(ROOMY, Shard::new(0));
    let mut rules = Vec::new();
    let mut word = 7_u64;
    for step in 0..4_000 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let [bucket, epoch, to, kind] = (word >> 32).to_le_bytes()[..4] else { continue };
        let new = rule(bucket % 4, u64::from(epoch % 16) + 1, u16::from(to % 5));
        let name = |it: &Rule| (it.bucket, it.epoch);
        let is_there = rules.iter().any(|it| name(it) == name(&new));
        if kind < 128 && !is_there {
            done(&mut table, Change::Insert(new));
            rules.push(new);
        } else if kind >= 128 {
            done(&mut table, Change::Remove(new));
            rules.retain(|it| name(it) != name(&new));
        }
        for bucket in Bucket::all() {
            let of_it = rules.iter().filter(|rule| rule.bucket == bucket);
            let decides = of_it.max_by_key(|rule| rule.epoch);
            let to = decides.map_or(Shard::new(0), |rule| rule.to);
            assert_eq!(table.queue_of(bucket), to, "step {step}");
        }
    }
    assert_eq!(table.entries() as usize, rules.len());
}

#[test]
fn the_highest_epoch_decides_and_old_rules_never_match_again() {
    let mut table = Emulated::new(ROOMY, Shard::new(0));
    let bucket = Bucket::new(9);
    done(&mut table, Change::Insert(rule(9, 1, 1)));
    done(&mut table, Change::Insert(rule(9, 2, 2)));
    done(&mut table, Change::Remove(rule(9, 1, 1)));
    done(&mut table, Change::Insert(rule(9, 1, 1)));
    assert_eq!(table.queue_of(bucket), Shard::new(2), "a late double");
    done(&mut table, Change::Remove(rule(9, 1, 1)));
    done(&mut table, Change::Remove(rule(9, 1, 1)));
    assert_eq!((table.queue_of(bucket), table.entries()), (Shard::new(2), 1), "twice removed");
    done(&mut table, Change::Remove(rule(9, 2, 2)));
    assert_eq!((table.queue_of(bucket), table.entries()), (Shard::new(0), 0));
}

#[test]
fn refusals() {
    let abilities = Abilities { entries: 1, operations_per_s: 0, delay_ns: 10, in_flight: 3 };
    let mut table = Emulated::new(abilities, Shard::new(0));
    let insert = |bucket, epoch, to| Change::Insert(rule(bucket, epoch, to));
    assert_eq!(asked(&mut table, 1, insert(1, 0, 1), 0), Err(Refused::Default));
    for ticket in 1..=3 {
        asked(&mut table, ticket, insert(ticket as u8, 1, 1), 0).unwrap();
    }
    assert_eq!(asked(&mut table, 4, insert(4, 1, 1), 0), Err(Refused::Busy));
    let no_room = Err(Refused::NoRoom);
    assert_eq!(answers(&mut table, 10), [(1, Ok(())), (2, no_room), (3, no_room)], "later");
    assert_eq!(asked(&mut table, 5, insert(4, 1, 1), 10), no_room, "at once");
    // A rule that is there needs no room, and isn't replaced.
    asked(&mut table, 6, insert(1, 1, 1), 10).unwrap();
    asked(&mut table, 7, insert(1, 1, 2), 10).unwrap();
    assert_eq!(answers(&mut table, 20), [(6, Ok(())), (7, Err(Refused::Taken(Shard::new(1))))]);
    // A removal under way may make room, and so may not be foreseen.
    asked(&mut table, 8, Change::Remove(rule(1, 1, 1)), 20).unwrap();
    asked(&mut table, 9, insert(4, 1, 1), 20).unwrap();
    assert_eq!(answers(&mut table, 30), [(8, Ok(())), (9, Ok(()))]);
}

#[test]
fn operations_take_time() {
    let abilities =
        Abilities { entries: 10, operations_per_s: 1_000_000, delay_ns: 500, in_flight: 10 };
    let mut table = Emulated::new(abilities, Shard::new(0));
    for ticket in 1..=3 {
        asked(&mut table, ticket, Change::Insert(rule(ticket as u8, 1, 1)), 10_000).unwrap();
    }
    let mut times = Vec::new();
    for now_ns in 10_000..13_000 {
        times.extend(answers(&mut table, now_ns).iter().map(|(ticket, _)| (*ticket, now_ns)));
    }
    assert_eq!(times, [(1, 10_500), (2, 11_500), (3, 12_500)], "one per microsecond");
}

#[test]
fn each_packet_is_counted_once() {
    let mut table = Emulated::new(ROOMY, Shard::new(0));
    let (old, new) = (rule(1, 1, 1), rule(1, 2, 2));
    let counts = |packets, bytes| Counts { packets, bytes };
    table.count(old.bucket, 60);
    done(&mut table, Change::Insert(old));
    table.count(old.bucket, 61);
    table.count(old.bucket, 62);
    done(&mut table, Change::Insert(new));
    table.count(old.bucket, 63);
    table.count(Bucket::new(2), 64);
    assert_eq!(table.default_counts(), counts(2, 124));
    assert_eq!(table.counts(&old), Some(counts(2, 123)));
    assert_eq!(table.counts(&new), Some(counts(1, 63)));
    done(&mut table, Change::Remove(old));
    assert_eq!((table.counts(&old), table.removed_counts()), (None, counts(2, 123)));
}

#[test]
fn the_flow_table_has_the_abilities_of_the_plan() {
    let facts = FlowTableFacts { entries: 300, operations_per_s: 50, delay_ns: 20_000_000 };
    let limits = Limits { in_flight: 7, ..Limits::default() };
    let expected =
        Abilities { entries: 300, operations_per_s: 50, delay_ns: 20_000_000, in_flight: 7 };
    assert_eq!(Abilities::of_plan(facts, &limits), expected);
}

/// Rule operations that were asked for again while all buckets go to another shard, with a table of
/// so many operations a second.
fn again(operations_per_s: u32) -> u64 {
    let delay_ns = 1_000_000_000 / u64::from(operations_per_s);
    let facts = FlowTableFacts { entries: 1_000, operations_per_s, delay_ns };
    let (limits, one) = (Limits::of_plan(facts), Shard::new(1));
    let mut coordinator = Coordinator::new(limits, 2, Shard::new(0)).expect("such a shard");
    let mut table = Emulated::new(Abilities::of_plan(facts, &limits), Shard::new(0));
    coordinator.want(BucketSet::ALL, one).expect("such a shard");
    let (mut now, mut goes) = (0, false);
    while !goes {
        coordinator.step(now, &mut table, |_, told| goes |= matches!(told, Told::Going { .. }));
        now += delay_ns / 10;
    }
    coordinator.report(now).totals.again
}

#[test]
fn no_operation_of_a_slow_table_counts_as_lost() {
    for operations_per_s in [1, 2, 5, 20, 1_429, 100_000] {
        assert_eq!(again(operations_per_s), 0, "{operations_per_s}");
    }
}
