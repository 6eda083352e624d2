//! Programs with messages, under schedules, moves and kills by chance.

use cora_sim::apps::actors::Actors;
use cora_sim::apps::{AtNic, Share, Variant};
use cora_sim::runtime::{Faults, Messages, Mistake, Planted, Ran, run_messages, run_planted};

/// Packets of a run.
const PACKETS: u32 = 60;

/// Totals of the seeds from 0 on.
#[derive(Debug, Default)]
struct Totals {
    moves: u64,
    messages: u64,
    lost: u64,
    faults: Faults,
}

fn run<V: Variant>(seeds: u64, messages: impl Fn(u64) -> Messages) -> Totals {
    let mut totals = Totals::default();
    for seed in 0..seeds {
        let ran = run_messages::<Actors<V>>(seed, messages(seed));
        let Ran { moves, messages, lost, faults, .. } =
            ran.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        totals.faults.add(&faults);
        totals.moves += moves;
        totals.messages += messages;
        totals.lost += lost;
    }
    totals
}

const fn settled(settled: bool) -> Messages {
    Messages { packets: PACKETS, settled, kills: 0, planted: None }
}

/// A settled program: outcomes, output and states are those of the host alone. Any other: they are
/// those of the host alone on the schedule that the history tells.
#[test]
fn results_are_those_of_some_run_one_by_one() {
    for is_settled in [true, false] {
        let totals = run::<Share<1024>>(300, |_| settled(is_settled));
        println!("settled: {is_settled}, {totals:?}");
        assert!(totals.moves > 1_000 && totals.messages > 10_000, "{totals:?}");
    }
}

/// A crash loses the contents of the dead half, and nothing else.
#[test]
fn a_crash_loses_no_more_than_the_dead_half_held() {
    let messages = Messages { packets: 40, kills: 2, ..settled(false) };
    let totals = run::<Share<1024>>(300, |_| messages);
    println!("{totals:?}");
    let Faults { nic_kills, host_kills, .. } = totals.faults;
    assert!(nic_kills > 50 && host_kills > 50 && totals.lost > 0, "{totals:?}");
}

/// Each planted mistake is detected within a few seeds.
#[test]
fn planted_mistakes_are_noticed() {
    for mistake in [
        Mistake::Swaps,
        Mistake::Doubles,
        Mistake::MovesStale,
        Mistake::Loses,
        Mistake::AnswersEarly,
    ] {
        let outcomes = (0..60).map(|seed| run_planted(Planted::Messages(mistake), seed));
        let noticed: Vec<String> = outcomes.filter_map(Result::err).collect();
        println!("{mistake:?}: noticed by {} of 60 seeds, {:.90}", noticed.len(), noticed[0]);
        assert!(noticed.len() > 3, "{mistake:?}: noticed by {} of 60 seeds", noticed.len());
    }
}

/// The same where the NIC has all flows: there the death of the host loses nothing.
#[test]
fn without_flows_at_the_host_its_death_loses_nothing() {
    let totals = run::<AtNic>(200, |seed| Messages { kills: seed % 4, ..settled(seed % 2 == 0) });
    let Faults { nic_kills, host_kills, .. } = totals.faults;
    assert!(nic_kills > 10 && host_kills > 40 && totals.lost > 0, "{totals:?}");
}

/// A flow left the NIC amid a cascade, and its next message overtook one that waited there; where
/// the NIC has all flows, messages in mailboxes were freed when the host died.
#[test]
fn what_broke_once_holds() {
    for seed in [11, 19, 200, 208, 391, 420, 551, 743, 876, 958] {
        let messages = Messages { packets: 40, ..settled(false) };
        run_messages::<Actors<Share<1024>>>(seed, messages)
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
    for seed in [13, 19, 27, 42, 64, 81, 85, 93, 105, 121] {
        let messages = Messages { packets: 40, kills: 2, ..settled(false) };
        run_messages::<Actors<AtNic>>(seed, messages)
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}
