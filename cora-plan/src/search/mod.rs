//! The search for the best allocation: what is on, and which share of each class the NIC owns.
//!
//! The problem knows neither states nor packets: switches, classes, resources. `model` makes it of
//! a graph and profiles; what it finds is exact, and comes with its proof.
//!
//! With `on(j)` in {0, 1} for each switch and `x(c)` in [0, 1] for each class:
//!
//! ```text
//! minimise    Σ_c (1 − x(c))·away(c).cost + x(c)·Σ_r (on(all of r.needs) ? r.local.cost : r.punted.cost)
//! such that   for each resource k:
//!             Σ_j on(j)·switch(j).uses[k]
//!           + Σ_c (1 − x(c))·away(c).uses[k]
//!           + Σ_c x(c)·Σ_r (on(all of r.needs) ? r.local.uses[k] : r.punted.uses[k])
//!           + Σ_c x(c)·Σ_{j in carries(c)} on(j)·carried[k]                          ≤ limit[k]
//! ```
//!
//! How it is found, from the outside in. Each module has its steps at its head, and its code
//! carries their numbers.
//!
//! | module | what |
//! | --- | --- |
//! | `solve` | the whole: make ready, find something allowed, search, break ties |
//! | `form` | the problem scaled, merged, without what can't matter |
//! | `branch` | branch and bound over switches: lowest bound first, started by a local search |
//! | `relaxed` | the bound of a node: the best prices of resources, by cutting planes |
//! | `priced` | the bound at given prices: a smallest cut, in which a switch is paid for once, whoever needs it |
//! | `shares` | the best shares when switches are decided: a linear program |
//! | `flow`, `simplex` | maximum flow; linear programs of few rows |
//!
//! Work is counted in steps that are the same on every machine, and floats are only added,
//! multiplied, divided, compared and rounded: the same problem gives the same bytes everywhere.

mod branch;
mod flow;
mod form;
mod priced;
mod relaxed;
mod shares;
mod simplex;
mod solve;

pub use solve::{Infeasible, Shortage, evaluate, solve};

/// Something to optimise.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What may be on (at the NIC) or off (at the host): states and handlers. At most 128.
    pub switches: Vec<Switch>,
    /// Classes of flows.
    pub classes: Vec<ClassTerms>,
    /// How much there is of each resource. Never negative.
    pub limits: Vec<f64>,
}

/// One thing that is at the NIC or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Decided already.
    pub fixed: Option<bool>,
    /// What it takes of each resource when it is on, whoever is owned. Never negative.
    pub uses: Vec<f64>,
}

/// What a class of flows costs and takes, at the asked rate.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassTerms {
    /// When the host owns all of it.
    pub away: Terms,
    /// When the NIC owns all of it, by the ways its packets take.
    pub routes: Vec<RouteTerms>,
    /// Switch, and what each resource loses when it is on and the NIC owns the whole class.
    pub carries: Vec<(usize, Vec<f64>)>,
    /// Whether its share may be anything between 0 and 1, or only 0 or 1 (or what is stated).
    pub share: Share,
}

/// What may be chosen as a class's share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Anything from 0 to this, at most 1.
    UpTo(f64),
    /// This alone.
    Exactly(f64),
}

/// One way of a class's packets.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteTerms {
    /// Switches that must be on for it to run at the NIC: bit `j` for switch `j`.
    pub needs: u128,
    /// When they are.
    pub local: Terms,
    /// When they are not, and the packet is punted.
    pub punted: Terms,
}

/// What something costs, and what it takes of each resource. Nothing is negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// What is minimised: host cores.
    pub cost: f64,
    /// Per resource.
    pub uses: Vec<f64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Per switch.
    pub on: Vec<bool>,
    /// Per class.
    pub shares: Vec<f64>,
    /// What it costs.
    pub cost: f64,
    /// How far it is proven.
    pub proof: Proof,
}

/// How good a solution is known to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof {
    /// Nothing is better, by more than a billionth of the cost. (Or, where the cost is next to
    /// nothing beside what it could be, by a part in 10^13 of that: what adding up may be off by.)
    pub optimal: bool,
    /// No allocation costs less than this.
    pub bound: f64,
    /// Nodes of the search.
    pub nodes: u64,
}

/// How long to search, in units that are the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Most nodes to bound.
    pub nodes: u64,
    /// Most steps of work: arcs and cells looked at. A few hundred million of them take a second.
    pub steps: u64,
    /// Part of the cost by which the result may be above the bound: 0 asks for the optimum.
    pub gap: f64,
}

impl Default for Effort {
    /// The optimum, or what a second or so of work finds.
    fn default() -> Self {
        Self { nodes: 1_000_000, steps: 400_000_000, gap: 0.0 }
    }
}
