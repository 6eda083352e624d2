//! All interleavings of two flows with three packets each, every order at any time, and a kill of
//! either side at any step.

use cora_sim::checker::{Scenario, explore, explore_until};
use cora_sim::frames::op::{ASK, CLOSE, NOTHING};
use cora_sim::link::Sabotage;

fn scenario(asks: [&[u8]; 2], offers: u8, recalls: u8) -> Scenario {
    let asks = asks.map(<[u8]>::to_vec);
    Scenario { asks, offers, recalls, kills: 0, sabotage: Sabotage::None }
}

fn holds(scenario: &Scenario) -> u64 {
    let explored = explore(scenario).unwrap_or_else(|broken| panic!("{broken:#?}"));
    println!("{:?}, {} kills: {explored:?}", scenario.asks, scenario.kills);
    explored.states
}

#[test]
fn one_flow() {
    assert!(holds(&scenario([&[NOTHING, NOTHING, NOTHING], &[]], 2, 2)) > 100);
    assert!(holds(&scenario([&[NOTHING, ASK, NOTHING], &[]], 2, 2)) > 100);
    assert!(holds(&scenario([&[NOTHING, CLOSE, NOTHING], &[]], 2, 2)) > 100);
}

/// With `CORA_ALL_STATES=1`, in release: three packets and one recall of each flow give 2.2 million
/// states.
#[test]
fn two_flows() {
    let all = std::env::var_os("CORA_ALL_STATES").is_some();
    let (packets, recalls) = if all { (3, 1) } else { (2, 0) };
    let (one, other) = ([NOTHING, ASK, NOTHING], [NOTHING; 3]);
    let states = holds(&scenario([&one[..packets], &other[..packets]], 1, recalls));
    assert!(states > if all { 1_000_000 } else { 1000 }, "only {states} states");
}

fn killed(asks: [&[u8]; 2], recalls: u8, kills: u8) -> Scenario {
    Scenario { kills, ..scenario(asks, 1, recalls) }
}

#[test]
fn one_flow_and_a_kill() {
    assert!(holds(&killed([&[NOTHING, NOTHING, NOTHING], &[]], 1, 1)) > 500);
    assert!(holds(&killed([&[NOTHING, ASK, NOTHING], &[]], 1, 1)) > 500);
    assert!(holds(&killed([&[NOTHING, CLOSE, NOTHING], &[]], 1, 1)) > 500);
    // The second kill meets a side that just learned of the first.
    assert!(holds(&killed([&[NOTHING, ASK], &[]], 1, 2)) > 500);
}

/// With `CORA_ALL_STATES=1`, in release, in ten minutes: three packets and one recall of each flow
/// give 11.2 million states.
#[test]
fn two_flows_and_a_kill() {
    let all = std::env::var_os("CORA_ALL_STATES").is_some();
    let (one, other) = ([NOTHING, ASK, NOTHING], [NOTHING; 3]);
    if all {
        assert!(holds(&killed([&one, &other], 1, 1)) > 10_000_000);
    } else {
        assert!(holds(&killed([&one[..2], &other[..1]], 0, 1)) > 5_000);
    }
}

/// Checks that a sabotage is caught for its own reason; other violations don't count.
fn is_caught(sabotage: Sabotage, reason: &str) {
    let asks: [&[u8]; 2] = [&[NOTHING, ASK, NOTHING], &[NOTHING]];
    is_caught_in(&Scenario { sabotage, ..scenario(asks, 1, 1) }, reason);
}

fn is_caught_in(scenario: &Scenario, reason: &str) {
    let broken = explore_until(scenario, |what| what.contains(reason));
    let broken = broken.expect_err(reason);
    println!("{:?}: {} after {:?}", scenario.sabotage, broken.what, broken.way);
}

#[test]
fn planted_bugs_are_caught() {
    is_caught(Sabotage::DropEntry, "an update was lost");
    // The NIC begins without the entry that the host has.
    is_caught(Sabotage::OwnedAtOnce, "an update was lost");
    is_caught(Sabotage::FenceFirst, "two owners");
    is_caught(Sabotage::TransferFirst, "packets left out of order");
    // The host begins without the entry that follows.
    is_caught(Sabotage::PacketFirst, "an update was lost");
    is_caught(Sabotage::DropPacket, "a packet was lost");
    is_caught(Sabotage::DoubleEntry, "the key of an entry that came back was another's");
}

#[test]
fn bugs_planted_beside_a_kill_are_caught() {
    let sound = killed([&[NOTHING, NOTHING], &[]], 1, 1);
    holds(&sound);
    let is_caught = |sabotage, reason| {
        is_caught_in(&Scenario { sabotage, ..sound.clone() }, reason);
    };
    is_caught(Sabotage::KeepOrders, "the NIC refuses");
    is_caught(Sabotage::NotReclaimed, "an update was lost");
    is_caught(Sabotage::NotReclaimed, "deadlock");
    is_caught(Sabotage::NotCaughtUp, "an update was lost");
    is_caught(Sabotage::NotGreeted, "an update was lost");
    is_caught(Sabotage::NotGreeted, "deadlock");
}
