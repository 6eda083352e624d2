//! An explicit-state model checker: every interleaving of a small scenario, on the code that runs
//! in production.
//!
//! 1. From a state, each of its [choices](Choice) leads to a next one. States can't be copied, so a
//!    state is made again by going the way to it from the beginning; only the first choice goes on
//!    from the state that is at hand.
//! 2. What tells a state from others is a digest of 128 bits (`cora_runtime::state_hash` says
//!    of what). A state that was met before is left.
//! 3. In each state the invariants are checked. One that does not hold is told with the way that
//!    leads there.

mod invariants;
mod killed;
mod world;

use std::collections::HashSet;

pub use killed::Side;
use world::World;
pub use world::{Choice, FLOWS, Scenario};

/// Choices in a row, at most: more would be a scenario without an end.
const LONGEST: usize = 400;

/// What was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Choices that were taken.
    pub choices: u64,
    /// The longest way.
    pub longest: usize,
}

/// What does not hold, and the way that leads there.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What does not hold.
    pub what: String,
    /// From the beginning on.
    pub way: Vec<Choice>,
}

/// Explores all states of a scenario, up to the first in which anything does not hold.
pub fn explore(scenario: &Scenario) -> Result<Explored, Counterexample> {
    explore_until(scenario, |_| true)
}

/// Explores all states of a scenario, up to the first in which what does not hold is `sought`.
/// States in which something else does not hold are left.
pub fn explore_until(
    scenario: &Scenario,
    mut sought: impl FnMut(&str) -> bool,
) -> Result<Explored, Counterexample> {
    let mut explored = Explored::default();
    let mut met = HashSet::new();
    let mut world = World::new(scenario);
    met.insert(world.digest());
    let mut way: Vec<Choice> = Vec::new();
    // Choices not yet taken, of each state on the way.
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

/// The state that a way leads to.
fn again<'a>(scenario: &'a Scenario, way: &[Choice]) -> World<'a> {
    let mut world = World::new(scenario);
    for choice in way {
        world.go(*choice).expect("it went well before");
    }
    world
}
