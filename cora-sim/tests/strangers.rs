//! An answer reaches only the client that asked, and violations are detected.

use cora_sim::apps::Variant;
use cora_sim::apps::leases::{Anew, Kept, Mortal};
use cora_sim::strangers::{Ran, run};

const SEEDS: u64 = 100;
const STEPS: u64 = 600;

fn all<V: Variant>() -> Ran {
    let mut all = Ran::default();
    for seed in 0..SEEDS {
        let ran = run::<V>(seed, STEPS).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        all.answers += ran.answers;
        all.kills += ran.kills;
        all.damaged += ran.damaged;
        all.ended += ran.ended;
        all.offloads += ran.offloads;
    }
    assert!(all.answers > 20 * SEEDS && all.kills > 5 * SEEDS, "{all:?}");
    assert!(all.offloads > 5 * SEEDS, "{all:?}");
    all
}

#[test]
fn a_durable_pool_knows_whose_each_port_is() {
    let all = all::<Kept>();
    assert!(all.damaged > SEEDS && all.ended > SEEDS, "{all:?}");
}

#[test]
fn sessions_end_with_their_pool() {
    let all = all::<Mortal>();
    assert!(all.ended > SEEDS, "{all:?}");
}

#[test]
fn a_pool_that_begins_anew_is_found_out() {
    let found = (0..SEEDS).filter_map(|seed| run::<Anew>(seed, STEPS).err());
    let strange = found.filter(|what| what.starts_with("an answer to")).count();
    assert!(strange > 5, "only {strange}");
}
