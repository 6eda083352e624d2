//! An explicit-state model checker: every interleaving of a small scenario, on the production code.
//!
//! 1. From a state, each of its [choices](Choice) leads to a next one. States can't be copied, so a
//!    state is rebuilt along its path from the beginning; only the first choice continues from the
//!    current state.
//! 2. A digest of 128 bits distinguishes states (`cora_runtime::state_hash` lists its input). A
//!    state that was met before is not explored again.
//! 3. In each state the invariants are checked. A violation is reported with the path to it.

mod invariants;
mod killed;
mod world;

use std::collections::HashSet;

pub use killed::Side;
use world::World;
pub use world::{Choice, FLOWS, Scenario};

/// Maximum choices in a row: more would be a scenario without an end.
const LONGEST: usize = 400;

/// Totals of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Distinct states.
    pub states: u64,
    /// Choices taken.
    pub choices: u64,
    /// The longest path.
    pub longest: usize,
}

/// A violated invariant, and the path to it.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// Description of the violation.
    pub what: String,
    /// Choices from the beginning on.
    pub way: Vec<Choice>,
}

/// Explores all states of a scenario, up to the first violation.
pub fn explore(scenario: &Scenario) -> Result<Explored, Counterexample> {
    explore_until(scenario, |_| true)
}

/// Explores all states of a scenario, up to the first violation that is `sought`. States with other
/// violations are not explored further.
pub fn explore_until(
    scenario: &Scenario,
    mut sought: impl FnMut(&str) -> bool,
) -> Result<Explored, Counterexample> {
    let mut explored = Explored::default();
    let mut met = HashSet::new();
    let mut world = World::new(scenario);
    met.insert(world.digest());
    let mut way: Vec<Choice> = Vec::new();
    // Choices not yet taken, of each state on the path.
    let mut open = vec![world.choices()];
    let mut is_at_hand = true;
    while let Some(choices) = open.last_mut() {
        let Some(choice) = choices.pop() else {
            open.pop();
            way.pop();
            is_at_hand = false;
            continue;
        };
        if !is_at_hand {
            world = again(scenario, &way);
            is_at_hand = true;
        }
        way.push(choice);
        explored.choices += 1;
        let went = world.go(choice).and_then(|()| world.check());
        if let Err(what) = went {
            if sought(&what) {
                return Err(Counterexample { what, way });
            }
            way.pop();
            is_at_hand = false;
        } else if met.insert(world.digest()) {
            explored.longest = explored.longest.max(way.len());
            if way.len() >= LONGEST {
                return Err(Counterexample { what: "there is no end".to_owned(), way });
            }
            open.push(world.choices());
        } else {
            way.pop();
            is_at_hand = false;
        }
    }
    explored.states = met.len() as u64;
    Ok(explored)
}

/// Rebuilds the state at the end of a path.
fn again<'a>(scenario: &'a Scenario, way: &[Choice]) -> World<'a> {
    let mut world = World::new(scenario);
    for choice in way {
        world.go(*choice).expect("it went well before");
    }
    world
}
