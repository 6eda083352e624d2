//! Time of the search: `cargo bench -p cora-plan`.
//!
//! Each figure is one pass over a batch of fifty random problems, the same ones as in the tests.

#[path = "../tests/search/generator.rs"]
mod generator;

use std::hint::black_box;

use cora_plan::search::{Effort, Problem, solve};
use criterion::{Criterion, criterion_group, criterion_main};

/// Generates a problem from a seed, a number of switches and a number of classes.
type Maker = fn(u64, usize, usize) -> Problem;

fn searches(criterion: &mut Criterion) {
    let makers: [(&str, Maker); 3] =
        [("chain", generator::chain), ("packed", generator::packed), ("wild", generator::wild)];
    let mut group = criterion.benchmark_group("search, batch of 50");
    group.sample_size(10);
    for (name, maker) in makers {
        for (switches, classes) in [(5, 4), (20, 8), (64, 16)] {
            let batch: Vec<Problem> = (0..50).map(|seed| maker(seed, switches, classes)).collect();
            group.bench_function(format!("{name} {switches} x {classes}"), |bencher| {
                bencher.iter(|| {
                    for problem in &batch {
                        black_box(solve(black_box(problem), Effort::default()).is_ok());
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, searches);
criterion_main!(benches);
