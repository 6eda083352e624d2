//! What an operator asks of a side's tables while it runs: which entries there are and why each is
//! there, and that one is removed.
//!
//! A side that nobody asks does nothing for it. A question is about some places of one table, so
//! the one who asks bounds the work between two bursts.
//!
//! | module | concept |
//! | --- | --- |
//! | `stay` | why a flow is at a side |

mod stay;

use cora_core::app::App;
use cora_core::state::table::Travelling;
use cora_core::state::{NO_FLOW, Visit};

pub use stay::Stay;

use crate::exec::burst::ALONE;

/// The end of a table, in place of the next place.
pub const NO_PLACE: u32 = u32::MAX;

/// What became of an order about an entry or a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done; of a move, it is under way.
    Done,
    /// No such entry is here.
    NotHere,
    /// Entries move to or from this side now: later it may be done.
    InTransit,
    /// Under this plan, or at this stage of the run, no flow moves.
    MovesNone,
    /// The NIC half that was asked is gone.
    NicGone,
}

impl Answer {
    /// All there are, in the order of their numbers.
    const ALL: [Self; 5] =
        [Self::Done, Self::NotHere, Self::InTransit, Self::MovesNone, Self::NicGone];

    pub(crate) const WORDS: usize = 1;

    pub(crate) const fn words(self) -> [u64; Self::WORDS] {
        [self as u64]
    }

    /// An unknown number stands for an entry that is not here.
    pub(crate) fn from_words([number]: [u64; Self::WORDS]) -> Self {
        let known = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        known.copied().unwrap_or(Self::NotHere)
    }
}

/// The table of the state with this number, if it has one.
fn table<A: App>(app: &mut A, state: u16) -> Option<&mut dyn Travelling> {
    let state = usize::from(state);
    if state < A::STATES { app.state(state).as_travelling() } else { None }
}

/// Visits entries of a table, as [`Travelling::list`] does. Returns the next place, or
/// [`NO_PLACE`].
pub(crate) fn list<A: App>(
    app: &mut A,
    state: u16,
    places: (u32, u32),
    now: u64,
    visit: &mut dyn FnMut(u32, u32, &[u8]),
) -> u32 {
    table(app, state).and_then(|table| table.list(places, now, visit)).unwrap_or(NO_PLACE)
}

/// Removes the entry with this name, as a handler does whose packet comes `now`. Returns its flow.
pub(crate) fn remove<A: App>(
    app: &mut A,
    state: u16,
    name: &[u8],
    (now, horizon): (u64, u64),
) -> Option<u32> {
    app.begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead: ALONE });
    if const { A::ENTERS } {
        app.enter(None);
    }
    let removed = table(app, state).and_then(|table| table.remove_named(name));
    app.commit(false);
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_and_no_number_is_taken_for_success() {
        for answer in Answer::ALL {
            assert_eq!(Answer::from_words(answer.words()), answer);
        }
        assert_eq!(Answer::from_words([5]), Answer::NotHere);
        assert_eq!(Answer::from_words([u64::MAX]), Answer::NotHere);
    }
}
