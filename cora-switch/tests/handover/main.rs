//! The handover of buckets: all interleavings of small scenarios, and seeded simulations of larger
//! ones, with faults of the flow table and deaths of shards.

mod checker;
mod planted;
mod random;
mod shard;
mod simulation;
mod table;
mod world;

use checker::explore;
use cora_switch::Limits;
use table::Misdeeds;
use world::{FRAME, Sabotage, Scenario};

/// So many packets of each bucket, and buckets that are to go to a shard. At first, shard 0 has
/// all.
fn scenario(shards: u16, packets: &[u8], wishes: &[(&[u8], u16)]) -> Scenario {
    Scenario {
        shards,
        packets: packets.to_vec(),
        wishes: wishes.iter().map(|(buckets, to)| (buckets.to_vec(), *to)).collect(),
        limits: Limits { held_bytes: 2 * FRAME as u64, packet_ns: 1_000, ..Limits::default() },
        ..Scenario::default()
    }
}

const SOUND: Misdeeds = Misdeeds { losses: 0, refusals: 0, doubles: 0 };

fn holds(name: &str, scenario: &Scenario, misdeeds: Misdeeds) -> usize {
    let began = std::time::Instant::now();
    let explored = explore(scenario, misdeeds)
        .unwrap_or_else(|broken| panic!("{name}: {} after {:?}", broken.violation, broken.path));
    println!("{name}: {explored:?} in {:?}", began.elapsed());
    explored.states
}

#[test]
fn moves() {
    assert!(holds("one move", &scenario(2, &[3], &[(&[0], 1)]), SOUND) > 1_000);
    assert!(holds("there and back", &scenario(2, &[3], &[(&[0], 1), (&[0], 0)]), SOUND) > 5_000);
    assert!(holds("and on", &scenario(3, &[3], &[(&[0], 1), (&[0], 2)]), SOUND) > 5_000);
    let two = scenario(2, &[2, 1], &[(&[0, 1], 1)]);
    assert!(holds("two buckets", &two, SOUND) > 5_000);
    let apart = Scenario { settled: 1, ..scenario(3, &[1, 1], &[(&[0], 1), (&[0, 1], 2)]) };
    assert!(holds("of two owners", &apart, SOUND) > 1_000);
}

#[test]
fn packets_wait() {
    let limits = Limits { held_bytes: 1_000, packet_ns: 1, ..Limits::default() };
    let late = Scenario { limits, ..scenario(2, &[3], &[(&[0], 1)]) };
    assert!(holds("late packets wait", &late, SOUND) > 500);
    let limits = Limits { held_bytes: 1, packet_ns: 1_000, ..Limits::default() };
    let full = Scenario { limits, ..scenario(2, &[3], &[(&[0], 1)]) };
    assert!(holds("packets beyond the held ones wait", &full, SOUND) > 500);
}

#[test]
fn a_table_loses_and_doubles_and_refuses() {
    let one = Scenario { hasty: 1, ..scenario(2, &[2], &[(&[0], 1)]) };
    let all = Misdeeds { losses: 1, refusals: 1, doubles: 1 };
    assert!(holds("all misdeeds", &one, all) > 10_000);
    let back = scenario(2, &[2], &[(&[0], 1), (&[0], 0)]);
    assert!(holds("doubled later", &back, Misdeeds { doubles: 2, ..SOUND }) > 5_000);
    let on = scenario(3, &[2], &[(&[0], 1), (&[0], 2)]);
    assert!(holds("lost twice", &on, Misdeeds { losses: 2, ..SOUND }) > 1_000);
    let two = scenario(2, &[1, 1], &[(&[0, 1], 1)]);
    assert!(holds("one of two refused", &two, Misdeeds { refusals: 1, ..SOUND }) > 1_000);
}

#[test]
fn shards_die() {
    let one = scenario(2, &[2], &[(&[0], 1)]);
    assert!(holds("one death", &Scenario { deaths: 1, ..one.clone() }, SOUND) > 1_000);
    assert!(holds("two deaths", &Scenario { deaths: 2, ..one }, SOUND) > 5_000);
    let back = scenario(2, &[2], &[(&[0], 1), (&[0], 0)]);
    assert!(holds("a death there or back", &Scenario { deaths: 1, ..back }, SOUND) > 10_000);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn handovers_of_larger_scenarios() {
    let misdeeds = Misdeeds { losses: 1, refusals: 1, doubles: 1 };
    let on = scenario(3, &[3, 2], &[(&[0, 1], 1), (&[0], 2)]);
    holds("two buckets, two moves", &on, SOUND);
    let one = Scenario { hasty: 1, deaths: 1, ..scenario(2, &[3], &[(&[0], 1)]) };
    holds("misdeeds and a death", &one, misdeeds);
    let back = scenario(3, &[4], &[(&[0], 1), (&[0], 2)]);
    let doubles = Misdeeds { doubles: 2, losses: 1, ..SOUND };
    holds("misdeeds, two moves", &Scenario { hasty: 1, ..back.clone() }, doubles);
    holds("two deaths, two moves", &Scenario { deaths: 2, ..back }, SOUND);
    let two = Scenario { deaths: 1, ..scenario(2, &[2, 2], &[(&[0, 1], 1)]) };
    holds("two buckets and a death", &two, Misdeeds { refusals: 1, ..SOUND });
    let apart = Scenario { settled: 1, ..scenario(3, &[2, 1], &[(&[0], 1), (&[0, 1], 2)]) };
    holds("of two owners, and a death", &Scenario { deaths: 1, ..apart }, SOUND);
    let sabotage = Sabotage::ReplaceInPlace;
    let onward = Scenario { settled: 1, ..scenario(3, &[3], &[(&[0], 1), (&[0], 2)]) };
    let unordered = Scenario { strays: true, disorder: true, deaths: 1, sabotage, ..onward };
    holds("replaced in place, and a death", &unordered, SOUND);
    let long = scenario(2, &[5], &[(&[0], 1), (&[0], 0)]);
    holds("five packets", &long, Misdeeds { losses: 1, ..SOUND });
}
