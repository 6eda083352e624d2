//! Costs that the plan predicts: they bound learned costs, drift from them is reported, and beyond
//! the bounds the plan alone decides.

use cora_control::adaptive::{Costs, Settings, WITHIN};

use crate::plant::{PLAN, Plant, REAL};
use crate::words_of;

/// Returns the settings of a plan that was searched for, with the plant's real costs.
fn settings() -> Settings {
    let costs = serde_json::to_string(&REAL).expect("numbers");
    let settings =
        Settings::new(PLAN).predicted_by(&format!(r#"{{"searched":{{"costs":{costs}}}}}"#));
    assert_eq!(settings.expected, REAL);
    settings
}

#[test]
fn a_plan_that_predicts_well_drifts_nowhere() {
    let mut plant = Plant::new(settings(), REAL, 4_096);
    plant.set(0, (0..400).map(|_| 2_000.0));
    plant.run(3_000);
    assert_eq!(words_of(&plant, "the plan predicts"), 0, "{:#?}", plant.decisions);
    assert_eq!(words_of(&plant, "the plan alone"), 0, "{:#?}", plant.decisions);
}

#[test]
fn what_costs_more_than_the_plan_predicts_is_learned_and_told() {
    let dearer = Costs { nic_packet: 2.5 * REAL.nic_packet, nic_pass: 2.5 * REAL.nic_pass, ..REAL };
    let mut plant = Plant::new(settings(), dearer, 4_096);
    plant.set(0, (0..200).map(|_| 2_000.0));
    plant.run(4_000);
    let learned = plant.decider.costs().nic_packet / dearer.nic_packet;
    assert!((0.8..1.2).contains(&learned), "{:?}", plant.decider.costs());
    assert!(words_of(&plant, "of the plan's prediction") > 0, "{:#?}", plant.decisions);
    assert_eq!(words_of(&plant, "the plan alone"), 0, "{:#?}", plant.decisions);
}

#[test]
fn beyond_its_bounds_nothing_is_learned_and_the_plan_decides() {
    for times in [4.0 * WITHIN, 0.25 / WITHIN] {
        let other = Costs { nic_packet: times * 400.0, nic_pass: times * 100.0, ..REAL };
        let mut plant = Plant::new(settings(), other, 4_096);
        // All flows at the NIC take 60 % of its time, either way.
        let rate = 0.6e9 / (times * 400.0) / 200.0;
        plant.set(0, (0..200).map(|_| rate));
        plant.run(2_000);
        for ((what, learned), (_, predicted)) in
            plant.decider.costs().each().into_iter().zip(REAL.each())
        {
            let part = learned / predicted;
            assert!((0.999 / WITHIN..1.001 * WITHIN).contains(&part), "{what}: {part}");
        }
        assert!(words_of(&plant, "the plan alone decides") > 0, "{times}: {:#?}", plant.decisions);
    }
}
