//! Explicit-state model checkers: every interleaving of a small scenario, on the production code.
//!
//! | module | concept |
//! | --- | --- |
//! | `explorer` | all states that can be reached by choices, and the conditions in each |
//! | `world`, `invariants`, `killed` | two flows between two halves; either may be killed |
//! | [`messages`] | messages between flows that move, each history replayed by the host alone |
//! | [`link`] | two ends of the link between host and card, on a network that does anything |

mod explorer;
mod invariants;
mod killed;
pub mod link;
pub mod messages;
mod world;

pub use explorer::{Counterexample, Explored};
pub use killed::Side;
use world::World;
pub use world::{Choice, FLOWS, Scenario};

/// Explores all states of a scenario, up to the first violation.
pub fn explore(scenario: &Scenario) -> Result<Explored, Counterexample<Choice>> {
    explore_until(scenario, |_| true)
}

/// Explores all states of a scenario, up to the first violation that is `sought`. States with other
/// violations are not explored further.
pub fn explore_until(
    scenario: &Scenario,
    sought: impl FnMut(&str) -> bool,
) -> Result<Explored, Counterexample<Choice>> {
    explorer::explore(|| World::new(scenario), sought)
}
