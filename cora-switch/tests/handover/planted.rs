//! Planted faults: the checker finds each, and for its own reason.

use super::{SOUND, holds, scenario};
use crate::checker::explore;
use crate::world::{Sabotage, Scenario};

/// One bucket, from shard 0 to shard 1.
fn away() -> Scenario {
    scenario(2, &[3], &[(&[0], 1)])
}

/// One bucket, from shard 1 to shard 2. The default rule leads to shard 0.
fn onward() -> Scenario {
    Scenario { settled: 1, ..scenario(3, &[3], &[(&[0], 1), (&[0], 2)]) }
}

/// A fault, a scenario that shows it, and its effect. Frames at wrong shards are no violation
/// where the effect is a later one.
fn planted() -> [(Sabotage, Scenario, &'static str); 11] {
    let strays = |scenario| Scenario { strays: true, ..scenario };
    let out_of_order = "was handled after number";
    [
        (Sabotage::EarlyMarker, strays(away()), out_of_order),
        (Sabotage::ReplaceInPlace, strays(onward()), out_of_order),
        (
            Sabotage::LateComing,
            strays(away()),
            "an honest shard is blamed: shard 1 returns a frame",
        ),
        (Sabotage::OldRuleFirst, strays(onward()), out_of_order),
        (Sabotage::EqualEpochs, onward(), "packets of bucket 0 go to shard 0, but shard 2 has it"),
        (Sabotage::LateEntries, away(), "an entry of move 1 is not expected"),
        (
            Sabotage::StrayDropped,
            Scenario { disorder: true, ..strays(onward()) },
            "of bucket 0 is lost",
        ),
        (Sabotage::WrongShard, away(), "an entry of move 1 is not expected"),
        (Sabotage::NoVoid, Scenario { deaths: 1, ..away() }, "an update was lost"),
        (Sabotage::HeldForgotten, away(), "of bucket 0 is lost"),
        (
            Sabotage::AllFedAgain,
            Scenario { deaths: 1, fed_again: true, ..strays(away()) },
            out_of_order,
        ),
    ]
}

fn is_caught(sabotage: Sabotage, scenario: Scenario, effect: &str) {
    let broken = explore(&Scenario { sabotage, ..scenario }, SOUND).expect_err(effect);
    println!("{sabotage:?}: {} after {:?}", broken.violation, broken.path);
    assert!(broken.violation.contains(effect), "{sabotage:?}: {}", broken.violation);
}

#[test]
fn planted_faults_are_caught() {
    for (sabotage, scenario, effect) in planted() {
        is_caught(sabotage, scenario, effect);
    }
}

/// The scenarios hold without the faults. A table that replaces rules in place costs order alone.
#[test]
fn scenarios_of_planted_faults_hold_without_them() {
    holds("away", &away(), SOUND);
    holds("onward", &onward(), SOUND);
    holds("away, with a death", &Scenario { deaths: 1, ..away() }, SOUND);
    let again = Scenario { deaths: 1, fed_again: true, ..away() };
    holds("away, with a death, and unread frames fed again", &again, SOUND);
    let sabotage = Sabotage::ReplaceInPlace;
    let unordered = Scenario { strays: true, disorder: true, sabotage, ..onward() };
    holds("onward, replaced in place", &unordered, SOUND);
}
