//! Larger problems, compared with another solver.

use std::time::Duration;

use cora_plan::search::{Effort, solve};

use super::{MAKERS, Maker, generator, milp};

/// Problems with some contradictions; for these, the other solver's answer is not required.
const WILD: (&str, Maker) = ("wild", generator::wild);

/// Compares results with another solver. Returns the number of its answers, and the number of
/// proven ones.
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
        // It keeps limits only to a millionth, so its cost may be below the minimum by as much.
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
        // An unoptimised solver can't answer the largest ones in useful time.
        let sizes: &[(u64, (usize, usize))] =
            if cfg!(debug_assertions) { &[] } else { &[(15, (30, 8)), (4, (64, 16))] };
        for (count, size) in sizes {
            let (answers, _) = against_milp(maker, *count, *size, 10_000);
            assert!(answers >= 2, "{name}: {answers} answers to {count} of {size:?}");
        }
        let (answers, proven) = against_milp(maker, 6, (20, 8), 10_000);
        assert!(answers >= 2 && proven >= 1, "{name}: {answers} answers, {proven} proven");
    }
}
