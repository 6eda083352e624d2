//! The search for the best allocation: the switches that are on, and the share of each class that
//! the NIC owns.
//!
//! The problem is abstract: it has switches, classes and resources, but no states or packets.
//! `model` derives it from a graph and profiles. The result is exact and comes with its proof.
//!
//! With `on(j)` in {0, 1} for each switch and `x(c)` in [0, 1] for each class:
//!
//! ```text
//! minimise    Σ_c (1 − x(c))·away(c).cost
//!           + Σ_c x(c)·Σ_r (on(all of r.needs) ? r.local.cost : r.punted.cost)
//! such that   for each resource k:
//!             Σ_j on(j)·switch(j).uses[k]
//!           + Σ_c (1 − x(c))·away(c).uses[k]
//!           + Σ_c x(c)·Σ_r (on(all of r.needs) ? r.local.uses[k] : r.punted.uses[k])
//!           + Σ_c x(c)·Σ_{j in carries(c)} on(j)·carried[k]                          ≤ limit[k]
//! ```
//!
//! The modules, from the outside in. Each lists its steps at its head, and its code carries their
//! numbers.
//!
//! | module | contents |
//! | --- | --- |
//! | `solve` | the whole: prepare, find a feasible allocation, search, break ties |
//! | `form` | the problem scaled, merged, without irrelevant parts |
//! | `branch` | branch and bound over switches: lowest bound first, started by a local search |
//! | `relaxed` | the bound of a node: the best prices of resources, by cutting planes |
//! | `priced` | the bound at given prices: a minimum cut that pays once for a shared switch |
//! | `shares` | the best shares for decided switches: a linear program |
//! | `flow`, `simplex` | maximum flow; linear programs with few rows |
//!
//! Effort is counted in steps that are the same on every machine. Floats are only added,
//! multiplied, divided, compared and rounded, so the same problem gives the same bytes everywhere.

mod branch;
mod flow;
mod form;
mod priced;
mod relaxed;
mod shares;
mod simplex;
mod solve;

pub use solve::{Infeasible, Shortage, evaluate, solve};

/// An optimisation problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// States and handlers that may be on (at the NIC) or off (at the host). At most 128.
    pub switches: Vec<Switch>,
    /// Classes of flows.
    pub classes: Vec<ClassTerms>,
    /// Amount of each resource. Never negative.
    pub limits: Vec<f64>,
}

/// A state or handler that is at the NIC or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// The decision, if it is fixed.
    pub fixed: Option<bool>,
    /// Resources that it uses if it is on, independent of the shares. Never negative.
    pub uses: Vec<f64>,
}

/// Costs and resource use of a class of flows, at the asked rate.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassTerms {
    /// If the host owns all of it.
    pub away: Terms,
    /// If the NIC owns all of it, by route.
    pub routes: Vec<RouteTerms>,
    /// Switch, and the resources used if it is on and the NIC owns the whole class.
    pub carries: Vec<(usize, Vec<f64>)>,
    /// The possible shares of the class.
    pub share: Share,
}

/// The possible shares of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Any share from 0 to this, at most 1.
    UpTo(f64),
    /// This share only.
    Exactly(f64),
}

/// One route of a class's packets.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteTerms {
    /// Switches that must be on for it to run at the NIC: bit `j` for switch `j`.
    pub needs: u128,
    /// If they are on.
    pub local: Terms,
    /// If they are not on, and the packet is punted.
    pub punted: Terms,
}

/// Cost, and use of each resource. Never negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The minimised quantity: host cores.
    pub cost: f64,
    /// Per resource.
    pub uses: Vec<f64>,
}

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Per switch.
    pub on: Vec<bool>,
    /// Per class.
    pub shares: Vec<f64>,
    /// Its cost.
    pub cost: f64,
    /// The proof of optimality.
    pub proof: Proof,
}

/// Proof of a solution's quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof {
    /// Whether no allocation is better by more than a billionth of the cost. Near cost 0, the
    /// tolerance is 10^-13 of the largest possible cost: the error of sums.
    pub optimal: bool,
    /// Lower bound on the cost of all allocations.
    pub bound: f64,
    /// Nodes of the search.
    pub nodes: u64,
}

/// Limit of the search, in units that are the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Maximum number of nodes to bound.
    pub nodes: u64,
    /// Maximum number of steps: arcs and cells visited. A few hundred million take a second.
    pub steps: u64,
    /// Allowed distance of the result from the bound, as a part of the cost: 0 asks for the
    /// optimum.
    pub gap: f64,
}

impl Default for Effort {
    /// The optimum, or the best result of about a second.
    fn default() -> Self {
        Self { nodes: 1_000_000, steps: 400_000_000, gap: 0.0 }
    }
}
