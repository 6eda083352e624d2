//! All schedules of a few datagrams, with the messages that they bring about, while flows move.

use cora_sim::apps::actors::{SENDERS, request};
use cora_sim::checker::messages::{Scenario, explore};
use cora_sim::link::Sabotage;

/// The places among the flows of the program: of a sender, of the first one that hears from it, and
/// of the one that gets its delayed messages.
const SENDER: usize = 0;
const HEARER: usize = SENDERS as usize;
const LATER: usize = 3 * SENDERS as usize + 9;

const fn scenario(datagrams: Vec<[u64; 4]>, flows: Vec<usize>, orders: [u8; 2]) -> Scenario {
    Scenario { datagrams, flows, orders, limits: None, sabotage: Sabotage::None }
}

fn holds(scenario: &Scenario) -> u64 {
    let explored = explore(scenario).unwrap_or_else(|broken| panic!("{broken:#?}"));
    println!("{:?}: {explored:?}", scenario.datagrams);
    explored.states
}

/// The sender, and who hears from it, go to the NIC while a message is under way between them.
#[test]
fn messages_cross_while_both_ends_move() {
    let datagrams = vec![[1_000, 0, request::FAN, 0]];
    assert!(holds(&scenario(datagrams, vec![SENDER, HEARER], [1, 0])) > 20);
}

/// Messages follow each other while the receiver goes to the NIC.
#[test]
fn messages_follow_while_the_receiver_moves() {
    let datagrams = vec![[1_000, 0, request::FAN, 0], [2_000, 0, request::FAN, 0]];
    assert!(holds(&scenario(datagrams, vec![HEARER], [1, 0])) > 20);
}

/// Delayed messages wait where they were sent, and come to their flow wherever that is.
#[test]
fn delayed_messages_wait_while_both_ends_move() {
    let datagrams = vec![[1_000, 0, request::LATER, 1], [30_000, 0, request::COUNT, 0]];
    assert!(holds(&scenario(datagrams, vec![SENDER, LATER], [1, 0])) > 100);
}

/// The checker notices an entry that gets lost on its way.
#[test]
fn a_lost_entry_is_noticed() {
    let datagrams = vec![[1_000, 0, request::FAN, 0], [2_000, 0, request::FAN, 0]];
    let scenario = scenario(datagrams, vec![HEARER], [1, 0]);
    assert!(explore(&Scenario { sabotage: Sabotage::DropEntry, ..scenario }).is_err());
}
