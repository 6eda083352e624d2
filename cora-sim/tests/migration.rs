//! Results don't depend on the schedule: both halves of the protocol give the results of the host
//! alone. They run in one process, joined by queues of encoded messages and driven by a seeded
//! scheduler.
//!
//! Under Miri two programs run, with one seed each: the others use memory in the same ways.
//!
//! `CORA_TESTS=all` tries twice as many seeds.
//!
//! A failing seed is printed; `CORA_SEEDS=399..400` runs that one alone, and
//! `CORA_SEEDS=20000 cargo test --release --package cora-sim --test migration` tries more.
#![cfg_attr(miri, allow(dead_code, unused_imports, reason = "Miri runs some of the tests only"))]

use std::ops::Range;

use cora_sim::apps::balancer::Balancer;
use cora_sim::apps::counters::Counting;
use cora_sim::apps::crowded::Crowded;
use cora_sim::apps::firewall::Firewall;
use cora_sim::apps::hairpin::Hairpin;
use cora_sim::apps::inside::Inside;
use cora_sim::apps::mirrors::Mirrors;
use cora_sim::apps::nat::Nat;
use cora_sim::apps::tenants::Tenants;
use cora_sim::apps::{Mixing, NoRollback, OfferedAfter, Share, SimApp, Unordered};
use cora_sim::link::Sabotage;
use cora_sim::queues::{self, Account};
use cora_sim::traffic;

/// Packets of a case.
const PACKETS: u32 = if cfg!(miri) { 40 } else { 400 };

/// Returns all seeds, or one of `one_of`.
fn seeds(one_of: u64) -> Range<u64> {
    let stated = std::env::var("CORA_SEEDS").ok();
    let number =
        |text: &str| text.parse().expect("CORA_SEEDS is a number, or two with `..` between");
    match stated.as_deref().map(|text| text.split_once("..").ok_or(text)) {
        Some(Ok((from, to))) => number(from)..number(to),
        Some(Err(count)) => 0..number(count).div_ceil(one_of),
        None if cfg!(miri) => 0..1,
        None if std::env::var("CORA_TESTS").is_ok_and(|it| it == "all") => 0..360 / one_of,
        None => 0..180 / one_of,
    }
}

/// Runs all seeds; each must give the results of the host alone.
fn holds<A: SimApp>(seeds: Range<u64>) -> Account {
    let mut account = Account::default();
    for seed in seeds {
        let case = traffic::make::<A>(seed, PACKETS);
        match queues::run::<A>(&case, seed, Sabotage::None) {
            Ok(one) => account.add(&one),
            Err(error) => {
                panic!("{} with seed {seed}, share {}: {error}", A::NAME, A::PLAN.nic_share)
            }
        }
    }
    println!("{}, share {}: {account:?}", A::NAME, A::PLAN.nic_share);
    account
}

/// Runs seeds until one shows a difference.
fn is_noticed<A: SimApp>(sabotage: Sabotage) {
    for seed in seeds(1) {
        let case = traffic::make::<A>(seed, PACKETS);
        if let Err(difference) = queues::run::<A>(&case, seed, sabotage) {
            println!("{} {sabotage:?}, seed {seed}: {difference}", A::NAME);
            return;
        }
    }
    panic!("{} with {sabotage:?}: no seed shows anything", A::NAME);
}

/// Returns whether the seeds are too few to reach everything.
fn few() -> bool {
    seeds(1).count() < 100
}

/// Checks that the schedules reached the events that they are meant to reach.
fn did_everything(account: &Account) {
    if few() {
        return;
    }
    for (count, what) in [
        (account.nic.packets, "packets handled at the NIC"),
        (account.host.packets, "packets handled at the host"),
        (account.nic.offloads, "offloads"),
        (account.nic.declined, "offers that came to nothing"),
        (account.nic.held, "packets held"),
    ] {
        assert!(count > 100, "only {count} {what}");
    }
}

#[test]
fn nat() {
    let account = holds::<Nat<Share<1024>>>(seeds(1));
    did_everything(&account);
    assert!(few() || account.nic.punts > 100, "{account:?}");
    if cfg!(miri) {
        return;
    }
    holds::<Nat<Share<512>>>(seeds(2));
    assert_eq!(holds::<Nat<Share<0>>>(seeds(10)).nic.offloads, 0);
}

#[cfg(not(miri))]
#[test]
fn balancer() {
    let account = holds::<Balancer<Share<1024>>>(seeds(1));
    did_everything(&account);
    assert!(few() || account.nic.punts > 100, "{account:?}");
    holds::<Balancer<Share<512>>>(seeds(2));
}

#[cfg(not(miri))]
#[test]
fn firewall() {
    did_everything(&holds::<Firewall<Share<1024>>>(seeds(1)));
    holds::<Firewall<Share<512>>>(seeds(2));
    // Flows that end sooner never move.
    let all = holds::<Firewall<Share<1024>>>(seeds(1)).nic.offloads;
    let late = holds::<Firewall<OfferedAfter<5>>>(seeds(1)).nic.offloads;
    assert!(late > 0 && late < all, "{late} offloads after five packets, {all} after one");
}

#[test]
fn inside() {
    did_everything(&holds::<Inside<Share<1024>>>(seeds(1)));
    if !cfg!(miri) {
        holds::<Inside<Share<512>>>(seeds(2));
    }
}

/// Inside hosts talk to each other, by either port: keys of groups collide.
#[cfg(not(miri))]
#[test]
fn hairpin() {
    did_everything(&holds::<Hairpin<Share<1024>>>(seeds(1)));
    holds::<Hairpin<Share<512>>>(seeds(2));
}

/// The key of one flow's answers is the reverse of another flow's own key.
#[cfg(not(miri))]
#[test]
fn mirrors() {
    did_everything(&holds::<Mirrors<Share<1024>>>(seeds(1)));
    holds::<Mirrors<Share<512>>>(seeds(2));
}

/// Tenants have connections with the same five-tuples, and chosen reply keys.
#[cfg(not(miri))]
#[test]
fn tenants() {
    did_everything(&holds::<Tenants<Share<1024>>>(seeds(1)));
    holds::<Tenants<Share<512>>>(seeds(2));
}

/// A packet must find only the entries of its own group: if it finds others at its side, results
/// depend on the schedule.
#[cfg(not(miri))]
#[test]
fn groups_that_find_each_others_entries_are_noticed() {
    is_noticed::<Hairpin<Mixing>>(Sabotage::None);
    is_noticed::<Tenants<Mixing>>(Sabotage::None);
}

/// Tables are always full, on both sides: no flow that comes back ends a run.
#[cfg(not(miri))]
#[test]
fn full_tables() {
    let mut account = Account::default();
    for seed in seeds(1) {
        let case = traffic::make::<Crowded<Share<1024>>>(seed, PACKETS);
        match queues::run_full::<Crowded<Share<1024>>>(&case, seed) {
            Ok(one) => account.add(&one),
            Err(error) => panic!("with seed {seed}: {error}"),
        }
    }
    println!("{account:?}");
    did_everything(&account);
    assert!(few() || account.host.evicted > 100, "{account:?}");
    assert_eq!(account.host.refused, 0, "no two flows have a key");
}

#[cfg(not(miri))]
#[test]
fn counters() {
    let account = holds::<Counting<Share<1024>>>(seeds(1));
    assert!(few() || account.nic.punts > 100, "{account:?}");
    holds::<Counting<Share<512>>>(seeds(2));
}

/// Shows that the rule of [`PlanFacts::host_ordered`](cora_core::app::PlanFacts) is needed: without
/// it, ports are not assigned in the order of arrival.
#[cfg(not(miri))]
#[test]
fn ports_want_the_order_of_arrival() {
    is_noticed::<Nat<Unordered>>(Sabotage::None);
    is_noticed::<Inside<Unordered>>(Sabotage::None);
}

/// Shows that handlers that choose reply keys need the rule, too. An answer finds no entry while
/// the packet that makes its key waits, so it must wait too.
#[cfg(not(miri))]
#[test]
fn chosen_reply_keys_want_the_order_of_arrival() {
    is_noticed::<Balancer<Unordered>>(Sabotage::None);
}

#[cfg(not(miri))]
#[test]
fn writes_of_a_punting_packet_that_stay_are_noticed() {
    is_noticed::<Nat<NoRollback>>(Sabotage::None);
    is_noticed::<Balancer<NoRollback>>(Sabotage::None);
}

#[cfg(not(miri))]
#[test]
fn messages_out_of_order_are_noticed() {
    is_noticed::<Nat<Share<1024>>>(Sabotage::FenceFirst);
    is_noticed::<Firewall<Share<1024>>>(Sabotage::FenceFirst);
    is_noticed::<Firewall<Share<1024>>>(Sabotage::TransferFirst);
    is_noticed::<Nat<Share<1024>>>(Sabotage::PacketFirst);
}

#[cfg(not(miri))]
#[test]
fn lost_and_doubled_entries_are_noticed() {
    is_noticed::<Firewall<Share<1024>>>(Sabotage::DropEntry);
    is_noticed::<Nat<Share<1024>>>(Sabotage::DoubleEntry);
}

#[cfg(not(miri))]
#[test]
fn keys_that_were_not_announced_are_noticed() {
    is_noticed::<Nat<Share<1024>>>(Sabotage::NoKeys);
    is_noticed::<Balancer<Share<1024>>>(Sabotage::NoKeys);
}
