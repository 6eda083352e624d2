//! Promises of the search besides the cost.

use cora_plan::search::{
    ClassTerms, Effort, Problem, RouteTerms, Share, Switch, Terms, evaluate, solve,
};

use super::{exhaustive, generator};

fn terms(cost: f64, uses: &[f64]) -> Terms {
    Terms { cost, uses: uses.to_vec() }
}

/// One class with one route that needs the switches in `needs`. It costs 10 away, 0 at the NIC
/// (with `local` of the resource), and 11 punted.
fn class(needs: u128, local: f64) -> ClassTerms {
    let route = RouteTerms { needs, local: terms(0.0, &[local]), punted: terms(11.0, &[1.0]) };
    let routes = vec![route];
    ClassTerms { away: terms(10.0, &[0.0]), routes, carries: vec![], share: Share::UpTo(1.0) }
}

fn switch(uses: f64) -> Switch {
    Switch { fixed: None, uses: vec![uses] }
}

#[test]
fn a_state_comes_to_the_nic_if_its_ways_are_worth_its_memory() {
    let mut problem = Problem {
        switches: vec![switch(4.0), switch(1.0)],
        classes: vec![class(0b01, 2.0), class(0b11, 3.0)],
        limits: vec![8.0],
    };
    // Both switches use 5 of 8, which leaves 3: either the first class and a third of the second,
    // or …
    let found = solve(&problem, Effort::default()).expect("allowed");
    assert_eq!(found.on, [true, true]);
    assert!((found.shares[0] - 1.0).abs() < 1e-12 && (found.shares[1] - 1.0 / 3.0).abs() < 1e-9);
    assert!((found.cost - 20.0 / 3.0).abs() < 1e-9 && found.proof.optimal);
    // If everything fits, everything is at the NIC.
    problem.limits = vec![10.0];
    let found = solve(&problem, Effort::default()).expect("allowed");
    assert_eq!((found.cost, &found.shares[..]), (0.0, &[1.0, 1.0][..]));
}

#[test]
fn of_what_costs_the_same_more_is_on_and_more_is_owned() {
    let mut idle = class(0b01, 1.0);
    idle.routes[0].local.cost = 10.0;
    idle.routes[0].punted.cost = 10.0;
    let problem = Problem {
        switches: vec![switch(0.0), switch(0.0), switch(9.0)],
        classes: vec![idle.clone(), idle],
        limits: vec![1.5],
    };
    let found = solve(&problem, Effort::default()).expect("allowed");
    assert_eq!(found.on, [true, true, false], "the third does not fit");
    assert_eq!(found.shares, [1.0, 0.5], "as much as fits; the lower index first");
}

#[test]
fn a_contradiction_names_what_lacks_and_by_how_much() {
    let mut problem = Problem {
        switches: vec![switch(4.0), switch(1.0)],
        classes: vec![class(0b01, 2.0)],
        limits: vec![3.0],
    };
    problem.switches[0].fixed = Some(true);
    let none = solve(&problem, Effort::default()).expect_err("4 don't go into 3");
    assert_eq!(none.shortages.len(), 1);
    assert_eq!((none.shortages[0].resource, none.shortages[0].takes), (0, 4.0));
    assert!((none.grow - 1.0 / 3.0).abs() < 1e-9 && none.proven, "{none:?}");
    assert_eq!(
        none.to_string(),
        "no allocation is within every limit; the nearest takes 4 of resource 0, of which there is 3"
    );
}

#[test]
fn limits_that_grow_as_said_are_enough_and_a_little_less_is_not() {
    let mut seen = 0;
    for seed in 0..400 {
        let mut problem = generator::wild(seed, 6, 3);
        let Err(none) = solve(&problem, Effort::default()) else { continue };
        if problem.limits.iter().any(|limit| *limit <= 1e-3) {
            continue; // A limit of 0 can't grow by a factor.
        }
        seen += 1;
        let limits = problem.limits.clone();
        let mut grown = |by: f64| {
            problem.limits = limits.iter().map(|limit| limit * (1.0 + by)).collect();
            exhaustive::least(&problem).is_some()
        };
        assert!(grown(none.grow * (1.0 + 1e-6)), "{seed}: {none:?}");
        assert!(!grown(none.grow * (1.0 - 1e-6)), "{seed}: {none:?}");
    }
    assert!(seen >= 20, "{seen} contradictions");
}

#[test]
fn a_search_cut_short_says_so_and_its_bound_is_one() {
    let (mut open, mut gaps) = (0, Vec::new());
    for seed in 0..40 {
        let problem = generator::chain(seed, 30, 8);
        let effort = Effort { nodes: 1, ..Effort::default() };
        let short = solve(&problem, effort).expect("allowed");
        let whole = solve(&problem, Effort::default()).expect("allowed");
        let apart = 1e-9 * whole.cost;
        let hasty = solve(&problem, Effort { steps: 0, ..Effort::default() }).expect("allowed");
        assert!(hasty.cost >= whole.cost - apart, "{seed}: nothing beats the optimum");
        assert!(hasty.proof.bound <= whole.cost * (1.0 + 1e-9), "{seed}: the bound is one");
        assert!(whole.proof.optimal && short.cost >= whole.cost - apart);
        assert!(short.proof.bound <= whole.cost + apart, "{seed}: the bound is one");
        assert!(short.proof.nodes <= 1, "{seed}: {:?}", short.proof);
        assert!(!short.proof.optimal || short.cost <= whole.cost + apart);
        open += usize::from(!short.proof.optimal);
        gaps.push((short.cost - short.proof.bound) / short.cost);
    }
    assert!(open >= 5, "one node does not prove everything: {open} are open");
    gaps.sort_by(f64::total_cmp);
    assert!(gaps[20] < 0.01, "and yet is mostly near: {gaps:?}");
}

#[test]
fn a_gap_that_is_allowed_is_kept() {
    for seed in 0..20 {
        let problem = generator::chain(seed, 40, 12);
        let found = solve(&problem, Effort { gap: 0.01, ..Effort::default() }).expect("allowed");
        assert!(found.proof.bound >= found.cost * 0.99 - 1e-12, "{seed}: {:?}", found.proof);
    }
}

#[test]
fn the_same_problem_gives_the_same_bytes() {
    for seed in 0..30 {
        let problem = generator::chain(seed, 20, 8);
        let [one, two] = [0, 1].map(|_| format!("{:?}", solve(&problem, Effort::default())));
        assert_eq!(one, two);
    }
}

#[test]
fn evaluating_charges_what_the_formula_says() {
    let mut problem = Problem {
        switches: vec![switch(4.0), switch(1.0)],
        classes: vec![class(0b11, 2.0)],
        limits: vec![100.0],
    };
    problem.classes[0].carries = vec![(1, vec![8.0])];
    let half = |on: [bool; 2]| {
        let Terms { cost, uses } = evaluate(&problem, &on, &[0.5]);
        (cost, uses[0])
    };
    assert_eq!(half([false, false]), (10.5, 0.5));
    assert_eq!(half([false, true]), (10.5, 1.0 + 0.5 + 4.0));
    assert_eq!(half([true, true]), (5.0, 5.0 + 1.0 + 4.0));
}

#[test]
fn units_do_not_matter() {
    for seed in 0..20 {
        let problem = generator::chain(seed, 15, 6);
        let mut other = problem.clone();
        let units = [1e-3, 1e10, 1e7, 1e9, 1e6, 1e-6];
        let scale =
            |uses: &mut Vec<f64>| uses.iter_mut().zip(units).for_each(|(uses, by)| *uses *= by);
        scale(&mut other.limits);
        other.switches.iter_mut().for_each(|switch| scale(&mut switch.uses));
        for class in &mut other.classes {
            class.carries.iter_mut().for_each(|(_, uses)| scale(uses));
            let routes = class.routes.iter_mut().flat_map(|it| [&mut it.local, &mut it.punted]);
            for terms in routes.chain([&mut class.away]) {
                terms.cost *= 1e-4;
                scale(&mut terms.uses);
            }
        }
        let [one, two] = [problem, other].map(|it| solve(&it, Effort::default()).expect("allowed"));
        assert_eq!(one.on, two.on, "{seed}");
        assert!((one.cost * 1e-4 - two.cost).abs() <= 2e-9 * two.cost, "{seed}");
    }
}

#[test]
fn nothing_to_decide_is_decided() {
    let empty = Problem { switches: vec![], classes: vec![], limits: vec![] };
    let found = solve(&empty, Effort::default()).expect("allowed");
    assert!(found.cost == 0.0 && found.proof.optimal && found.on.is_empty());
    let idle = Problem { switches: vec![switch(1.0); 128], classes: vec![], limits: vec![4.0] };
    let found = solve(&idle, Effort::default()).expect("allowed");
    assert_eq!(found.on.iter().filter(|on| **on).count(), 4, "as many as fit");
}
