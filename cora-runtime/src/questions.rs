//! What an operator asks of a side's states while it runs: which entries there are and why each is
//! there, which ones a packet would find, what a state's value is, and that an entry is removed.
//!
//! A side that nobody asks does nothing for it. A question is about some places of one table, so
//! the one who asks bounds the work between two bursts.

use cora_core::app::App;
use cora_core::packet::Packet;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::{Travelling, Which};
use cora_core::state::{Kind, NO_FLOW, Visit};

use crate::link::message::group::{encoded, room};
use crate::link::message::{GroupKey, Message, NO_PLACE, OF_FLOW, Questions, Stay};
use crate::ownership::records::{FlowRecord, Flows};

/// An entry in its table.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) state: u16,
    pub(crate) place: u32,
    /// Its flow, or [`NO_FLOW`].
    pub(crate) flow: u32,
    /// The exported entry.
    pub(crate) piece: &'a [u8],
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
    visit: &mut dyn FnMut(Placed<'_>),
) -> u32 {
    let (from, places) = places;
    let which = Which::Places(from, places);
    let mut place = |place, flow, piece: &[u8]| visit(Placed { state, place, flow, piece });
    table(app, state).and_then(|table| table.list(which, now, &mut place)).unwrap_or(NO_PLACE)
}

/// Visits the entries that a packet finds by its own keys, and those of its flow.
#[cold]
#[inline(never)]
pub(crate) fn find<A: App>(
    app: &mut A,
    packet: &Packet<'_>,
    (now, horizon): (u64, u64),
    visit: &mut dyn FnMut(Placed<'_>),
) {
    // As a burst of this packet alone. What was announced before is void, which is harmless: an
    // announced entry counts only if it has the key.
    app.prefetch_index(0, packet);
    let known = app.prefetch_entry(0, packet);
    if const { A::FURTHER } {
        app.drop_further();
        if !known {
            app.prefetch_further_index(0, packet);
            app.prefetch_further_entry(0, packet);
        }
    }
    begin_nothing(app, (now, horizon));
    app.commit(false);
    let mut flow = NO_FLOW;
    for state in 0..A::STATES as u16 {
        if let Some(table) = table(app, state) {
            table.list(Which::Announced(0), now, &mut |_, its, _| {
                flow = if its == NO_FLOW { flow } else { its };
            });
        }
    }
    for state in 0..A::STATES as u16 {
        let Some(table) = table(app, state) else { continue };
        let mut announced = None;
        table.list(Which::Announced(0), now, &mut |place, flow, piece| {
            announced = Some(place);
            visit(Placed { state, place, flow, piece });
        });
        if flow != NO_FLOW {
            table.list(Which::OfFlow(flow, OF_FLOW), now, &mut |place, flow, piece| {
                if announced != Some(place) {
                    visit(Placed { state, place, flow, piece });
                }
            });
        }
    }
}

/// Tells an entry, with the key of its flow.
pub(crate) fn listed<A: App, R: FlowRecord>(
    flows: &Flows<A, R>,
    stay: Stay,
    Placed { state, place, flow, piece }: Placed<'_>,
    tell: &mut dyn FnMut(&Message<'_>),
) {
    let (group, mut room) = (flows.group(flow), room());
    let group = GroupKey(group.as_ref().map_or(&[][..], |group| encoded(group, &mut room)));
    tell(&Questions::Listed { state, place, flow, stay, group, piece }.into());
}

/// Visits the pieces of the value of a state that has no keys.
pub(crate) fn value<A: App>(app: &mut A, state: u16, now: u64, piece: &mut dyn FnMut(&[u8])) {
    if usize::from(state) < A::STATES {
        let home = app.state(state.into());
        if home.kind() != Kind::Keyed {
            home.export(now, piece);
        }
    }
}

/// Begins a run in which no packet comes.
fn begin_nothing<A: App>(app: &mut A, (now, horizon): (u64, u64)) {
    app.begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead: ALONE });
    if const { A::ENTERS } {
        app.enter(None);
    }
}

/// Removes the entry with this name, as a handler does whose packet comes `now`. Returns its flow.
pub(crate) fn remove<A: App>(
    app: &mut A,
    state: u16,
    name: &[u8],
    time: (u64, u64),
) -> Option<u32> {
    begin_nothing(app, time);
    let removed = table(app, state).and_then(|table| table.remove_named(name));
    app.commit(false);
    removed
}
