//! Entries of flows, in all tables with entries that travel. They are linked to the number of their
//! flow's record.

use cora_core::app::App;
use cora_core::key::Key as _;
use cora_core::state::Place;
use cora_core::state::table::{Moved, Travelling};

use crate::link::message::MAX_KEYS;

/// Visits the tables with entries that travel, and their state numbers.
pub(crate) fn each_travelling<A: App>(
    app: &mut A,
    visit: &mut dyn FnMut(u16, &mut dyn Travelling),
) {
    for number in 0..A::STATES {
        let travels = matches!(A::PLACES.get(number), Some((_, Place::Travels)));
        if let Some(table) = app.state(number).as_travelling().filter(|_| travels) {
            visit(number as u16, table);
        }
    }
}

/// Entries linked to no flow.
pub(crate) fn strays<A: App>(app: &mut A) -> u32 {
    let mut strays = 0;
    each_travelling(app, &mut |_, table| strays += table.strays());
    strays
}

/// Number of the flow's entries that are alive at `now`.
#[inline(never)]
pub(crate) fn count<A: App>(app: &mut A, flow: u32, now: u64) -> u32 {
    let mut count = 0;
    each_travelling(app, &mut |_, table| count += table.count_flow(flow, now));
    count
}

/// Takes entries of the flow out, and hands out at most `most` that are alive at `now`, each with
/// its state's number. Returns the number handed out; it is smaller if none is left.
#[inline(never)]
pub(crate) fn take_out<A: App>(
    app: &mut A,
    flow: u32,
    now: u64,
    most: u32,
    piece: &mut dyn FnMut(u16, &[u8]),
) -> u32 {
    let mut left = most;
    each_travelling(app, &mut |state, table| {
        left -= table.take_out(flow, now, left, &mut |bytes| piece(state, bytes));
    });
    most - left
}

/// [`take_out`] of all entries, to the side that has replicas: entries that have not changed since
/// they were reported are not sent again. That side reports all of them from now on. Entries with
/// replicas stay until their flow's record is removed.
pub(crate) fn hand_back<A: App>(
    app: &mut A,
    flow: u32,
    now: u64,
    moved: &mut dyn FnMut(u16, Moved<'_>),
) {
    each_travelling(app, &mut |state, table| {
        if const { A::DURABLE }
            && let Some(durable) = table.as_durable()
        {
            durable.export_moved(flow, now, &mut |what| moved(state, what));
            durable.disown(flow, now);
        } else {
            let mut whole = |bytes: &[u8]| moved(state, Moved::Whole(bytes));
            table.take_out(flow, now, u32::MAX, &mut whole);
        }
    });
}

/// Visits the words of each key that finds an entry of the flow, in any table.
pub(crate) fn each_key<A: App>(app: &mut A, flow: u32, visit: &mut dyn FnMut(&[u64; 5])) {
    each_travelling(app, &mut |_, table| table.each_key(flow, visit));
}

/// The keys that find the flow, except its group key. `None`: there are more than an offer can
/// announce. If flows are grouped by an address there are none: packets of other groups find none
/// of the flow's entries.
pub(crate) fn keys<A: App>(
    app: &mut A,
    flow: u32,
    group: &A::Group,
) -> Option<heapless::Vec<[u64; 5], MAX_KEYS>> {
    let group = group.words();
    let mut keys = heapless::Vec::new();
    if const { A::GROUPED } {
        return Some(keys);
    }
    let mut fits = true;
    each_travelling(app, &mut |_, table| {
        if table.key_type() != A::Group::type_in_table() {
            return;
        }
        table.each_key(flow, &mut |words| {
            if *words != group && !keys.contains(words) {
                fits &= keys.push(*words).is_ok();
            }
        });
    });
    fits.then_some(keys)
}

/// After a run: whether the flow's record is kept, since it has entries or needs none; and whether
/// entries joined that flow lookup can find.
pub(crate) fn look_back<A: App>(app: &mut A, flow: u32) -> (bool, bool) {
    let (mut kept, mut any_joined) = (A::PLAN.stateless_flows, false);
    each_travelling(app, &mut |_, table| {
        let (has_entries, joined) = table.look_back(flow);
        kept |= has_entries;
        any_joined |= joined && table.key_type() == A::Group::type_in_table();
    });
    (kept, any_joined)
}
