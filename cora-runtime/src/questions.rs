//! What an operator asks of a side's tables while it runs: which entries there are and why each is
//! there, and that one is removed.
//!
//! A side that nobody asks does nothing for it. A question is about some places of one table, so
//! the one who asks bounds the work between two bursts.

use cora_core::app::App;
use cora_core::state::table::Travelling;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::{NO_FLOW, Visit};

use crate::link::message::NO_PLACE;

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
