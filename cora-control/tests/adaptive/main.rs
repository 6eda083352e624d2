//! The controller on a plant with known costs: its result, its speed, and its moves.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a plant counts in fractions, and nothing in it is negative or large"
)]

mod overload;
mod plant;
mod predicted;

use cora_control::adaptive::{Action, Admitted, Costs, Settings};
use plant::{MS, PLAN, Plant, REAL};

const HOST: usize = 0;
const NIC: usize = 1;

/// Returns settings with expected costs close to the plant's.
fn settings() -> Settings {
    Settings::new(PLAN)
}

/// Returns the milliseconds until a condition holds for 5 of them; `limit` if it doesn't.
fn until(plant: &mut Plant, limit: u64, holds: impl Fn(&Plant) -> bool) -> u64 {
    let mut since = 0;
    for passed in 0..limit {
        plant.step();
        since = if holds(plant) { since + 1 } else { 0 };
        if since == 5 {
            return passed - 4;
        }
    }
    limit
}

#[track_caller]
fn words_of(plant: &Plant, word: &str) -> usize {
    plant.decisions.iter().flat_map(|(_, did)| &did.why).filter(|why| why.contains(word)).count()
}

#[test]
fn all_flows_go_to_a_nic_with_room_and_time() {
    let mut plant = Plant::new(settings(), REAL, 4_096);
    plant.set(0, (0..500).map(|_| 2_000.0));
    plant.run(300);
    assert!(plant.at_nic() > 0.99, "{}", plant.at_nic());
    assert!(plant.load[NIC] < 0.9);
    let before = plant.moves;
    plant.run(2_000);
    assert_eq!(plant.moves, before, "nothing moves when nothing changes");
}

#[test]
fn a_step_of_the_load_is_answered_within_ten_milliseconds() {
    let mut plant = Plant::new(settings(), REAL, 4_096);
    plant.set(0, (0..60).map(|_| 25_000.0));
    plant.run(1_000);
    assert!(plant.at_nic() > 0.99 && plant.load[NIC] < 0.65, "{:?}", plant.load);
    plant.set(0, (0..60).map(|_| 45_000.0));
    let reaction = until(&mut plant, 100, |plant| plant.load[NIC] < 0.95);
    println!("down after {reaction} ms: {:?}", plant.load);
    assert!(reaction < 10, "{reaction} ms, {:?}", plant.load);
    plant.run(500);
    assert!(
        (0.65..0.92).contains(&plant.load[NIC]),
        "it settles below its bound: {:?}",
        plant.load
    );
    assert!(plant.load[HOST] < 0.9);
    let before = plant.moves;
    plant.run(1_000);
    assert!(plant.moves - before < 20, "and stays there: {}", plant.moves - before);
}

#[test]
fn a_hot_set_that_changes_is_at_the_nic_within_ten_milliseconds() {
    let mut plant = Plant::new(settings(), REAL, 256);
    let mut reactions = Vec::new();
    for phase in 0..4 {
        // 2,000 flows; each time, 16 others of them have nearly all packets; 256 fit.
        plant.set(0, (0..2_000).map(|_| 20.0));
        plant.set(phase * 400, (0..16).map(|_| 60_000.0));
        reactions.push(until(&mut plant, 500, |plant| plant.at_nic() > 0.85));
        plant.run(1_500);
        assert!(plant.at_nic() > 0.93, "phase {phase}: {}", plant.at_nic());
    }
    println!("hot sets at the NIC after {reactions:?} ms, {} moves", plant.moves);
    assert!(reactions[1..].iter().all(|reaction| *reaction < 10), "{reactions:?}");
}

#[test]
fn a_room_too_small_holds_those_that_earn_most() {
    let mut plant = Plant::new(settings(), REAL, 128);
    // 100 flows with 5,000 packets a second, 1,900 with 50: 128 fit.
    plant.set(0, (0..2_000).map(|flow| if flow % 20 == 0 { 5_000.0 } else { 50.0 }));
    plant.run(3_000);
    let best = 500_000.0 / (500_000.0 + 95_000.0);
    println!("{:.3} of the packets at the NIC; {best:.3} could be", plant.at_nic());
    assert!(plant.at_nic() > 0.95 * best, "{}", plant.at_nic());
    let before = plant.moves;
    plant.run(2_000);
    let moves = plant.moves - before;
    println!("{moves} moves in 2 s when nothing changes");
    assert!(moves < 1_000, "no thrashing among those that earn little: {moves}");
}

#[test]
fn a_change_of_skew_is_followed() {
    let mut plant = Plant::new(settings(), REAL, 200);
    let zipf = |skew: f64, all: f64| {
        let weights: Vec<f64> = (1..=1_000).map(|rank| f64::from(rank).powf(-skew)).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(move |weight| all * weight / sum).collect::<Vec<_>>()
    };
    for (skew, of_best) in [(1.3, 0.95), (0.6, 0.75), (1.1, 0.9)] {
        let rates = zipf(skew, 1e6);
        let best = rates.iter().take(200).sum::<f64>() / 1e6;
        // Another order each time, so that other flows are the best.
        plant.set(0, (0..1_000).map(|flow| rates[(flow * 7 + (skew * 10.0) as usize) % 1_000]));
        plant.run(3_000);
        println!("skew {skew}: {:.3} of {best:.3}", plant.at_nic());
        assert!(plant.at_nic() > of_best * best, "skew {skew}: {} of {best}", plant.at_nic());
    }
}

#[test]
fn a_flash_crowd_does_not_saturate_the_nic_for_long() {
    let mut plant = Plant::new(settings(), REAL, 8_192);
    plant.set(0, (0..40).map(|_| 25_000.0));
    plant.run(500);
    assert!(plant.at_nic() > 0.99);
    // 3,000 new flows at once, with more packets than the NIC can handle.
    plant.set(10_000, (0..3_000).map(|_| 500.0));
    let worst = (0..60)
        .map(|_| {
            plant.step();
            plant.load[NIC]
        })
        .fold(0.0, f64::max);
    let mut over = 0;
    for _ in 0..500 {
        plant.step();
        over += u32::from(plant.load[NIC] > 0.97);
    }
    println!("at worst {worst:.2} of its time, then {over} ms of 500 above 0.97; {:?}", plant.load);
    assert!(over < 10, "{over}: {:?}", plant.load);
}

#[test]
fn a_load_that_flaps_does_not_make_flows_flap() {
    let mut plant = Plant::new(settings(), REAL, 4_096);
    for turn in 0..100 {
        let rate = if turn % 2 == 0 { 44_000.0 } else { 20_000.0 };
        plant.set(0, (0..60).map(|_| rate));
        plant.run(20);
    }
    let seconds = plant.time as f64 / 1e9;
    let most = plant.flows.values().map(|flow| flow.moves).max().unwrap_or(0);
    println!("{} moves in {seconds} s, {most} of one flow", plant.moves);
    assert!(f64::from(most) <= 1.0 + seconds * 8.0, "{most}");
    assert!(plant.moves < 60 * 6, "60 flows, 100 changes of load: {}", plant.moves);
}

#[test]
fn a_nic_far_slower_than_thought_leaves_it_to_the_plan() {
    let narrow = Settings { within: 2.0, plan: Admitted { share: 300, ..PLAN }, ..settings() };
    let slow = Costs { nic_packet: 8_000.0, nic_pass: 2_000.0, ..REAL };
    let mut plant = Plant::new(narrow, slow, 4_096);
    plant.set(0, (0..200).map(|_| 500.0));
    plant.run(500);
    assert_eq!(words_of(&plant, "the plan alone decides for 1 s"), 1, "{:#?}", plant.decisions);
    let (at, last) = plant.decisions.last().expect("it fell back");
    // The plan does not know the NIC's capacity.
    assert_eq!(
        last.actions,
        [Action::Admit(Admitted { share: 300, most: 4_096, rest: settings().rest_ns, ..PLAN })]
    );
    let at = *at;
    plant.run(600);
    assert_eq!(plant.decisions.last().map(|last| last.0), Some(at), "nothing is decided meanwhile");
    plant.run(500);
    assert_eq!(words_of(&plant, "tried again"), 1, "{:#?}", plant.decisions);
    plant.run(3_000);
    assert_eq!(words_of(&plant, "for 2 s"), 1, "{:#?}", plant.decisions);
    // The costs are normal again.
    plant.costs = Costs { nic_packet: 300.0, nic_pass: 150.0, ..REAL };
    plant.run(5_000);
    assert!(plant.at_nic() > 0.99, "{}", plant.at_nic());
}

#[test]
fn recalls_that_would_not_help_are_not_made() {
    // Passing packets on costs this NIC as much as handling them.
    let costs = Costs { nic_packet: 400.0, nic_pass: 390.0, ..REAL };
    let mut plant = Plant::new(settings(), costs, 4_096);
    plant.set(0, (0..20).map(|_| 20_000.0));
    plant.run(500);
    plant.set(0, (0..60).map(|_| 45_000.0));
    // It learns the cost of passing on while flows come.
    plant.set(100, (0..20).map(|_| 2_000.0));
    plant.run(500);
    let recalls = plant.decisions.iter().flat_map(|(_, did)| &did.actions);
    let recalls = recalls.filter(|action| matches!(action, Action::Recall(_))).count();
    println!("{recalls} recalls; {:?}", plant.decider.costs());
    assert!(recalls <= 80, "{recalls}");
    assert!(plant.at_nic() > 0.5, "{}", plant.at_nic());
}

#[test]
fn a_nic_that_says_nothing_is_asked_nothing() {
    let mut plant = Plant::new(settings(), REAL, 64);
    plant.set(0, (0..10).map(|_| 1_000.0));
    plant.run(50);
    let seen = cora_control::adaptive::Digest {
        host: cora_control::adaptive::SideReport { time: plant.time + MS, ..Default::default() },
        ..Default::default()
    };
    assert!(plant.decider.decide(&seen).is_empty());
}

mod bounds {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    struct Phase {
        flows: u16,
        rate: f64,
        first: u16,
        milliseconds: u64,
    }

    fn phase() -> impl Strategy<Value = Phase> {
        (1..300_u16, 0.0..60_000.0_f64, 0..600_u16, 1..200_u64).prop_map(
            |(flows, rate, first, milliseconds)| Phase { flows, rate, first, milliseconds },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Under any load, no flow is offered again before the first offer can have shown, orders
        /// keep to the budget, and all learned costs are numbers within their bounds.
        #[test]
        fn are_kept_under_any_load(
            phases in proptest::collection::vec(phase(), 1..8),
            room in 0..400_u64,
            nic in 50.0..5_000.0_f64,
            pass in 20.0..2_000.0_f64,
            within in 1.0..500.0_f64,
        ) {
            let settings = Settings { within, ..settings() };
            let costs = Costs { nic_packet: nic, nic_pass: pass, ..REAL };
            let mut plant = Plant::new(settings.clone(), costs, room);
            for Phase { flows, rate, first, milliseconds } in phases {
                plant.set(0, (0..900).map(|_| 10.0));
                plant.set(first.into(), (0..flows).map(|flow| rate / f64::from(1 + flow % 17)));
                plant.run(milliseconds);
                let learned = plant.decider.costs();
                let ratio = learned.nic_packet / settings.expected.nic_packet;
                prop_assert!(ratio >= 0.999 / within && ratio <= 1.001 * within, "{learned:?}");
                prop_assert!(learned.host_packet.is_finite() && learned.nic_pass.is_finite());
            }
            let mut offered = BTreeMap::new();
            let mut ordered = 0_u32;
            for (time, did) in &plant.decisions {
                let mut now = 0_u32;
                for action in &did.actions {
                    match action {
                        Action::Admit(_) => continue,
                        Action::Offer(flow) => {
                            let last = offered.insert(*flow, *time);
                            prop_assert!(last.is_none_or(|last| time - last >= settings.again_ns));
                        }
                        Action::Recall(_) => {}
                    }
                    now += 1;
                }
                ordered += now;
                prop_assert!(f64::from(now) <= 2.0 * settings.moves, "{now} in one period");
            }
            let milliseconds = plant.time as f64 / 1e6;
            prop_assert!(f64::from(ordered) <= settings.moves * (milliseconds + 2.0));
        }
    }
}
