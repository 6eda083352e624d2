//! The entry of the search: from a problem to a solution with its proof.
//!
//! 1. The problem is prepared ([`Form`]).
//! 2. A feasible allocation is searched. If the start is infeasible, the same search minimises the
//!    factor by which limits must grow. It ends with a feasible allocation, or proves that there is
//!    none and returns the nearest one.
//! 3. Branch and bound ([`Search`]).
//! 4. Ties: among equal costs, as many switches as possible are on, tried from the lowest index;
//!    then shares are as large as possible.
//! 5. Shares within a billionth of a multiple of 1/1024 are rounded to it, if every limit allows.

use super::branch::{Best, Search};
use super::form::{Form, add, members};
use super::shares;
use super::simplex::TOLERANCE;
use super::{Effort, Problem, Proof, Share, Solution, Terms};

/// Shares close to a multiple of one over this are rounded to it.
const GRID: f64 = 1024.0;
/// Maximum distance for rounding; a larger one is intended.
const NEAR: f64 = 1e-9;
/// Relative difference up to which two costs count as equal.
const SAME: f64 = 1e-12;

/// No allocation is within every limit, or the search found none.
#[derive(Clone, Debug, PartialEq)]
pub struct Infeasible {
    /// Overloaded resources of the allocation with the least shortage, in the order of the problem.
    /// Never empty.
    pub shortages: Vec<Shortage>,
    /// The least factor by which every limit would have to grow to make an allocation feasible.
    pub grow: f64,
    /// Switches of the allocation with the least shortage.
    pub on: Vec<bool>,
    /// Shares of the allocation with the least shortage.
    pub shares: Vec<f64>,
    /// Whether infeasibility is proven. Otherwise the effort was exhausted first.
    pub proven: bool,
    /// Nodes of the search.
    pub nodes: u64,
}

/// An overloaded resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortage {
    /// Its index.
    pub resource: usize,
    /// Its amount.
    pub limit: f64,
    /// Use by the allocation with the least shortage.
    pub takes: f64,
}

impl std::fmt::Display for Infeasible {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sure = if self.proven { "no allocation is" } else { "no allocation was found to be" };
        write!(text, "{sure} within every limit; the nearest takes")?;
        for (at, lack) in self.shortages.iter().enumerate() {
            let between = if at == 0 { " " } else { ", " };
            let Shortage { resource, limit, takes } = lack;
            write!(text, "{between}{takes} of resource {resource}, of which there is {limit}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Infeasible {}

/// Cost of an allocation, and its use of each resource.
///
/// # Panics
/// If the length of `on` or `shares` differs from the problem's number of switches or classes.
pub fn evaluate(problem: &Problem, on: &[bool], shares: &[f64]) -> Terms {
    assert_eq!(on.len(), problem.switches.len(), "one word per switch");
    assert_eq!(shares.len(), problem.classes.len(), "one share per class");
    let mut cost = 0.0;
    let mut uses = vec![0.0; problem.limits.len()];
    for (switch, _) in problem.switches.iter().zip(on).filter(|(_, on)| **on) {
        add(&mut uses, 1.0, &switch.uses);
    }
    let is_on = |needs: u128| members(needs).all(|switch| on[switch]);
    for (class, share) in problem.classes.iter().zip(shares) {
        let mut charge = |factor: f64, terms: &Terms| {
            cost += factor * terms.cost;
            add(&mut uses, factor, &terms.uses);
        };
        charge(1.0 - share, &class.away);
        for route in &class.routes {
            charge(*share, if is_on(route.needs) { &route.local } else { &route.punted });
        }
        for (_, carried) in class.carries.iter().filter(|(switch, _)| on[*switch]) {
            add(&mut uses, *share, carried);
        }
    }
    Terms { cost, uses }
}

/// The cheapest allocation within every limit.
///
/// The tolerance of a limit is a billionth of it. The result is a function of the arguments, to the
/// byte, on every machine.
///
/// # Errors
/// No allocation is within every limit; the error has the one with the least shortage.
///
/// # Panics
/// If the problem is malformed: inconsistent lengths, negative or non-finite numbers, more than 128
/// switches.
pub fn solve(problem: &Problem, effort: Effort) -> Result<Solution, Infeasible> {
    // 1. Preparation.
    let form = Form::new(problem);
    // 2. A feasible allocation.
    let starts = match start(problem, &form, effort)? {
        Some(on) => vec![on],
        None => vec![],
    };
    // 3. Branch and bound.
    let mut search = Search::new(&form, effort, f64::NEG_INFINITY);
    search.run(&starts);
    let (bound, nodes, proven) = (search.bound, search.nodes, search.is_proven());
    let best = search.best.expect("the start is allowed, and was tried");
    // 4. Ties.
    let best = settle_ties(&form, best);
    // 5. The grid.
    let on: Vec<bool> = (0..form.switches).map(|switch| best.on & 1 << switch != 0).collect();
    let shares = snap(problem, &on, shares_of(problem, &form, &best.filled.parts));
    let cost = evaluate(problem, &on, &shares).cost;
    let bound = (bound * form.scale).clamp(0.0, cost);
    Ok(Solution { on, shares, cost, proof: Proof { optimal: proven, bound, nodes } })
}

/// A feasible set of switches, if the search needs one to start.
fn start(problem: &Problem, form: &Form, effort: Effort) -> Result<Option<u128>, Infeasible> {
    let least = shares::best(form, form.on);
    if least.fits() {
        return Ok(Some(form.on));
    }
    let relieved = form.relieved(least.lacks * 1.5);
    let mut search = Search::new(&relieved, effort, TOLERANCE);
    search.run(&[]);
    let found = search.best.as_ref().map_or(form.on, |best| best.on);
    let filled = shares::best(form, found);
    if filled.fits() {
        return Ok(Some(found));
    }
    let on: Vec<bool> = (0..form.switches).map(|switch| found & 1 << switch != 0).collect();
    let shares = shares_of(problem, form, &filled.parts);
    let takes = evaluate(problem, &on, &shares).uses;
    let over = |at: &usize| takes[*at] > problem.limits[*at] * (1.0 + TOLERANCE);
    let shortages = (0..takes.len()).filter(over);
    let shortages = shortages.map(|resource| Shortage {
        resource,
        limit: problem.limits[resource],
        takes: takes[resource],
    });
    Err(Infeasible {
        shortages: shortages.collect(),
        grow: filled.lacks,
        on,
        shares,
        proven: search.bound > TOLERANCE,
        nodes: search.nodes,
    })
}

/// Among equal costs, prefers more switches on, and then larger shares.
fn settle_ties(form: &Form, mut best: Best) -> Best {
    let same = SAME * best.filled.cost.abs().max(1e-3);
    for switch in 0..form.switches {
        let on = best.on | 1 << switch;
        if on == best.on || form.off & 1 << switch != 0 {
            continue;
        }
        let filled = shares::best(form, on);
        if filled.fits() && filled.cost <= best.filled.cost + same {
            best = Best { on, filled };
        }
    }
    best.filled = shares::largest(form, best.on);
    best
}

fn shares_of(problem: &Problem, form: &Form, parts: &[f64]) -> Vec<f64> {
    let share = |at: usize| match problem.classes[at].share {
        Share::Exactly(share) => share,
        Share::UpTo(_) => form.classes[at].most * parts[at],
    };
    (0..problem.classes.len()).map(share).collect()
}

/// Rounds shares to the grid if only rounding errors separate them from it.
fn snap(problem: &Problem, on: &[bool], shares: Vec<f64>) -> Vec<f64> {
    let near = |at: usize| {
        let share: f64 = shares[at];
        let grid = (share * GRID).round() / GRID;
        match problem.classes[at].share {
            Share::UpTo(most) if (grid - share).abs() <= NEAR && grid <= most => grid,
            _ => share,
        }
    };
    let snapped: Vec<f64> = (0..shares.len()).map(near).collect();
    let before = evaluate(problem, on, &shares);
    let after = evaluate(problem, on, &snapped);
    let mut uses = after.uses.iter().zip(&before.uses).zip(&problem.limits);
    let kept =
        uses.all(|((after, before), limit)| *after <= before.max(*limit * (1.0 + TOLERANCE)));
    if kept && after.cost <= before.cost + 1e-10 * before.cost { snapped } else { shares }
}
