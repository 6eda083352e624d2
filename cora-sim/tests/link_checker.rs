//! All that can happen to two ends of the link between host and card, within small bounds.

use cora_sim::checker::link::{Bounds, Mistake, explore};

fn holds(bounds: Bounds) -> u64 {
    let explored =
        explore(bounds, |_| true).unwrap_or_else(|broken| panic!("{bounds:?}: {broken:#?}"));
    println!("{bounds:?}: {explored:?}");
    explored.states
}

const ONE_WAY: Bounds = Bounds {
    records: [2, 0],
    calls: 0,
    restarts: 0,
    losses: 0,
    doubles: 0,
    times: 1,
    mistake: None,
};

/// With `CORA_ALL_STATES=1`, in release: 1.3 million states.
#[test]
fn records_of_one_side() {
    let all = std::env::var_os("CORA_ALL_STATES").is_some();
    if all {
        assert!(holds(Bounds { losses: 1, doubles: 1, times: 2, ..ONE_WAY }) > 1_000_000);
    } else {
        assert!(holds(Bounds { losses: 1, ..ONE_WAY }) > 1_000);
        assert!(holds(Bounds { doubles: 1, ..ONE_WAY }) > 1_000);
    }
}

#[test]
fn records_of_both_sides() {
    assert!(holds(Bounds { records: [1, 1], losses: 1, ..ONE_WAY }) > 1_000);
}

#[test]
fn a_host_that_begins_anew() {
    let bounds = Bounds { records: [1, 1], calls: 1, ..ONE_WAY };
    assert!(holds(bounds) > 1_000);
}

#[test]
fn a_card_that_begins_anew() {
    let bounds = Bounds { records: [1, 1], restarts: 1, ..ONE_WAY };
    assert!(holds(bounds) > 1_000);
}

#[test]
fn planted_mistakes_are_found() {
    let anew = Bounds { calls: 1, ..ONE_WAY };
    for (bounds, mistake, what) in [
        (anew, Mistake::AnySession, "of another session"),
        (Bounds { doubles: 1, ..ONE_WAY }, Mistake::AnyOrder, "twice, or out of order"),
        (Bounds { records: [1, 1], ..ONE_WAY }, Mistake::TooEarly, "Unsent"),
        (Bounds { losses: 1, ..ONE_WAY }, Mistake::Once, "not everything arrives"),
    ] {
        let broken =
            explore(Bounds { mistake: Some(mistake), ..bounds }, |found| found.contains(what))
                .expect_err(what);
        println!("{mistake:?}: {} after {:?}", broken.what, broken.way);
    }
}
