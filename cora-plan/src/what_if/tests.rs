//! Advice on a planner with known turning points.

use std::collections::BTreeMap;

use super::change::Change;
use super::next_best::{NextBest, Rest};
use super::subject::{Standing, Subject};
use super::turning::{Knob, Turn, Turning};
use super::*;
use crate::demand::Origin;
use crate::graph::Edge;
use crate::model::{Coefficients, Resource, Unmatched};
use crate::optimise::BaselinePlan;
use crate::sample;
use crate::search::Proof;
use crate::vocabulary::{Place, Sides};

/// The sample's NAT on its NIC, with memory for a million entries of the planner below.
pub(crate) fn case(ask: Ask) -> Case {
    let mut graph = sample::nat();
    graph.edges = ["PortPool", "Session"]
        .map(|state| Edge {
            handler: "nat".to_owned(),
            state: state.to_owned(),
            reads: true,
            writes: true,
            inserts: state == "Session",
            removes: false,
        })
        .to_vec();
    let mut nic = sample::nic();
    nic.nic.state_bytes.value = 64_000_000.0;
    Case {
        graph,
        nic,
        traffic: sample::traffic(),
        measurement: None,
        statement: Statement::best(),
        steering: Steering::Cores,
        ask,
    }
}

/// A planner with simple rules:
///
/// - sessions travel while the NIC has 64 bytes for each flow, and are at the host otherwise;
/// - the NIC carries 12 Mpps, of the top class first;
/// - no plan carries more than 30 Mpps.
pub(crate) struct Rules;

const MOST: f64 = 30.0;
const ENTRY: f64 = 64.0;

impl Planner for Rules {
    fn plan(&self, case: &Case) -> Result<Planned, Refusal> {
        let mpps = match case.ask {
            Ask::Rate(mpps) => mpps,
            Ask::HostCores(cores) => MOST.min(6.0 + cores * 2.0),
        };
        if mpps > MOST {
            let what = format!("no plan carries {mpps:.2} Mpps");
            let cure = format!("{MOST} is the most");
            return Err(Refusal { faults: vec![RefusedFor { what, cure }] });
        }
        let flows: f64 = case.traffic.classes("FiveTuple").iter().map(|class| class.flows).sum();
        let fits = flows * ENTRY <= case.nic.nic.state_bytes.value;
        let stated = case.statement.places.get("Session").map(|stated| stated.what);
        let session = stated.unwrap_or(if fits { Place::Travels } else { Place::Host });
        let allocation = Allocation {
            sides: Sides::Split,
            places: BTreeMap::from([
                ("PortPool".to_owned(), Place::Host),
                ("Session".to_owned(), session),
            ]),
            host_handlers: Vec::new(),
            group: "FiveTuple".to_owned(),
            shares: vec![1.0, (12.0 / mpps).min(1.0)],
            unmatched: Unmatched::default(),
        };
        let predicted = self.predict(case, &allocation, mpps);
        let baselines = Baseline::ALL.map(|baseline| other(baseline, &allocation, mpps)).to_vec();
        Ok(Planned {
            ask: case.ask.clone(),
            mpps,
            nic: case.nic.name.clone(),
            traffic: case.traffic.name.clone(),
            weighed: Origin::Estimated,
            counted: Origin::Measured,
            allocation,
            proof: Proof { optimal: true, bound: predicted.host_cores, nodes: 12 },
            predicted,
            ms: 0.25,
            cliff: None,
            rule_rates: Vec::new(),
            coefficients: Coefficients {
                host_packet: 200.0,
                host_move: 1_000.0,
                nic_packet: 400.0,
                nic_pass: 100.0,
                nic_move: 1_000.0,
            },
            baselines,
        })
    }

    fn probe(&self, case: &Case) -> Result<Planned, Refusal> {
        Ok(Planned { baselines: Vec::new(), ..self.plan(case)? })
    }

    fn predict(&self, case: &Case, allocation: &Allocation, mpps: f64) -> Prediction {
        let travels = allocation.places.get("Session") == Some(&Place::Travels);
        let at_nic = allocation.host_handlers.is_empty() && travels;
        let classes = case.traffic.classes("FiveTuple").iter();
        let owned: f64 = classes.zip(&allocation.shares).map(|(it, share)| it.share * share).sum();
        let local = if at_nic { owned * 0.9 } else { 0.0 };
        let host_cores = (1.0 - local) * mpps * 0.5;
        Prediction {
            host_cores,
            nic_cores: mpps * 0.4,
            ceiling_mpps: 7.2 / 0.4,
            bottleneck: Resource::NicCores,
            utilisation: BTreeMap::from([
                (Resource::NicCores, mpps * 0.4 / 7.2),
                (Resource::HostCores, host_cores / 14.4),
                (Resource::NicMemory, 0.1),
                (Resource::FlowTableInserts, 0.0),
            ]),
            unstable: Vec::new(),
            at_nic: local * 1000.0,
        }
    }

    fn curve(&self, case: &Case, rates: &[f64]) -> Vec<CurvePoint> {
        rates
            .iter()
            .map(|mpps| {
                let planned = self.plan(&Case { ask: Ask::Rate(*mpps), ..case.clone() }).ok();
                let cora = planned.as_ref().map(|planned| planned.predicted.host_cores);
                let other = |number: usize| {
                    let plan = &planned.as_ref()?.baselines[number];
                    plan.feasible.then_some(plan.predicted.host_cores)
                };
                CurvePoint { mpps: *mpps, cora, baselines: std::array::from_fn(other) }
            })
            .collect()
    }

    fn highest(&self, _: &Case, baseline: Baseline, host_cores: f64) -> f64 {
        let (per_mpps, ceiling) = rule(baseline);
        if per_mpps > 0.0 { ceiling.min(host_cores / per_mpps) } else { ceiling }
    }
}

/// Host cores per Mpps of a baseline, and its highest rate.
fn rule(baseline: Baseline) -> (f64, f64) {
    match baseline {
        Baseline::HostOnly => (0.5, 28.8),
        Baseline::HostBehindNic => (0.6, 24.0),
        Baseline::NicOnly => (0.0, 8.0),
        Baseline::StateOnly => (0.3, 16.0),
        Baseline::FlowOnly => (0.35, 17.0),
    }
}

fn other(baseline: Baseline, ours: &Allocation, mpps: f64) -> BaselinePlan {
    let (per_mpps, ceiling) = rule(baseline);
    let host_cores = per_mpps * mpps;
    let bottleneck = match baseline {
        Baseline::NicOnly => Resource::FlowTableInserts,
        _ => Resource::HostCores,
    };
    let utilisation = BTreeMap::from([(bottleneck, host_cores / 14.4)]);
    BaselinePlan {
        baseline,
        allocation: ours.clone(),
        predicted: Prediction {
            host_cores,
            nic_cores: 0.0,
            ceiling_mpps: ceiling,
            bottleneck,
            utilisation,
            unstable: Vec::new(),
            at_nic: 0.0,
        },
        feasible: mpps <= ceiling,
    }
}

fn explained(name: &str) -> Explanation {
    let case = case(Ask::Rate(10.0));
    let planned = Rules.plan(&case).unwrap();
    let subject = Subject::find(name, &case.graph, &case.traffic, "FiveTuple").unwrap();
    explain(&Rules, &case, &planned, &subject)
}

fn turn(explanation: &Explanation, knob: Knob, up: bool) -> &Turn {
    let found = explanation.turning.iter().find(|it: &&Turning| it.knob == knob && it.up == up);
    &found.unwrap().turn
}

/// Bisection ends within a hundredth above the turning point.
fn near(at: f64, wanted: f64) -> bool {
    (at / wanted - 1.0).abs() < 0.011
}

#[test]
fn a_state_turns_where_the_rules_say() {
    let explanation = explained("session");
    assert_eq!(explanation.standing, Standing::At(Place::Travels));
    let room = 64_000_000.0 / ENTRY;
    assert!(
        matches!(turn(&explanation, Knob::Flows, true), Turn::Moves { at, to: Standing::At(Place::Host) } if near(*at, room)),
        "{explanation:?}"
    );
    let least = 20_100.0 * ENTRY;
    assert!(
        matches!(turn(&explanation, Knob::NicMemory, false), Turn::Moves { at, .. } if near(*at, least))
    );
    assert!(
        matches!(turn(&explanation, Knob::Ask, true), Turn::NoPlan { at, because } if near(*at, MOST) && because.contains("no plan carries 30.0"))
    );
    for (knob, up) in [(Knob::Ask, false), (Knob::Flows, false), (Knob::NicMemory, true)] {
        assert!(matches!(turn(&explanation, knob, up), Turn::Never { .. }), "{knob:?}");
    }
}

#[test]
fn a_class_turns_where_the_rules_say() {
    let explanation = explained("rest");
    assert_eq!(explanation.standing, Standing::AllOwned);
    assert!(
        matches!(turn(&explanation, Knob::Ask, true), Turn::Moves { at, to: Standing::SomeOwned } if near(*at, 12.0))
    );
}

#[test]
fn the_next_best_is_the_opposite_choice() {
    let NextBest::Possible { standing, rest: Rest::PlannedAgain, predicted, .. } =
        explained("Session").next_best
    else {
        panic!("a keyed state can be at the host")
    };
    assert_eq!((standing, predicted.host_cores), (Standing::At(Place::Host), 5.0));

    let NextBest::Possible { standing, rest: Rest::Kept, predicted, .. } =
        explained("nat").next_best
    else {
        panic!("a handler can run at the host")
    };
    assert_eq!((standing, predicted.host_cores), (Standing::HostAlone, 5.0));

    let NextBest::Possible { standing, predicted, .. } = explained("the top 100").next_best else {
        panic!("the host can own a class")
    };
    assert_eq!(standing, Standing::NoneOwned);
    assert!((predicted.host_cores - 5.0 * (1.0 - 0.4 * 0.9)).abs() < 1e-9);
    // The rules have no one-sided plan.
    assert!(matches!(explained("PortPool").next_best, NextBest::NoChoice(_)));
}

#[test]
fn what_would_take_too_much_is_refused_with_the_resource() {
    let mut case = case(Ask::Rate(10.0));
    let mut planned = Rules.plan(&case).unwrap();
    // All packets at a rate beyond the NIC's cores.
    planned.mpps = 20.0;
    case.ask = Ask::Rate(20.0);
    let next = next_best::run(&Rules, &case, &planned, &Subject::Handler("nat".to_owned()));
    let NextBest::Refused { over, .. } = next else { panic!("{next:?}") };
    assert_eq!(over.len(), 1);
    assert!(over[0].0 == Resource::NicCores && near(over[0].1, 20.0 * 0.4 / 7.2));
}

#[test]
fn unknown_subjects_are_told_the_nearest() {
    let case = case(Ask::Rate(10.0));
    let find = |name: &str| Subject::find(name, &case.graph, &case.traffic, "FiveTuple");
    assert_eq!(find("top 100"), Ok(Subject::Class(0, "the top 100".to_owned())));
    let unknown = find("Sesion").unwrap_err();
    assert_eq!(unknown.near.as_deref(), Some("Session"));
    assert!(unknown.to_string().contains("nat, the top 100, the rest"), "{unknown}");
}

#[test]
fn changes_keep_what_they_do_not_change() {
    let before = case(Ask::Rate(10.0));
    let classes = |case: &Case| case.traffic.by_key["FiveTuple"].clone();
    for change in [
        Change::Ask(1.0),
        Change::Flows(1.0),
        Change::NicMemory(1.0),
        Change::Opens(1.0),
        Change::Skew(1.0),
    ] {
        let after = change.applied(&before);
        assert_eq!((&after.ask, &after.nic), (&before.ask, &before.nic), "{change:?}");
        for (a, b) in classes(&after).iter().zip(&classes(&before)) {
            assert!((a.share - b.share).abs() < 1e-12 && a.flows.total_cmp(&b.flows).is_eq());
        }
    }
    let flat = classes(&Change::Skew(0.0).applied(&before));
    assert!((flat[0].share - 100.0 / 20_100.0).abs() < 1e-12, "alike flows have alike shares");
    let steep = classes(&Change::Skew(1.5).applied(&before));
    assert!(steep[0].share > 0.6 && (steep[0].share + steep[1].share - 1.0).abs() < 1e-12);
    let opens = classes(&Change::Opens(1e6).applied(&before));
    assert!(opens.iter().all(|class| class.opens <= 1.0 && class.opens > 0.99));
}

#[test]
fn sensitivity_and_curves_plan_every_case() {
    let case = case(Ask::Rate(10.0));
    let planned = Rules.plan(&case).unwrap();
    let rows = sensitivity::run(&Rules, &case, &planned);
    let moved = rows.iter().find(|row| row.change == Change::Flows(64.0)).unwrap();
    let outcome = moved.outcome.as_ref().unwrap();
    assert_eq!(outcome.moved, [("Session".to_owned(), Place::Host)]);
    assert!(
        rows.iter()
            .filter(|row| row.change != moved.change)
            .all(|row| { row.outcome.as_ref().is_ok_and(|outcome| outcome.moved.is_empty()) })
    );

    let curves = curve::run(&Rules, &case);
    let names: Vec<&str> = curves.iter().map(curve::Series::name).collect();
    assert_eq!(names, ["Cora", "host-only", "behind-nic", "nic-only", "state-only", "flow-only"]);
    assert_eq!(curves[0].points.last().map(|point| point.0), Some(14.0), "6 + 2·4 host cores");
    let ends = curves[1..].iter().map(|series| series.points.last().map(|point| point.0));
    // The last of 16 steps up to 14 that each baseline reaches.
    assert_eq!(
        ends.collect::<Vec<_>>(),
        [Some(14.0), Some(14.0), Some(7.875), Some(14.0), Some(14.0)]
    );

    let at_cores = Case { ask: Ask::HostCores(3.0), ..case.clone() };
    let planned = Rules.plan(&at_cores).unwrap();
    let faster = curve::speed_up(&Rules, &at_cores, &planned).unwrap();
    assert!((faster - (12.0 / 10.0 - 1.0)).abs() < 1e-12, "state-only goes to 10 Mpps: {faster}");
}
