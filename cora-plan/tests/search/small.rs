//! Small problems, compared with exhaustive search.

use cora_plan::search::{Effort, Problem, evaluate, solve};

use super::{exhaustive, generator};

/// Compares a result with the minimum.
fn compare(problem: &Problem, seed: u64) -> bool {
    let least = exhaustive::least(problem);
    match (solve(problem, Effort::default()), least) {
        (Ok(found), Some(least)) => {
            let charged = evaluate(problem, &found.on, &found.shares);
            let same = charged.cost.to_bits() == found.cost.to_bits();
            assert!(same, "{seed}: the cost is that of the allocation");
            for (uses, limit) in charged.uses.iter().zip(&problem.limits) {
                assert!(*uses <= limit * (1.0 + 2e-9) + 1e-11, "{seed}: {uses} of {limit}");
            }
            let apart = 1e-9 * least.abs().max(1e-3);
            assert!((found.cost - least).abs() <= apart, "{seed}: {} is not {least}", found.cost);
            assert!(found.proof.optimal, "{seed}: it is proven: {:?}", found.proof);
            assert!(found.proof.bound <= least + apart, "{seed}: the bound is one");
            true
        }
        (Err(none), None) => {
            assert!(none.proven && none.grow > 0.0, "{seed}: {none:?}");
            assert!(!none.shortages.is_empty(), "{seed}: it says what lacks");
            false
        }
        (found, least) => panic!("{seed}: {found:?}, and the least is {least:?}"),
    }
}

#[test]
fn wild_problems_are_solved_as_by_trying_everything() {
    let allowed = (0..1000).filter(|seed| compare(&generator::wild(*seed, 10, 4), *seed)).count();
    assert!((600..950).contains(&allowed), "some are contradictions: {}", 1000 - allowed);
}

#[test]
fn chains_are_solved_as_by_trying_everything() {
    for seed in 0..150 {
        let switches = 1 + seed as usize % 10;
        assert!(compare(&generator::chain(seed, switches, 1 + seed as usize % 3), seed));
    }
}
