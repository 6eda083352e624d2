//! Effort of the search, in nodes and in processor time: run it with `--nocapture`.

use std::time::Duration;

use cora_plan::search::{Effort, solve};
use rustix::time::{ClockId, clock_gettime};

use super::{MAKERS, Maker};

/// Effort of a batch of problems.
struct Batch {
    millis: Vec<f64>,
    nodes: Vec<u64>,
    gaps: Vec<f64>,
    proven: usize,
}

/// Processor time of this thread so far.
fn thread_millis() -> f64 {
    let now = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime));
    now.unwrap_or_default().as_secs_f64() * 1e3
}

fn batch(maker: Maker, count: u64, (switches, classes): (usize, usize), effort: Effort) -> Batch {
    let mut batch = Batch { millis: vec![], nodes: vec![], gaps: vec![], proven: 0 };
    for seed in 0..count {
        let problem = maker(seed, switches, classes);
        let start = thread_millis();
        let found = solve(&problem, effort);
        batch.millis.push(thread_millis() - start);
        let Ok(found) = found else { continue };
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
        let count = self.gaps.len();
        let [half, nine, last] = [count / 2, count * 9 / 10, count - 1];
        println!(
            "{name}: {count} problems, {} proven; ms: median {:.2}, 90 % {:.2}, worst {:.2}; nodes: {}, {}, {}; \
             gap: {:.1e}, {:.1e}, {:.1e}",
            self.proven,
            self.millis[half],
            self.millis[nine],
            self.millis[self.millis.len() - 1],
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
fn twenty_by_eight_takes_few_nodes() {
    // The worst of the first fifty needs 41.
    for (name, maker) in MAKERS {
        let batch = batch(maker, 50, (20, 8), Effort::default());
        batch.print(&format!("{name} 20 × 8"));
        assert_eq!(batch.proven, 50);
        assert!(batch.nodes[49] <= 60, "the worst took {} nodes", batch.nodes[49]);
    }
}

#[test]
fn sixty_four_by_sixteen_takes_few_nodes() {
    for (name, maker) in MAKERS {
        let count = if cfg!(debug_assertions) { 5 } else { 50 };
        let batch = batch(maker, count as u64, (64, 16), Effort::default());
        batch.print(&format!("{name} 64 × 16"));
        assert_eq!(batch.proven, count);
        let worst = batch.nodes[count - 1];
        assert!(worst <= 3000, "the worst took {worst} nodes");
    }
}
