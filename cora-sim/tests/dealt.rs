//! Halves that each receive their own buckets, which move between them: as the host alone.

use std::panic::catch_unwind;

use cora_sim::dealt::{Mistake, run_dealt, run_mistaken, run_sound};
use cora_sim::runtime::Faults;

/// `cargo xtask chaos` runs more.
const SEEDS: u64 = 1_000;
/// Seeds of runs with a planted mistake.
const MISTAKEN: u64 = 400;

#[test]
fn buckets_that_move_change_no_result() {
    let mut faults = Faults::default();
    for seed in 0..SEEDS {
        let ran = run_dealt(seed, 48, 0).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        faults.add(&ran.faults);
    }
    println!("{faults}");
    let Faults { bucket_moves, stayed, rule_faults, strays, wire_waits, ends_moved, .. } = faults;
    assert!(ends_moved > 100, "{faults}");
    assert!(bucket_moves > 2 * SEEDS && stayed > 100 && rule_faults > SEEDS, "{faults}");
    assert!(strays > 400 && wire_waits > SEEDS && faults.wishes > 2 * SEEDS, "{faults}");
}

#[test]
fn invariants_hold_when_halves_die() {
    let (mut faults, mut lost) = (Faults::default(), 0);
    for seed in 0..SEEDS {
        let kills = 1 + seed % 4;
        let ran = run_dealt(seed, 48, kills);
        let ran = ran.unwrap_or_else(|what| panic!("seed {seed}, {kills} kills: {what}"));
        faults.add(&ran.faults);
        lost += ran.lost;
    }
    println!("{lost} packets lost; {faults}");
    let Faults { nic_kills, host_kills, afresh, .. } = faults;
    assert!(nic_kills > 500 && host_kills > 500 && afresh > 50 && lost > 40, "{faults}");
}

/// A seed decides everything.
#[test]
fn a_run_is_the_same_again() {
    for seed in 0..40 {
        let [one, other] = [(); 2].map(|()| format!("{:?}", run_dealt(seed, 48, seed % 3)));
        assert_eq!(one, other, "seed {seed}");
    }
}

/// Each planted mistake is detected within a few seeds.
#[test]
fn planted_mistakes_are_noticed() {
    for mistake in Mistake::ALL {
        // Programs and halves may also panic.
        let what = |seed: u64| match catch_unwind(|| run_mistaken(mistake, seed)) {
            Ok(outcome) => outcome.err(),
            Err(_) => Some("a panic".to_owned()),
        };
        // A half must die amid a move, with packets that it left unread.
        let seeds = if mistake.needs_kills() { 3 * MISTAKEN } else { MISTAKEN };
        let whats: Vec<String> = (0..seeds).filter_map(what).collect();
        let (noticed, first) = (whats.len(), whats.first());
        println!("{mistake:?}: noticed by {noticed} of {seeds} seeds, as {first:?}");
        assert!(noticed > 3, "{mistake:?}: noticed by {noticed} of {seeds} seeds");
    }
}

/// What the mistakes are planted in is sound.
#[test]
fn runs_hold_without_their_mistakes() {
    for seed in 0..MISTAKEN {
        for kills in [0, 4] {
            let ran = run_sound(seed, kills);
            ran.unwrap_or_else(|what| panic!("seed {seed}, {kills} kills: {what}"));
        }
    }
}
