//! The whole runtime under seeded faults gives the results of the host alone.

use std::panic::catch_unwind;

use cora_sim::apps::crowd::Crowd;
use cora_sim::apps::judged::Judging;
use cora_sim::apps::marks::Marking;
use cora_sim::apps::tickets::{Kept, Ticketing};
use cora_sim::apps::visits::Visiting;
use cora_sim::apps::{Copying, Share};
use cora_sim::chaos;
use cora_sim::runtime::{
    FAULTS, Faults, Liar, Planted, run_conducted, run_hooked, run_killed, run_lied_to, run_merged,
    run_planted,
};
use cora_sim::traffic;

/// `cargo xtask chaos` runs more.
const SEEDS: u64 = 1000;

#[test]
fn many_seeds_hold() {
    let (mut faults, mut moves) = (Faults::default(), 0);
    for seed in 0..SEEDS {
        let ran = chaos::one(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        faults.add(&ran.faults);
        moves += ran.moves;
    }
    println!("{moves} moves; {faults}");
    assert!(moves > SEEDS, "only {moves} moves");
    // Moves that begin afresh are rare: the tests of dealt buckets have enough of them.
    let mut counts = FAULTS.iter().zip(faults.counts()).filter(|(name, _)| **name != "afresh");
    assert!(counts.all(|(_, count)| count > 10), "too little was done: {faults}");
}

#[test]
fn a_seed_decides_everything() {
    for seed in 0..50 {
        let [one, other] = [chaos::one(seed), chaos::one(seed)].map(|ran| format!("{ran:?}"));
        assert_eq!(one, other, "seed {seed}");
    }
}

/// The controller of `run --moves adapt` moves flows, by virtual time. Results are those of the
/// host alone, and moves keep to the bounds that it states (each run checks both).
#[test]
fn a_controller_keeps_its_promises_while_traffic_changes() {
    let (mut moves, mut alone, mut packets) = (0, 0, 0);
    for seed in 0..16 {
        let ran = run_conducted::<Visiting<Share<1024>>>(seed, 6_000);
        let ran = ran.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        moves += ran.moves;
        alone += ran.nic.packets;
        packets += ran.packets;
    }
    println!("{moves} moves, {alone} of {packets} packets handled at the NIC");
    assert!(moves > 1_000, "only {moves} moves");
    assert!(alone > packets / 4, "only {alone} of {packets} packets at the NIC");
    let [one, other] = [(); 2].map(|()| run_conducted::<Visiting<Share<1024>>>(77, 4_000));
    assert_eq!(format!("{one:?}"), format!("{other:?}"), "a seed decides everything");
}

/// One half changes, repeats, omits and invents records. The other half reports it or goes on; the
/// liar alone is ended; flows that begin afterwards lose nothing.
#[test]
fn a_liar_is_ended_and_the_run_goes_on() {
    for liar in [Liar::Nic, Liar::Host] {
        let (mut faults, mut honest) = (Faults::default(), 0);
        for seed in 0..400 {
            let case = traffic::make_filled::<Marking<Share<1024>>>(seed, 48, 0);
            let ran = run_lied_to::<Share<1024>>(&case, seed, liar, 1 + seed % 2);
            let ran = ran.unwrap_or_else(|what| panic!("{liar:?}, seed {seed}: {what}"));
            faults.add(&ran.faults);
            honest += ran.honest;
        }
        println!("{liar:?}: {faults}; {honest} packets afterwards");
        assert!(faults.lies > 400 && faults.lies_noticed > 100, "too few lies: {faults}");
        assert!(honest > 400, "only {honest} packets of flows that began afterwards");
        let (liars, others) = match liar {
            Liar::Nic => (faults.nic_kills, faults.host_kills),
            Liar::Host => (faults.host_kills, faults.nic_kills),
        };
        assert!(liars >= 400 && others == 0, "ended: {liars} liars, {others} others");
    }
}

/// Handlers send so many copies that the egress ring is published amid a burst. Even then nothing
/// leaves that depends on a lost update.
#[test]
fn copies_leave_behind_the_updates_of_their_packets() {
    let (mut faults, mut moves) = (Faults::default(), 0);
    for seed in 0..400 {
        let case = traffic::make_filled::<Marking<Copying>>(seed, 48, (seed % 4) as usize * 200);
        let ran = run_killed::<Copying>(&case, seed, 1 + seed % 3);
        let ran = ran.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        faults.add(&ran.faults);
        moves += ran.moves;
    }
    println!("{moves} moves; {faults}");
    assert!(moves > 400 && faults.nic_kills > 100 && faults.host_kills > 100, "{faults}");
}

/// Each packet is judged by the version of the rules in force at its arrival, and each entry that
/// ends becomes one record.
#[test]
fn versions_and_records_are_those_of_the_host_alone() {
    let (mut versions, mut records, mut moves) = (0, 0, 0);
    for seed in 0..400 {
        let case = traffic::make_filled::<Judging<Share<1024>>>(seed, 48, 0);
        versions += case.changes.len();
        records += case.expected.ended.values().sum::<u64>();
        let ran = cora_sim::runtime::run::<Judging<Share<1024>>>(&case, seed);
        moves += ran.unwrap_or_else(|what| panic!("seed {seed}: {what}")).moves;
    }
    assert!(versions > 4_000 && records > 2_000 && moves > 1_000, "{versions} {records} {moves}");
}

/// Each packet reads the same merge of both sides' counts as on the host alone. Of three runs one
/// has kills: nothing waits for a dead side.
#[test]
fn merges_are_those_of_the_host_alone() {
    let (mut faults, mut moves) = (Faults::default(), 0);
    for seed in 0..600 {
        let case = traffic::make_filled::<Crowd<Share<1024>>>(seed, 48, (seed % 3) as usize * 300);
        let ran = run_merged::<Share<1024>>(&case, seed, [0, 0, 2][(seed % 3) as usize]);
        let ran = ran.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        faults.add(&ran.faults);
        moves += ran.moves;
    }
    println!("{moves} moves; {faults}");
    assert!(moves > 1_000 && faults.nic_kills > 50 && faults.host_kills > 50, "{faults}");
}

/// Each planted mistake is detected within a few seeds.
#[test]
fn planted_mistakes_are_noticed() {
    for (planted, seeds) in [
        (Planted::WallClock, 200),
        (Planted::LosesCopies, 200),
        (Planted::EndsTheOther, 200),
        (Planted::TearsVersions, 200),
        (Planted::LosesRecords, 200),
        (Planted::TellsEndsLate, 200),
        // The entry must end between the host's last packet and the fence.
        (Planted::TellsNoTime, 3000),
        (Planted::NeverWaits, 200),
        (Planted::TurnsLate, 200),
        (Planted::LosesParts, 200),
        (Planted::EffectFirst, 200),
        (Planted::ReleasesLate, 200),
    ] {
        // A program may also panic if its clock runs back.
        let breaks = |seed: &u64| {
            !catch_unwind(|| run_planted(planted, *seed)).is_ok_and(|outcome| outcome.is_ok())
        };
        let noticed = (0..seeds).filter(breaks).count();
        println!("{planted:?}: noticed by {noticed} of {seeds} seeds");
        assert!(noticed > 3, "{planted:?}: noticed by {noticed} of {seeds} seeds");
    }
}

/// A NIC refuses a flow while the host hands it over in steps and others wait for their turn; idle
/// flows are recalled while packets of others wait; a host ends while it reclaims a dead NIC's
/// flows; transmitted packets fill the wire's ring.
#[test]
fn what_broke_once_holds() {
    let refused = [4_295_018_926, 4_295_023_201, 4_295_120_871, 4_295_169_307, 4_295_226_992];
    let called_back = [718, 2612, 4318];
    let ended_amid = [455];
    let filled = [12_885_343_596, 12_885_414_742];
    // The controller took the directions of a flow for two flows, so it moved twice as often as
    // allowed.
    let two_names = [30_064_771_631];
    // An entry came back to the host before an earlier packet with its reply key, which waited on
    // its way there.
    let overtaken = [
        87_020_856_370_355_739,
        87_020_856_370_550_606,
        87_020_856_370_634_846,
        87_020_856_371_331_133,
    ];
    let before = refused.into_iter().chain(called_back).chain(ended_amid).chain(filled);
    for seed in before.chain(two_names).chain(overtaken) {
        chaos::one(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// The NIC may tell its time in front of fences only: hooks run late then, but in their places.
#[test]
fn ticks_are_for_timeliness_alone() {
    for seed in 0..400 {
        let ran = run_planted(Planted::NoTicks, seed);
        ran.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// Hooks run between the same two packets as at the host alone, and once whatever dies.
#[test]
fn hooks_run_as_at_the_host_alone_and_once() {
    let (mut faults, mut moves, mut waited) = (Faults::default(), 0, 0);
    for seed in 0..400 {
        let case = traffic::make_filled::<Ticketing<Kept>>(seed, 64, 0);
        waited += case.expected.waiting.len();
        let kills = seed % 4;
        let ran = run_hooked::<Kept>(&case, seed, kills);
        let ran = ran.unwrap_or_else(|what| panic!("seed {seed}, {kills} kills: {what}"));
        faults.add(&ran.faults);
        moves += ran.moves;
    }
    println!("{moves} moves, {waited} wait at the ends; {faults}");
    assert!(moves > 400 && faults.nic_kills > 100 && faults.host_kills > 100, "{faults}");
}
