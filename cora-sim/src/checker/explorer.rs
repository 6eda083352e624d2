//! The exploration of all states.
//!
//! 1. From a state, each of its choices leads to a next one. A state that can't be copied is
//!    rebuilt along its path from the beginning; only the first choice continues from the current
//!    state.
//! 2. A digest of 128 bits distinguishes states. A state that was met before is not explored again.
//! 3. In each state the invariants are checked. A violation is reported with the path to it.

use std::collections::HashSet;

/// Maximum choices in a row: more would be a scenario without an end.
const LONGEST: usize = 400;

/// A state of a scenario.
pub(super) trait State: Sized {
    /// A step to a next state.
    type Choice: Copy;

    /// The steps from here.
    fn choices(&self) -> Vec<Self::Choice>;

    /// Takes a step, and checks the state behind it; the error says what is wrong there.
    fn go(&mut self, choice: Self::Choice) -> Result<(), String>;

    /// Distinguishes this state from all others.
    fn digest(&mut self) -> u128;

    /// A copy, if there can be one.
    fn copy(&self) -> Option<Self>;
}

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
pub struct Counterexample<C> {
    /// Description of the violation.
    pub what: String,
    /// Choices from the beginning on.
    pub way: Vec<C>,
}

/// Explores all states from the first one, up to the first violation that is `sought`. States with
/// other violations are not explored further.
pub(super) fn explore<S: State>(
    first: impl Fn() -> S,
    mut sought: impl FnMut(&str) -> bool,
) -> Result<Explored, Counterexample<S::Choice>> {
    let mut explored = Explored::default();
    let mut met = HashSet::new();
    let mut state = first();
    met.insert(state.digest());
    let mut way: Vec<S::Choice> = Vec::new();
    // Each state on the path, and its choices not yet taken.
    let mut open = vec![(state.copy(), state.choices())];
    let mut is_at_hand = true;
    while let Some((here, choices)) = open.last_mut() {
        let Some(choice) = choices.pop() else {
            open.pop();
            way.pop();
            is_at_hand = false;
            continue;
        };
        if !is_at_hand {
            let copy = here.as_ref().and_then(S::copy);
            state = copy.unwrap_or_else(|| again(&first, &way));
            is_at_hand = true;
        }
        way.push(choice);
        explored.choices += 1;
        if let Err(what) = state.go(choice) {
            if sought(&what) {
                return Err(Counterexample { what, way });
            }
            way.pop();
            is_at_hand = false;
        } else if met.insert(state.digest()) {
            explored.longest = explored.longest.max(way.len());
            if way.len() >= LONGEST {
                return Err(Counterexample { what: "there is no end".to_owned(), way });
            }
            open.push((state.copy(), state.choices()));
        } else {
            way.pop();
            is_at_hand = false;
        }
    }
    explored.states = met.len() as u64;
    Ok(explored)
}

/// Rebuilds the state at the end of a path.
fn again<S: State>(first: &impl Fn() -> S, way: &[S::Choice]) -> S {
    let mut state = first();
    for choice in way {
        state.go(*choice).expect("it went well before");
    }
    state
}
