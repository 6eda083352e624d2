//! A region in two memories, on a network with faults: halves and cards die. `cargo xtask chaos
//! --link` runs more.
//!
//! `CORA_LINK_SEEDS` says how many seeds a long run has.

use cora_sim::link_chaos::mistakes::Mistake;
use cora_sim::link_chaos::region::Case;
use cora_sim::link_chaos::{Tally, fates};

type Fate = fn(Case) -> Result<Tally, String>;

fn all_hold(fate: Fate, cases: impl Iterator<Item = Case>) -> Tally {
    let mut all = Tally::default();
    for case in cases {
        all.add(&fate(case).unwrap_or_else(|wrong| panic!("{case:?}: {wrong}")));
    }
    println!("{all}");
    all
}

fn seeds() -> u64 {
    let told = std::env::var("CORA_LINK_SEEDS").ok().and_then(|text| text.parse().ok());
    told.unwrap_or(300)
}

#[test]
fn a_region_in_two_memories_is_as_one() {
    all_hold(fates::undisturbed, (0..20).map(Case::of));
}

/// No frame is lost, and none comes twice.
#[test]
fn a_host_half_that_dies_leaves_nothing_behind() {
    let all = all_hold(fates::hosts_die, (0..seeds()).map(Case::apart_in_a_quarter));
    assert!(all.host_deaths > 0, "host halves died");
}

#[test]
fn what_a_card_did_not_take_is_for_the_next_one() {
    let all = all_hold(fates::cards_die, (0..seeds()).map(Case::apart_in_a_quarter));
    assert!(all.lost_with_cards > 0, "cards had taken frames when they lost their power");
}

#[test]
fn the_end_of_a_nic_half_comes_behind_all_that_it_said() {
    all_hold(fates::nic_ends, (0..50).map(Case::of));
}

/// Each mistake is found out, within a few seeds, by the checks of the simulation.
#[test]
fn each_planted_mistake_is_found() {
    for (mistake, fate, signs) in [
        // The record is not there, or its place is used before it was taken.
        (
            Mistake::TookMore,
            fates::hosts_die as Fate,
            &["a record was taken that is not there", "a ring has no room for a record"][..],
        ),
        (Mistake::TookElsewhere, fates::hosts_die, &["a record was taken that is not there"]),
        (Mistake::ArrivedElsewhere, fates::hosts_die, &["it is where nobody told it to be"]),
        (Mistake::ArrivedUnsaid, fates::hosts_die, &["no NIC half comes", "nothing leaves"]),
        (Mistake::FollowElsewhere, fates::hosts_die, &["a region that does not follow"]),
        (Mistake::FollowUnsaid, fates::hosts_die, &["no NIC half comes", "nothing leaves"]),
        (Mistake::HostUnsaid, fates::undisturbed, &["but not its heartbeat"]),
        (Mistake::EndedUnsaid, fates::nic_ends, &["hears of no end"]),
        (Mistake::MessageUnsaid, fates::undisturbed, &["left before its note"]),
    ] {
        let mistaken = |seed| Case { mistake: Some(mistake), ..Case::of(seed) };
        let found = (0..200).find_map(|seed| Some((seed, fate(mistaken(seed)).err()?)));
        let (seed, found) = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("{mistake:?}, seed {seed}: {found}");
        assert!(signs.iter().any(|sign| found.contains(sign)), "{mistake:?}: {found}");
    }
}
