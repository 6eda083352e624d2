//! Faulty policies: each is found out by the rules or by the bound of moves.

use cora_core::bucket::{Bucket, BucketSet};
use cora_switch::Shard;
use cora_switch::balance::{Balancer, Decision, PerBucket, Seen, Settings, Side};

use crate::plant::{Decides, Load, Plant, SERVED};
use crate::{LONG, all_at, dealt, zipf};

/// A policy of any kind.
type Policy = Box<dyn FnMut(&Seen<'_>) -> Option<Decision>>;

/// The rules that a policy broke first, in these situations.
fn breaks(mut new: impl FnMut() -> Policy) -> String {
    let much = SERVED * 17 / 10;
    for (owners, shards, sum, exponent) in [
        // Its queue is filled slowly.
        (all_at(0), 2, SERVED + 200, 0.0),
        (all_at(0), 2, much, 0.0),
        (all_at(0), 2, much, 1.2),
        (dealt(2), 2, much, 0.0),
        (all_at(1), 3, much, 2.0),
    ] {
        let mut by = new();
        let load = Load { rates: zipf(sum, exponent), waits: false };
        let mut plant = Plant::new(&owners, shards);
        if let Err(why) = plant.run(&mut by, &load, LONG) {
            return why;
        }
        if plant.decisions.len() > 80 {
            return format!("does not come to rest: {} moves", plant.decisions.len());
        }
    }
    let mut by = new();
    let mut plant = Plant::new(&dealt(2), 2);
    for at in 0..200 {
        let load = Load { rates: against(&plant.owners, Shard::new(at % 2)), waits: false };
        if let Err(why) = plant.run(&mut by, &load, 7) {
            return why;
        }
    }
    String::new()
}

/// A dozen buckets of this shard have nearly all packets.
fn against(owners: &PerBucket<Shard>, shard: Shard) -> PerBucket<u64> {
    let mut rates = [4; Bucket::COUNT];
    let owned = Bucket::all().filter(|bucket| owners[bucket.number()] == shard);
    owned.take(12).for_each(|bucket| rates[bucket.number()] = SERVED / 8);
    rates
}

fn with(settings: Settings) -> Policy {
    let mut balancer = Balancer::new(settings);
    Box::new(move |seen| Decides::decide(&mut balancer, seen))
}

/// Moves what `choose` says from the fullest shard to the emptiest, at each interval.
fn always(choose: fn(&Seen<'_>, Shard) -> BucketSet) -> Policy {
    Box::new(move |seen| {
        let by_fill = |(shard, fill): (usize, &Option<u8>)| fill.map(|fill| (fill, shard));
        let filled: Vec<_> = seen.fills.iter().enumerate().filter_map(by_fill).collect();
        let side =
            |(fill, shard): (u8, usize)| Side { shard: Shard::new(shard as u16), fill, share: 0 };
        let (from, to) = (side(*filled.iter().max()?), side(*filled.iter().min()?));
        let buckets = choose(seen, from.shard);
        (from.fill > 50 && to.fill <= 20 && !buckets.is_empty()).then_some(Decision {
            buckets,
            from,
            to,
        })
    })
}

fn of(seen: &Seen<'_>, shard: Shard) -> impl Iterator<Item = Bucket> {
    Bucket::all().filter(move |bucket| seen.owners[bucket.number()] == shard)
}

#[test]
fn the_policy_breaks_none() {
    assert_eq!(breaks(|| with(Settings::default())), "");
}

#[test]
fn a_bucket_that_does_not_rest_is_noticed() {
    let broken = breaks(|| with(Settings { rest: 0, ..Settings::default() }));
    assert!(broken.contains("has not rested"), "{broken}");
}

#[test]
fn a_policy_that_takes_all_is_noticed() {
    let broken = breaks(|| always(|seen, from| of(seen, from).collect()));
    assert!(broken.contains("too many buckets"), "{broken}");
    let broken = breaks(|| with(Settings { most: 64, ..Settings::default() }));
    assert!(broken.contains("too many buckets"), "{broken}");
}

#[test]
fn a_policy_that_moves_elephants_is_noticed() {
    let elephants = |seen: &Seen<'_>, from| {
        let packets = |bucket: Bucket| seen.packets[bucket.number()];
        let whole: u64 = of(seen, from).map(packets).sum();
        of(seen, from).filter(|bucket| packets(*bucket) > whole * 11 / 20).collect()
    };
    let broken = breaks(|| always(elephants));
    assert!(broken.contains("an elephant moves"), "{broken}");
}

#[test]
fn a_policy_that_goes_by_queues_alone_is_noticed() {
    let broken = breaks(|| with(Settings { full: 10, empty: 90, ..Settings::default() }));
    assert!(broken.contains("queues are not full and empty"), "{broken}");
}
