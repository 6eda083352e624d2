//! Not to be committed.
use super::*;
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort;
#[derive(Clone, Debug)]
pub struct Infeasible {
    pub resource: usize,
    pub excess: f64,
}
pub fn solve(problem: &Problem, _: Effort) -> Result<Solution, Infeasible> {
    let free: Vec<usize> =
        (0..problem.switches.len()).filter(|s| problem.switches[*s].fixed.is_none()).collect();
    let mut best: Option<Solution> = None;
    let mut short = 0;
    for mask in 0..1_u32 << free.len() {
        let mut on: Vec<bool> = problem.switches.iter().map(|s| s.fixed.unwrap_or(true)).collect();
        for (b, s) in free.iter().enumerate() {
            on[*s] = mask >> b & 1 == 0;
        }
        let mut shares: Vec<f64> = problem
            .classes
            .iter()
            .map(|c| match c.share {
                Share::Exactly(x) => x,
                Share::UpTo(_) => 0.0,
            })
            .collect();
        let ok = |shares: &[f64]| {
            let (_, u) = evaluate(problem, &on, shares);
            u.iter().zip(&problem.limits).position(|(u, l)| *u > l * (1.0 + 1e-9))
        };
        if let Some(r) = ok(&shares) {
            short = r;
            continue;
        }
        for c in 0..shares.len() {
            if let Share::UpTo(most) = problem.classes[c].share {
                let cost = |x: f64, shares: &Vec<f64>| {
                    let mut s = shares.clone();
                    s[c] = x;
                    (ok(&s).is_none(), evaluate(problem, &on, &s).0)
                };
                let mut x = 0.0;
                for step in 0..=1024 {
                    let y = most * f64::from(step) / 1024.0;
                    let (fine, k) = cost(y, &shares);
                    if fine && k < cost(x, &shares).1 {
                        x = y
                    }
                }
                shares[c] = x;
            }
        }
        let cost = evaluate(problem, &on, &shares).0;
        if best.as_ref().is_none_or(|b| cost < b.cost - 1e-12) {
            best = Some(Solution {
                on,
                shares,
                cost,
                proof: Proof { optimal: false, bound: 0.0, nodes: 0 },
            });
        }
    }
    best.ok_or(Infeasible { resource: short, excess: 0.0 })
}
