use super::*;
use crate::graph::Graph;
use crate::model::{Allocation, Resource, Unmatched};
use crate::nic::Port;
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
    let as_we_steer = |plan: &&BaselinePlan| plan.baseline != Baseline::HostOnly;
    for plan in planned.baselines.iter().filter(|plan| plan.feasible).filter(as_we_steer) {
        let (theirs, ours) = (plan.predicted.cost(), planned.predicted.cost());
        assert!(ours <= theirs + 1e-9, "{} costs {theirs}, Cora {ours}", plan.baseline.word());
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
fn the_nic_owns_as_many_flows_as_its_memory_has_room_for() {
    let at_nic = |bytes: f64| {
        let mut world = World::new();
        world.nic.nic.state_bytes.value = bytes;
        world.statement = Statement::of(Sides::Split);
        let planned = world.run(&Ask::Rate(0.5));
        let used = planned.predicted.utilisation.get(&Resource::NicMemory).copied();
        assert!(used.is_none_or(|used| used <= 1.0 + 1e-6), "{planned:?}");
        planned.predicted.at_nic
    };
    // The hundred heavy flows take 79 bytes each.
    let shares = [1e3, 2e3, 4e3, 9e3].map(at_nic);
    assert!(shares.is_sorted_by(|a, b| a < b), "{shares:?}");
}

#[test]
fn flows_that_no_table_holds_are_refused_with_the_state_and_the_numbers() {
    let mut world = World::new();
    let session = world.graph.states[1].keyed.as_mut().expect("keyed");
    (session.capacity, session.idle_ns) = (65_536, 300_000_000_000);
    for sides in [Sides::HostOnly, Sides::NicOnly, Sides::Split] {
        world.statement = Statement::of(sides);
        let errors = run(&world.inputs(), &Ask::Rate(0.5)).expect_err("twelve million entries");
        let [error @ PlanningError::OutOfReach { nearest_mpps: Some(nearest), .. }] = &errors[..]
        else {
            panic!("{errors:?}");
        };
        let told = error.to_string();
        assert!(told.contains("the table of `Session` has 65,536 entries"), "{told}");
        assert!(told.contains("12,029,100 stand"), "{told}");
        assert!(told.contains("40,030 flows open a second"), "{told}");
        assert!(error.cure().contains("raise `capacity`"), "{}", error.cure());
        assert!(run(&world.inputs(), &Ask::Rate(*nearest)).is_ok(), "{nearest}");
    }
    let feasible = |baseline| highest(&world.inputs(), baseline, 4.0);
    let (host, nic) = (feasible(Baseline::HostOnly), feasible(Baseline::NicOnly));
    assert!((host / nic - 1.0).abs() < 1e-3, "{host} {nic}");
}

#[test]
fn plans_leave_headroom_and_hold_at_five_per_cent_more() {
    let mut world = World::new();
    for sides in [Sides::HostOnly, Sides::NicOnly, Sides::Split] {
        world.statement = Statement::of(sides);
        let most = world.run(&Ask::HostCores(4.0)).mpps;
        for part in [0.3, 0.999] {
            let planned = world.run(&Ask::Rate(most * part));
            let used = planned.predicted.utilisation.values();
            assert!(used.clone().all(|used| *used <= 0.95 + 1e-5), "{planned:?}");
            let more = predict(&world.inputs(), &planned.allocation, planned.mpps * 1.05);
            assert!(more.utilisation.values().all(|used| *used <= 1.0 + 1e-4), "{more:?}");
        }
    }
}

#[test]
fn host_cores_never_jump_unless_the_plan_says_so() {
    let mut jumps = 0;
    for steering in [Steering::Cores, Steering::Rules] {
        for (capacity, idle_ms) in [(8_000_000, 500), (100_000, 20)] {
            let mut world = World::new();
            let session = world.graph.states[1].keyed.as_mut().expect("keyed");
            (session.capacity, session.idle_ns) = (capacity, idle_ms * 1_000_000);
            let inputs = Inputs { steering, ..world.inputs() };
            // Below, no host core is needed at all.
            let (mut mpps, mut steps) = (0.9 * highest(&inputs, Baseline::NicOnly, 1e-6), 0);
            let mut before: Option<Planned> = None;
            while let Ok(planned) = alone(&inputs, &Ask::Rate(mpps)) {
                if let Some(before) = before {
                    let (few, many) = (before.predicted.host_cores, planned.predicted.host_cores);
                    let jump = many > 2.0 * few + 1e-6;
                    // Of rates without a jump, some are enough.
                    if jump || steps % 40 == 0 {
                        let told = run(&inputs, &before.ask).expect("planned before").cliff;
                        assert_eq!(jump, told.is_some(), "{few} to {many} at {mpps} Mpps");
                    }
                    jumps += u32::from(jump);
                }
                before = Some(planned);
                mpps *= Cliff::AHEAD;
                steps += 1;
            }
        }
    }
    assert!(jumps > 0, "where the NIC alone no longer suffices, some host core is needed");
}

#[test]
fn under_rules_either_side_may_have_what_no_rule_matches() {
    let world = World::new();
    let plan = |mpps| {
        let inputs = Inputs { steering: Steering::Rules, ..world.inputs() };
        run(&inputs, &Ask::Rate(mpps)).unwrap_or_else(|errors| panic!("{errors:?}"))
    };
    // One side alone needs no rule for a flow, so rules limit no rate.
    let low = plan(0.1);
    assert_eq!((low.allocation.sides, low.allocation.unmatched), (Sides::NicOnly, Unmatched::Nic));
    assert!(low.predicted.host_cores < 1e-9, "{low:?}");
    let nic_only = baseline(&low, Baseline::NicOnly);
    assert_eq!(nic_only.predicted.bottleneck, Resource::NicCores, "{nic_only:?}");
    // No direction of a split is better than the plan.
    for mpps in [0.5, 2.0, 6.0] {
        let planned = plan(mpps);
        for unmatched in [Unmatched::Host, Unmatched::Nic] {
            let allocation = Allocation { unmatched, ..planned.allocation.clone() };
            let inputs = Inputs { steering: Steering::Rules, ..world.inputs() };
            let other = predict(&inputs, &allocation, mpps);
            let holds = other.utilisation.values().all(|used| *used <= 1.0);
            assert!(!holds || other.host_cores >= planned.predicted.host_cores - 1e-9, "{other:?}");
        }
    }
}

#[test]
fn more_host_cores_than_there_are_is_no_ask() {
    let world = World::new();
    let errors = run(&world.inputs(), &Ask::HostCores(1_000.0)).expect_err("four are there");
    let told: Vec<String> = errors.iter().map(|e| format!("{e}; {}", e.cure())).collect();
    let wanted = "the host of `sample` has 4 cores, and 1000 are asked for; ask for 4 at most, or take a profile \
                  with more";
    assert_eq!(told, [wanted]);
    assert!(run(&world.inputs(), &Ask::HostCores(4.0)).is_ok());
}

#[test]
fn faster_rules_never_cost_more_host_cores() {
    let world = World::new();
    let inputs = Inputs { steering: Steering::Rules, ..world.inputs() };
    for mpps in [0.5, 3.0, 6.0] {
        let Ok(planned) = run(&inputs, &Ask::Rate(mpps)) else { continue };
        let rates = &planned.rule_rates;
        assert_eq!(rates.iter().map(|rate| rate.per_s).collect::<Vec<_>>(), RuleRate::RANGE);
        let cores = rates.iter().map(|rate| rate.host_cores.unwrap_or(f64::INFINITY));
        let cores: Vec<f64> = cores.collect();
        // A little for the price of the NIC's cores.
        assert!(cores.windows(2).all(|pair| pair[1] <= pair[0] + 0.08), "{cores:?}");
    }
    assert!(world.run(&Ask::Rate(0.5)).rule_rates.is_empty(), "no rules, no rates");
}

/// A program without states, for the limits of everything else.
fn stateless() -> Graph {
    let mut graph = sample::nat();
    graph.states.clear();
    graph.chain[0].parameters.clear();
    graph.chain[0].paths.truncate(1);
    graph
}

#[test]
fn no_plan_is_above_the_wire() {
    for nic in NicProfile::names() {
        for traffic in ["campus", "uniform", "uniform:bytes=9000"] {
            let mut world = World::new();
            world.graph = stateless();
            world.nic = NicProfile::builtin(nic).expect("built in");
            world.traffic = Traffic::load(traffic).expect("built in");
            let port = world.nic.port.clone().expect("it has one");
            let wire = port.gbps.value * 1e3 / 8.0 / Port::on_wire(world.traffic.mean_bytes);
            let most = wire.min(port.mpps.value) * 1.000_2;
            for steering in [Steering::Cores, Steering::Rules] {
                let inputs = Inputs { steering, ..world.inputs() };
                let cores = world.nic.host.cores.value;
                for baseline in Baseline::ALL {
                    let highest = highest(&inputs, baseline, cores);
                    assert!(highest <= most, "{nic} {traffic} {}: {highest}", baseline.word());
                }
                let best = run(&inputs, &Ask::HostCores(cores)).expect("a plan");
                assert!(best.mpps <= most, "{nic} {traffic}: {}", best.mpps);
                assert!(run(&inputs, &Ask::Rate(most * 1.01)).is_err(), "{nic} {traffic}");
            }
        }
    }
}

#[test]
fn frames_take_24_bytes_more_on_the_wire() {
    // Line rate of 10 Gbit/s: 14.88 M frames of 64 bytes with their check sequence.
    assert!((10e3 / 8.0 / Port::on_wire(60.0) - 14.88).abs() < 0.005);
    assert!((10e3 / 8.0 / Port::on_wire(1514.0) - 0.812_7).abs() < 0.000_1);
}

#[test]
fn host_only_is_a_plain_nic() {
    let world = World::new();
    let planned = world.run(&Ask::Rate(1.0));
    let plain = &baseline(&planned, Baseline::HostOnly).predicted;
    let behind = &baseline(&planned, Baseline::HostBehindNic).predicted;
    assert!(plain.nic_cores == 0.0 && plain.utilisation[&Resource::RingPackets] == 0.0);
    assert!(behind.nic_cores > 0.0 && behind.utilisation[&Resource::RingPackets] > 0.0);
    // The driver takes 10 ns of a frame; the crossing takes 30, and 0.05 of each of its 64 bytes.
    let more = (behind.host_cores - plain.host_cores) * 1e3;
    assert!((more - (30.0 + 64.0 * 0.05 - 10.0)).abs() < 1e-6, "{more} ns");
}

#[test]
fn cores_that_are_idle_are_told_with_the_state_behind_it() {
    let world = World::new();
    let errors = run(&world.inputs(), &Ask::Rate(50.0)).expect_err("too much for one pair");
    let told = errors[0].to_string();
    assert!(told.contains("7 of the NIC's 8 cores and 3 of the host's 4 are idle"), "{told}");
    assert!(told.contains("because of `PortPool`"), "{told}");
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
fn the_runtime_can_follow_the_shares_of_every_plan() {
    let campus = Traffic::load("campus").expect("built in");
    let churning = Traffic::load("zipf:flows=10000,churn=0.01").expect("built in");
    let still = Traffic::load("zipf:flows=10000").expect("built in");
    let mut splits = 0;
    for traffic in [sample::traffic(), campus, churning, still] {
        let mut world = World::new();
        world.traffic = traffic;
        for steering in [Steering::Cores, Steering::Rules] {
            let inputs = Inputs { steering, ..world.inputs() };
            for mpps in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0] {
                let Ok(planned) = alone(&inputs, &Ask::Rate(mpps)) else { continue };
                if planned.allocation.sides != Sides::Split {
                    continue;
                }
                splits += 1;
                let decision = decide(&inputs, &planned).expect("a decision");
                let classes = world.traffic.classes("FiveTuple").iter();
                // Of flows that live to be offered the NIC owns one share, and of others nothing.
                for (class, share) in classes.zip(&planned.allocation.shares) {
                    let length = class.packets().unwrap_or(f64::INFINITY);
                    let offered = length > f64::from(decision.offer_after) - 1.0;
                    let owned = if offered { f64::from(decision.nic_share) / 1024.0 } else { 0.0 };
                    assert!((owned - share).abs() <= 1.0 / 1024.0, "{planned:?} {decision:?}");
                }
            }
        }
    }
    assert!(splits > 3, "{splits}");
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
    assert_eq!(curve[3].baselines, [None; 5]);
}
