use super::*;
use crate::graph::Graph;
use crate::model::Resource;
use crate::sample;
use crate::statement::{Stated, Statement};
use crate::vocabulary::{Place, Sides};

struct World {
    graph: Graph,
    nic: NicProfile,
    traffic: Traffic,
    statement: Statement,
}

impl World {
    fn new() -> Self {
        Self {
            graph: sample::nat(),
            nic: sample::nic(),
            traffic: sample::traffic(),
            statement: Statement::best(),
        }
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            graph: &self.graph,
            nic: &self.nic,
            traffic: &self.traffic,
            measurement: None,
            statement: &self.statement,
            steering: Steering::Cores,
        }
    }

    fn run(&self, ask: &Ask) -> Planned {
        run(&self.inputs(), ask).unwrap_or_else(|errors| panic!("{errors:?}"))
    }
}

fn baseline(planned: &Planned, wanted: Baseline) -> &BaselinePlan {
    planned.baselines.iter().find(|plan| plan.baseline == wanted).expect("every baseline")
}

#[test]
fn at_a_low_rate_the_nic_runs_everything() {
    let planned = World::new().run(&Ask::Rate(0.1));
    assert_eq!(planned.allocation.sides, Sides::NicOnly);
    assert!(planned.predicted.host_cores < 1e-9);
}

#[test]
fn at_a_higher_rate_heavy_flows_are_the_nics_and_no_baseline_is_better() {
    let world = World::new();
    let nic_only = baseline(&world.run(&Ask::Rate(0.1)), Baseline::NicOnly).predicted.ceiling_mpps;
    let planned = world.run(&Ask::Rate(nic_only * 1.3));
    assert_eq!(planned.allocation.sides, Sides::Split);
    assert_eq!(planned.allocation.places["Session"], Place::Travels);
    let shares = &planned.allocation.shares;
    assert!(shares[0] > 0.9 && shares[1] < 0.5, "{shares:?}");
    for plan in planned.baselines.iter().filter(|plan| plan.feasible) {
        let (theirs, ours) = (plan.predicted.host_cores, planned.predicted.host_cores);
        assert!(ours <= theirs + 1e-9, "{} needs {theirs}, Cora {ours}", plan.baseline.word());
    }
    assert!(planned.predicted.utilisation.values().all(|used| *used <= 1.0 + 1e-6));
}

#[test]
fn a_pinned_state_stays_and_a_stated_share_is_kept() {
    let mut world = World::new();
    let stated = Stated { what: Place::Host, line: 3 };
    world.statement.places.insert("Session".to_owned(), stated);
    let planned = world.run(&Ask::Rate(0.5));
    assert_eq!(planned.allocation.places["Session"], Place::Host);

    let mut world = World::new();
    world.statement = Statement::of(Sides::Split);
    world.statement.nic_share = Some(Stated { what: 0.25, line: 2 });
    let planned = world.run(&Ask::Rate(0.5));
    assert!(planned.allocation.shares.iter().all(|share| *share <= 0.25), "{planned:?}");
}

#[test]
fn a_rate_out_of_reach_is_refused_with_the_nearest_one() {
    let world = World::new();
    let errors = run(&world.inputs(), &Ask::Rate(1e3)).expect_err("a billion packets a second");
    let [PlanningError::OutOfReach { nearest_mpps: Some(nearest_mpps), .. }] = errors[..] else {
        panic!("{errors:?}");
    };
    assert!(run(&world.inputs(), &Ask::Rate(nearest_mpps)).is_ok(), "{nearest_mpps}");
    assert!(run(&world.inputs(), &Ask::Rate(nearest_mpps * 1.002)).is_err(), "{nearest_mpps}");
}

#[test]
fn the_highest_rate_for_given_cores_uses_them() {
    let world = World::new();
    let planned = world.run(&Ask::HostCores(0.5));
    let used = planned.predicted.host_cores;
    let most = planned.predicted.utilisation.values().copied().fold(0.0, f64::max);
    assert!(used <= 0.5 + 1e-9 && (used > 0.49 || most > 0.99), "{planned:?}");
}

#[test]
fn no_baseline_is_faster_with_the_same_cores() {
    let world = World::new();
    let ours = world.run(&Ask::HostCores(0.5)).mpps;
    let theirs = Baseline::ALL.map(|baseline| highest(&world.inputs(), baseline, 0.5));
    assert!(theirs.iter().all(|rate| *rate > 0.0 && *rate <= ours * 1.0002), "{theirs:?} {ours}");
    assert!(theirs[0] < 0.9 * ours, "host-only is {} of {ours}", theirs[0]);
}

#[test]
fn pins_that_contradict_the_program_are_told_together() {
    let mut world = World::new();
    let pin = |what, line| Stated { what, line };
    world.statement.places.insert("PortPool".to_owned(), pin(Place::Travels, 5));
    world.statement.places.insert("Sesion".to_owned(), pin(Place::Host, 6));
    let errors = run(&world.inputs(), &Ask::Rate(-1.0)).expect_err("contradictions");
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().any(|e| matches!(e, PlanningError::NoAsk { .. })));
    assert!(errors.iter().any(|e| e.cure().contains("Session")), "{errors:?}");
}

#[test]
fn memory_that_is_too_small_for_the_table_leaves_it_at_the_host() {
    let mut world = World::new();
    world.nic.nic.state_bytes.value = 1e6;
    world.statement = Statement::of(Sides::Split);
    let planned = world.run(&Ask::Rate(0.5));
    assert_eq!(planned.allocation.places["Session"], Place::Host);
    assert!(planned.predicted.utilisation.get(&Resource::NicMemory).is_none_or(|u| *u <= 1.0));
}

#[test]
fn the_decision_carries_what_the_runtime_can_do() {
    let mut world = World::new();
    world.statement = Statement::of(Sides::Split);
    let planned = world.run(&Ask::Rate(1.5));
    let decision = decide(&world.inputs(), &planned).expect("a decision");
    assert_eq!(decision.sides, Sides::Split);
    assert_eq!(decision.places, planned.allocation.places);
    assert!(decision.nic_share > 0, "{planned:?}");
    // Nothing of the light class; its flows have five packets.
    let mut light = planned;
    light.allocation.shares = vec![0.5, 0.0];
    let decision = decide(&world.inputs(), &light).expect("a decision");
    assert_eq!((decision.offer_after, decision.nic_share), (6, 512));
}

#[test]
fn plans_are_the_same_every_time_and_points_of_the_curve_rise() {
    let world = World::new();
    let plan = || Planned { ms: 0.0, ..world.run(&Ask::Rate(2.0)) };
    assert_eq!(plan(), plan());
    let curve = curve(&world.inputs(), &[0.5, 1.0, 2.0, 1e3]);
    let cores: Vec<f64> = curve.iter().filter_map(|point| point.cora).collect();
    assert_eq!(cores.len(), 3);
    assert!(cores.is_sorted(), "{cores:?}");
    assert_eq!(curve[3].baselines, [None; 4]);
}
