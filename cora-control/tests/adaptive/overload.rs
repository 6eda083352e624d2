//! A NIC that was overloaded for a while soon returns to its earlier load.

use cora_control::adaptive::{Costs, Settings};

use crate::plant::{PLAN, Plant, REAL};
use crate::until;

/// Returns a NIC with room for few of many flows. It has the busiest, which take 70 % of its time.
fn small() -> Plant {
    let mut plant = Plant::new(Settings::new(PLAN), REAL, 128);
    let weights: Vec<f64> = (1..=2_000).map(|rank| f64::from(rank).powf(-1.1)).collect();
    let sum: f64 = weights.iter().sum();
    // Ranks and numbers are independent.
    plant.set(0, (0..2_000).map(|flow| 2.2e6 * weights[flow * 7 % 2_000] / sum));
    plant.run(1_500);
    assert!(plant.at_nic() > 0.7, "{}", plant.at_nic());
    plant
}

/// Multiplies the NIC's costs by `times` for this long.
fn slowed(plant: &mut Plant, times: f64, milliseconds: u64) {
    let usual = plant.costs;
    let Costs { nic_packet, nic_pass, nic_move, .. } = usual;
    plant.costs = Costs {
        nic_packet: times * nic_packet,
        nic_pass: times * nic_pass,
        nic_move: times * nic_move,
        ..usual
    };
    plant.run(milliseconds);
    plant.costs = usual;
}

/// Recalled flows rest for 250 ms, even if the NIC has time.
#[test]
fn a_moment_in_which_the_nic_is_slow_is_over_when_flows_have_rested() {
    for (times, milliseconds) in [(1.6, 4), (2.0, 20), (4.0, 3), (4.0, 50), (1.5, 200)] {
        let mut plant = small();
        let before = plant.at_nic();
        slowed(&mut plant, times, milliseconds);
        let during = plant.at_nic();
        let back = until(&mut plant, 3_000, |plant| plant.at_nic() > 0.95 * before);
        println!(
            "{times} times as slow for {milliseconds} ms: {before:.3} → {during:.3}, back after {back} ms"
        );
        assert!(back < 300, "{times} times as slow for {milliseconds} ms: {back} ms");
    }
}

#[test]
fn several_such_moments_in_a_row_are_over_soon() {
    let mut plant = small();
    let before = plant.at_nic();
    for _ in 0..8 {
        slowed(&mut plant, 3.0, 6);
        plant.run(60);
    }
    let during = plant.at_nic();
    let back = until(&mut plant, 5_000, |plant| plant.at_nic() > 0.95 * before);
    println!("{before:.3} → {during:.3}, back after {back} ms");
    assert!(back < 1_500, "{back} ms");
}
