//! Whole buckets: under `dealt` the NIC's share is of 256 buckets, where the search knows only
//! shares.
//!
//! Costs and limits of the search are linear in the share, so the allowed shares are an interval,
//! and the best one is at an end of it. The best number of buckets is then next to that.

use super::allocation::{Found, SLACK, better, judged};
use super::candidate::Candidate;
use crate::model::Setting;
use crate::model::latency::Latencies;
use crate::search::{Share, Solution};
use crate::statement::Statement;
use crate::vocabulary::BUCKETS;

/// The stated share of the buckets.
pub(super) fn stated(statement: &Statement) -> Option<Share> {
    let buckets = f64::from(statement.nic_buckets?.what);
    Some(Share::Exactly(buckets / f64::from(BUCKETS)))
}

/// The better of the two allocations of whole buckets next to a solution, and its latencies.
pub(super) fn best(
    setting: &Setting<'_>,
    candidate: &Candidate,
    solution: &Solution,
    mpps: f64,
) -> (Found, Latencies) {
    let rounded = |of: fn(f64) -> f64| {
        let shares = solution.shares.iter().map(|share| whole(*share, of)).collect();
        judged(setting, candidate, &Solution { shares, ..solution.clone() }, mpps)
    };
    let (fewer, more) = (rounded(f64::floor), rounded(f64::ceil));
    match (fewer.0.holds(), more.0.holds()) {
        (true, true) if better(&more.0, &fewer.0) => more,
        (false, true) => more,
        _ => fewer,
    }
}

/// The share of a whole number of buckets; a share that is one but for rounding stays.
fn whole(share: f64, of: fn(f64) -> f64) -> f64 {
    let all = f64::from(BUCKETS);
    let buckets = share * all;
    let near = buckets.round();
    let buckets = if (buckets - near).abs() < SLACK { near } else { of(buckets) };
    buckets / all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Access, Graph};
    use crate::model::limits::usable;
    use crate::model::{Allocation, Prediction, Resource, Steering};
    use crate::nic::NicProfile;
    use crate::optimise::{Inputs, Planned, PlanningError, alone, decide, predict};
    use crate::placement::PlanError;
    use crate::sample;
    use crate::statement::{Ask, Stated};
    use crate::traffic::Traffic;
    use crate::vocabulary::{Kind, Place, Sides};

    /// The sample's NAT with a pool that is divided by bucket.
    fn divided() -> Graph {
        let mut graph = sample::nat();
        graph.states[0].kind = Kind::PerBucket;
        graph
    }

    struct World {
        graph: Graph,
        nic: NicProfile,
        traffic: Traffic,
        statement: Statement,
    }

    impl World {
        fn new() -> Self {
            let traffic = sample::traffic();
            Self { graph: divided(), nic: sample::nic(), traffic, statement: Statement::best() }
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

        fn only(sides: Sides) -> Self {
            Self { statement: Statement::of(sides), ..Self::new() }
        }

        fn plan(&self, mpps: f64) -> Result<Planned, Vec<PlanningError>> {
            alone(&self.inputs(), &Ask::Rate(mpps))
        }

        /// The prediction for so many buckets, whatever the search thinks of them.
        fn dealt(&self, buckets: u16, mpps: f64) -> (Allocation, Prediction) {
            let places =
                [("PortPool".to_owned(), Place::Divided), ("Session".to_owned(), Place::Travels)];
            let allocation = Allocation {
                sides: Sides::Dealt,
                places: places.into(),
                host_handlers: Vec::new(),
                group: "FiveTuple".to_owned(),
                shares: vec![f64::from(buckets) / f64::from(BUCKETS); 2],
                unmatched: crate::model::Unmatched::Host,
            };
            let predicted = predict(&self.inputs(), &allocation, mpps);
            (allocation, predicted)
        }
    }

    fn holds(predicted: &Prediction) -> bool {
        predicted.utilisation.iter().all(|(of, used)| *used <= usable(*of) * (1.0 + SLACK))
    }

    /// Rates up to the highest under `dealt`.
    fn rates(world: &World) -> Vec<f64> {
        let cores = world.nic.host.cores.value;
        let most = alone(&world.inputs(), &Ask::HostCores(cores)).expect("a plan").mpps;
        [0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99].map(|part| part * most).to_vec()
    }

    #[test]
    fn no_number_of_buckets_is_better_than_the_searched_one() {
        let mut inner = 0;
        for (nic_bytes, host_ns) in [(4e9, 10.0), (5e8, 10.0), (4e9, 100.0)] {
            let mut world = World::only(Sides::Dealt);
            world.nic.nic.state_bytes.value = nic_bytes;
            world.nic.port.as_mut().expect("a port").host_ns.value = host_ns;
            for mpps in rates(&world) {
                let planned = world.plan(mpps).expect("a plan");
                let found = planned.allocation.nic_buckets().expect("dealt");
                inner += usize::from((1..BUCKETS).contains(&found));
                assert!(holds(&planned.predicted), "{planned:?}");
                let all = (0..=BUCKETS).map(|buckets| (buckets, world.dealt(buckets, mpps).1));
                let all = all.filter(|(_, predicted)| holds(predicted));
                let best = all.min_by(|(_, a), (_, b)| a.cost().total_cmp(&b.cost()));
                let (buckets, best) = best.expect("the searched one at least");
                // Latencies follow the share, so the search may stop a bucket beside the best one.
                assert!(found.abs_diff(buckets) <= 1, "{found} of {buckets} at {mpps} Mpps");
                let apart = planned.predicted.cost() - best.cost();
                assert!(apart < 0.01, "{apart} cores at {mpps} Mpps");
                assert!(planned.proof.bound <= planned.predicted.cost() + 1e-9);
            }
        }
        assert!(inner > 5, "{inner} plans have buckets at both sides");
    }

    #[test]
    fn the_best_plan_costs_no_more_than_any_and_is_dealt_where_that_is_best() {
        let (best, sides) = (World::new(), Sides::ALL.map(World::only));
        let mut dealt = 0;
        for mpps in rates(&sides[3]) {
            let planned = best.plan(mpps).expect("a plan");
            for world in &sides {
                let Ok(other) = world.plan(mpps) else { continue };
                let (ours, theirs) = (planned.predicted.cost(), other.predicted.cost());
                assert!(ours <= theirs + 1e-9, "{ours} and {theirs} at {mpps} Mpps: {other:?}");
            }
            dealt += usize::from(planned.allocation.sides == Sides::Dealt);
            assert_eq!(best.plan(mpps).expect("a plan").allocation, planned.allocation);
        }
        assert!(dealt > 3, "{dealt} plans are dealt");
    }

    #[test]
    fn no_packet_crosses_and_rules_never_change() {
        let world = World::only(Sides::Dealt);
        for mpps in rates(&world) {
            let planned = world.plan(mpps).expect("a plan");
            let used = |resource| planned.predicted.utilisation[&resource];
            for resource in [Resource::RingPackets, Resource::RingBytes, Resource::FlowTableInserts]
            {
                assert!(used(resource).abs() < 1e-12, "{resource:?} {planned:?}");
            }
            let rules = used(Resource::FlowTable) * 10_000.0;
            assert!((rules - 512.0).abs() < 1e-6, "{rules}");
            let at_nic = f64::from(planned.allocation.nic_buckets().expect("dealt")) / 256.0;
            assert!((planned.predicted.at_nic / 1000.0 - at_nic).abs() < 1e-9, "{planned:?}");
        }
    }

    #[test]
    fn all_buckets_are_nic_only_and_none_is_host_only() {
        let world = World::new();
        for mpps in [0.2, 1.0, 3.0] {
            let alone = |sides| World::only(sides).plan(mpps).map(|planned| planned.predicted);
            let (all, none) = (world.dealt(256, mpps).1, world.dealt(0, mpps).1);
            if let Ok(nic_only) = alone(Sides::NicOnly) {
                assert!((all.nic_cores - nic_only.nic_cores).abs() < 1e-9, "{all:?} {nic_only:?}");
            }
            assert!(all.host_cores == 0.0 && none.nic_cores == 0.0, "{all:?} {none:?}");
            // Each side has a part of the bytes by its buckets.
            let half = world.dealt(128, mpps).1;
            for (whole, resource) in [(&all, Resource::NicMemory), (&none, Resource::HostMemory)] {
                let part = half.utilisation[&resource] / whole.utilisation[&resource];
                assert!((part - 0.5).abs() < 1e-9, "{resource:?}: {part}");
            }
        }
    }

    #[test]
    fn a_stated_number_of_buckets_is_kept() {
        let mut world = World::only(Sides::Dealt);
        for buckets in [0, 1, 77, 256] {
            world.statement.nic_buckets = Some(Stated { what: buckets, line: 3 });
            let planned = world.plan(0.5).expect("a plan");
            assert_eq!(planned.allocation.nic_buckets(), Some(buckets));
            let decision = decide(&world.inputs(), &planned).expect("a decision");
            assert_eq!((decision.sides, decision.nic_buckets), (Sides::Dealt, buckets));
            assert_eq!(decision.places, planned.allocation.places);
        }
    }

    #[test]
    fn what_runs_on_one_shard_is_not_dealt() {
        let mut world = World::new();
        world.graph.states[0].kind = Kind::Singleton;
        for mpps in [0.2, 1.0, 2.0] {
            let Ok(planned) = world.plan(mpps) else { continue };
            assert_ne!(planned.allocation.sides, Sides::Dealt);
        }
        world.statement = Statement::of(Sides::Dealt);
        let errors = world.plan(0.5).expect_err("a refusal");
        let refused = matches!(errors[..], [PlanningError::Refused(PlanError::NotByBucket { .. })]);
        assert!(refused, "{errors:?}");
    }

    /// Processor time of this thread so far, in milliseconds.
    fn thread_millis() -> f64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        std::time::Duration::try_from(now).unwrap_or_default().as_secs_f64() * 1e3
    }

    #[test]
    fn twenty_states_and_eight_classes_are_planned_in_less_than_a_tenth_of_a_second() {
        let mut world = World::new();
        for number in 0..18 {
            let name = format!("State{number}");
            let state = match number % 3 {
                0 => sample::state(&name, Kind::Keyed, Some("FiveTuple"), "[u8; 256]"),
                1 => sample::state(&name, Kind::Commutative, None, "Sum"),
                _ => sample::state(&name, Kind::ReadMostly, None, "[u8; 65_536]"),
            };
            world.graph.states.push(state);
            for path in &mut world.graph.chain[0].paths[1..] {
                let access = Access { state: name.clone(), ..path.accesses[0].clone() };
                path.accesses.push(access);
            }
        }
        let classes = (1..=8).map(|number| {
            let flows = f64::from(1 << (2 * number));
            sample::class(&format!("class {number}"), flows, 0.125, 0.001 * f64::from(number))
        });
        world.traffic.by_key.insert("FiveTuple".to_owned(), classes.collect());
        for state in world.graph.states.iter_mut().filter_map(|state| state.keyed.as_mut()) {
            (state.capacity, state.idle_ns) = (100_000_000, 1_000_000_000);
        }
        let (mut sides, mut slowest) = (Vec::new(), 0.0_f64);
        for mpps in [0.2, 1.0, 2.0, 3.0, 4.0] {
            let begun = thread_millis();
            let planned = world.plan(mpps);
            slowest = slowest.max(thread_millis() - begun);
            sides.extend(planned.ok().map(|planned| planned.allocation.sides));
        }
        assert!(sides.contains(&Sides::Dealt) && sides.contains(&Sides::NicOnly), "{sides:?}");
        // An unoptimised build takes about twenty times as long.
        let most = if cfg!(debug_assertions) { 2_000.0 } else { 100.0 };
        println!("the slowest plan took {slowest:.1} ms");
        assert!(slowest < most, "{slowest} ms");
    }

    #[test]
    fn without_a_flow_table_nothing_is_dealt() {
        let mut world = World::new();
        world.nic.flow_table = None;
        for mpps in [0.5, 2.0, 3.0] {
            let Ok(planned) = world.plan(mpps) else { continue };
            assert_ne!(planned.allocation.sides, Sides::Dealt);
        }
        world.statement = Statement::of(Sides::Dealt);
        let nic = world.nic.name.clone();
        assert_eq!(world.plan(0.5).unwrap_err(), [PlanningError::NoFlowTable { nic }]);
    }
}
