//! Larger problems, against another solver.

use std::time::Duration;

use cora_plan::search::{Effort, solve};

use super::{MAKERS, Maker, generator, milp};

/// Problems of which some are contradictions; about these, the other solver is not asked twice.
const WILD: (&str, Maker) = ("wild", generator::wild);

/// Holds a result against another solver's; how often that had an answer, and how often it was proven.
fn against_milp(maker: Maker, count: u64, size: (usize, usize), time: u64) -> (usize, usize) {
    let (mut answers, mut proven) = (0, 0);
    for seed in 0..count {
        let problem = maker(seed, size.0, size.1);
        let Some(answer) = milp::ask(&problem, Duration::from_millis(time)) else { continue };
        if !answer.allowed {
            continue;
        }
        answers += 1;
        proven += usize::from(answer.optimal);
        let found = solve(&problem, Effort::default()).expect("the other found something");
        // Its limits are kept by a millionth only, and so may its cost be below the least by as much.
        let apart = 1e-5 * answer.cost.max(1e-3);
        assert!(found.cost <= answer.cost + apart, "{seed}: {} > {}", found.cost, answer.cost);
        assert!(found.proof.bound <= answer.cost + apart, "{seed}: the bound is one");
        if answer.optimal {
            assert!(found.cost >= answer.cost - apart, "{seed}: {} < {}", found.cost, answer.cost);
        }
    }
    (answers, proven)
}

#[test]
fn larger_problems_are_solved_no_worse_than_by_a_milp_solver() {
    for (name, maker) in MAKERS.into_iter().chain([WILD]) {
        let (answers, proven) = against_milp(maker, 6, (20, 8), 10_000);
        assert!(answers >= 2 && proven >= 1, "{name}: {answers} answers, {proven} proven");
    }
}

#[test]
#[ignore = "minutes: cargo test --release -p cora-plan --test search -- --ignored --nocapture milp"]
fn the_largest_problems_are_solved_no_worse_than_by_a_milp_solver() {
    for (name, maker) in MAKERS.into_iter().chain([WILD]) {
        for (size, count, time) in [((20, 8), 30, 2000), ((30, 8), 15, 3000), ((64, 16), 4, 10_000)]
        {
            let (answers, proven) = against_milp(maker, count, size, time);
            println!(
                "{name} {} × {}: {answers} of {count} answers, {proven} proven",
                size.0, size.1
            );
        }
    }
}
