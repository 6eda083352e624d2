//! Seeded simulations: random scenarios on the emulated table, with time, lost and doubled
//! operations, and deaths.

use std::time::Instant;

use cora_switch::{Abilities, Limits, Shard};

use super::random::Random;
use super::table::Rough;
use super::world::{Choice, FRAME, Scenario, World};

/// Most steps of a run: more would be one without an end.
const LONGEST: usize = 20_000;

/// Totals of runs.
#[derive(Debug, Default)]
struct Ran {
    packets: u64,
    moves: u64,
    voids: u64,
    stayed: u64,
    again: u64,
}

fn scenario(random: &mut Random) -> Scenario {
    let shards = 2 + random.below(3) as u16;
    let buckets = 1 + random.below(4) as u8;
    let packets = (0..buckets).map(|_| random.below(12) as u8).collect();
    let wish = |random: &mut Random| {
        let wished = (0..buckets).filter(|_| random.once_in(2)).collect();
        (wished, random.below(shards.into()) as u16)
    };
    let wishes: Vec<_> = (0..=random.below(5)).map(|_| wish(random)).collect();
    Scenario {
        shards,
        packets,
        settled: random.below(2) as usize,
        wishes,
        deaths: if random.once_in(2) { random.below(4) as u8 } else { 0 },
        fed_again: random.once_in(2),
        limits: Limits {
            held_bytes: (1 + random.below(8)) * FRAME as u64,
            packet_ns: 1 + random.below(20),
            again_ns: 1_000 + random.below(4_000),
            in_flight: 1 + random.below(4) as usize,
            ..Limits::default()
        },
        ..Scenario::default()
    }
}

fn table(random: &mut Random, buckets: usize) -> Rough {
    let abilities = Abilities {
        // In some runs, there is room for few rules.
        entries: if random.once_in(8) {
            1 + random.below(buckets as u64 * 2) as u32
        } else {
            1_000
        },
        operations_per_s: [0, 1_000_000, 10_000_000][random.below(3) as usize],
        delay_ns: random.below(3_000),
        in_flight: 1 + random.below(6) as u32,
    };
    let once_in = if random.once_in(2) { 2 + random.below(8) } else { 0 };
    Rough::new(abilities, Shard::new(0), Random::new(random.next()), once_in)
}

fn run(seed: u64, ran: &mut Ran) -> Result<(), String> {
    let mut random = Random::new(seed);
    let scenario = scenario(&mut random);
    let mut world = World::new(&scenario, table(&mut random, scenario.packets.len()));
    for _ in 0..LONGEST {
        let (mut choices, _) = world.choices(&scenario);
        let is_death = |choice: &Choice| matches!(choice, Choice::Die(_));
        if !random.once_in(30) {
            choices.retain(|choice| !is_death(choice));
        }
        // Time does that here.
        choices.retain(|choice| *choice != Choice::Again);
        let is_over = choices.iter().all(is_death) && world.coordinator.is_quiet();
        if is_over {
            world.judge_end(&scenario)?;
            let totals = world.coordinator.report(world.now_ns).totals;
            ran.packets += scenario.packets.iter().copied().map(u64::from).sum::<u64>();
            ran.moves += totals.moves;
            ran.voids += totals.voids;
            ran.stayed += totals.stayed;
            ran.again += totals.again;
            return Ok(());
        }
        world.now_ns += random.below(300);
        if choices.is_empty() || random.once_in(4) {
            world.settle(&scenario);
        } else {
            let choice = choices[random.below(choices.len() as u64) as usize];
            world.go(choice, &scenario)?;
        }
    }
    Err(format!("no end: {}", world.coordinator.report(world.now_ns)))
}

fn runs(seeds: u64) {
    let (began, mut ran) = (Instant::now(), Ran::default());
    for seed in 0..seeds {
        if let Err(violation) = run(seed, &mut ran) {
            panic!("seed {seed}: {violation}");
        }
        if (seed + 1).is_multiple_of(100_000) {
            println!("{} of {seeds} seeds in {:?}: {ran:?}", seed + 1, began.elapsed());
        }
    }
    println!("{seeds} seeds in {:?}: {ran:?}", began.elapsed());
    assert!(ran.moves > seeds && ran.packets > seeds, "{ran:?}");
    assert!(ran.voids > 0 && ran.stayed > 0 && ran.again > 0, "all that happens, happens: {ran:?}");
}

#[test]
fn seeds() {
    runs(20_000);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn handovers_of_a_million_seeds() {
    runs(1_000_000);
}
