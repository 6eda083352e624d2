//! The search against two oracles that share nothing with it, and the work it takes.

mod exhaustive;
mod generator;

use cora_plan::search::{Effort, Problem, evaluate, solve};

/// Holds a result against the least there is.
fn compare(problem: &Problem, seed: u64) -> bool {
    let least = exhaustive::least(problem);
    match (solve(problem, Effort::default()), least) {
        (Ok(found), Some(least)) => {
            let charged = evaluate(problem, &found.on, &found.shares);
            assert_eq!(charged.cost, found.cost, "{seed}: the cost is that of the allocation");
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
    let allowed = (0..1000).filter(|seed| compare(&generator::wild(*seed, 8, 4), *seed)).count();
    assert!((600..950).contains(&allowed), "some are contradictions: {}", 1000 - allowed);
}

#[test]
fn chains_are_solved_as_by_trying_everything() {
    for seed in 0..150 {
        let switches = 1 + seed as usize % 10;
        assert!(compare(&generator::chain(seed, switches, 1 + seed as usize % 3), seed));
    }
}

/// What a batch of problems took.
struct Batch {
    millis: Vec<f64>,
    nodes: Vec<u64>,
    gaps: Vec<f64>,
    proven: usize,
}

fn batch(seeds: std::ops::Range<u64>, switches: usize, classes: usize, effort: Effort) -> Batch {
    let mut batch = Batch { millis: vec![], nodes: vec![], gaps: vec![], proven: 0 };
    for seed in seeds {
        let problem = generator::chain(seed, switches, classes);
        let start = std::time::Instant::now();
        let found = solve(&problem, effort).expect("nothing owned is allowed");
        batch.millis.push(start.elapsed().as_secs_f64() * 1e3);
        batch.nodes.push(found.proof.nodes);
        batch.gaps.push((found.cost - found.proof.bound) / found.cost.max(1e-9));
        batch.proven += usize::from(found.proof.optimal);
    }
    batch.millis.sort_by(f64::total_cmp);
    batch.gaps.sort_by(f64::total_cmp);
    batch.nodes.sort_unstable();
    batch
}

impl Batch {
    fn print(&self, name: &str) {
        let count = self.millis.len();
        let [half, nine, last] = [count / 2, count * 9 / 10, count - 1];
        println!(
            "{name}: {count} problems, {} proven; ms: median {:.2}, 90 % {:.2}, worst {:.2}; nodes: {}, {}, {}; \
             gap: {:.1e}, {:.1e}, {:.1e}",
            self.proven,
            self.millis[half],
            self.millis[nine],
            self.millis[last],
            self.nodes[half],
            self.nodes[nine],
            self.nodes[last],
            self.gaps[half],
            self.gaps[nine],
            self.gaps[last],
        );
    }
}

#[test]
#[ignore = "measures time: cargo test --release -p cora-plan --test search -- --ignored --nocapture"]
fn speed() {
    for (switches, classes) in [(10, 4), (20, 8), (30, 8), (40, 12), (64, 16)] {
        let batch = batch(0..50, switches, classes, Effort::default());
        batch.print(&format!("{switches} × {classes}"));
    }
}
