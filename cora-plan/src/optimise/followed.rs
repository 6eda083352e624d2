//! The search among allocations that a runtime can follow: one threshold in packets, and one share
//! of all flows above it ([`offer`](crate::model::offer)).
//!
//! Each set of classes above a threshold is a problem of its own. Its classes are one, since they
//! have one share; the host owns the others. The cheapest solution of all sets is the result.

use crate::search::{
    ClassTerms, Effort, Infeasible, Problem, Proof, Share, Solution, Terms, solve,
};

/// Costs that differ by a smaller part are equal, and the first set is the result.
const SAME: f64 = 1e-12;

/// The cheapest solution over the sets of classes that the NIC may own parts of; `problem` makes
/// the problem of a set. If no set has a solution, the least infeasible one is the error.
pub(super) fn run(
    sets: &[Vec<bool>],
    problem: impl Fn(&[bool]) -> Problem,
) -> Result<Solution, Infeasible> {
    let Some((first, others)) = sets.split_first() else {
        // A traffic without classes leaves only switches.
        return solve(&problem(&[]), Effort::default());
    };
    let mut best = of_set(first, &problem);
    for owned in others {
        best = match (best, of_set(owned, &problem)) {
            (Ok(best), Ok(next)) => Ok(cheaper(best, next)),
            (Ok(one), Err(infeasible)) | (Err(infeasible), Ok(one)) => {
                let Proof { optimal, bound, nodes } = one.proof;
                let optimal = optimal && infeasible.proven;
                let nodes = nodes + infeasible.nodes;
                Ok(Solution { proof: Proof { optimal, bound, nodes }, ..one })
            }
            (Err(best), Err(next)) => {
                let nodes = best.nodes + next.nodes;
                let proven = best.proven && next.proven;
                let nearest = if next.grow < best.grow { next } else { best };
                Err(Infeasible { proven, nodes, ..nearest })
            }
        };
    }
    best
}

/// The cheaper of two, with a proof of both.
fn cheaper(a: Solution, b: Solution) -> Solution {
    let proof = Proof {
        optimal: a.proof.optimal && b.proof.optimal,
        bound: a.proof.bound.min(b.proof.bound),
        nodes: a.proof.nodes + b.proof.nodes,
    };
    let best = if b.cost < a.cost * (1.0 - SAME) { b } else { a };
    Solution { proof, ..best }
}

/// The cheapest solution of a set, with a share for each class.
fn of_set(owned: &[bool], problem: &impl Fn(&[bool]) -> Problem) -> Result<Solution, Infeasible> {
    let spread = |shares: &[f64]| {
        let share = shares.first().copied().unwrap_or_default();
        owned.iter().map(|owned| if *owned { share } else { 0.0 }).collect()
    };
    match solve(&merged(&problem(owned), owned), Effort::default()) {
        Ok(solution) => Ok(Solution { shares: spread(&solution.shares), ..solution }),
        Err(infeasible) => Err(Infeasible { shares: spread(&infeasible.shares), ..infeasible }),
    }
}

/// The problem with two classes: the owned ones as one, and the others, of which the NIC owns
/// nothing.
fn merged(problem: &Problem, owned: &[bool]) -> Problem {
    let none = ClassTerms {
        away: Terms { cost: 0.0, uses: vec![0.0; problem.limits.len()] },
        routes: Vec::new(),
        carries: Vec::new(),
        share: Share::Exactly(0.0),
    };
    let (mut one, mut kept) = (none.clone(), none);
    let mut share = None;
    for (class, owned) in problem.classes.iter().zip(owned) {
        let into = if *owned { &mut one } else { &mut kept };
        into.away.cost += class.away.cost;
        into.away.uses.iter_mut().zip(&class.away.uses).for_each(|(sum, uses)| *sum += uses);
        if *owned {
            one.routes.extend(class.routes.iter().cloned());
            one.carries.extend(class.carries.iter().cloned());
            share = Some(share.map_or(class.share, |share| least(share, class.share)));
        }
    }
    one.share = share.unwrap_or(one.share);
    Problem { classes: vec![one, kept], ..problem.clone() }
}

/// The share that both classes can have: a class without any keeps the other from one.
fn least(a: Share, b: Share) -> Share {
    match (a, b) {
        (Share::UpTo(a), Share::UpTo(b)) => Share::UpTo(a.min(b)),
        (Share::Exactly(a), Share::Exactly(b)) => Share::Exactly(a.min(b)),
        (Share::Exactly(exactly), Share::UpTo(most))
        | (Share::UpTo(most), Share::Exactly(exactly)) => Share::Exactly(exactly.min(most)),
    }
}
