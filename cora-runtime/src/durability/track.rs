//! Durable entries of a side: their changes, the side that reports them, and their restoration from
//! replicas.

use cora_core::app::App;
use cora_core::state::table::transfer::ImportError;
use cora_core::state::table::{Change, Durable};
use cora_core::state::{Malformed, Place};

use crate::channel::ProtocolError;
use crate::ownership::records::{FlowRecord, Flows};

/// Called with a state's number, the group key of an entry's flow, and the entry's change.
pub(super) type Tell<'a, K> = dyn FnMut(u16, Option<K>, Change<'_>) + 'a;

/// Visits the tables of durable states, with their state numbers. Entries of states that travel
/// belong to flows; entries of states that the host holds belong to none.
fn each_durable<A: App>(app: &mut A, visit: &mut dyn FnMut(u16, &mut dyn Durable)) {
    if const { A::DURABLE } {
        for (number, (_, place)) in A::PLACES.iter().enumerate() {
            let moves = matches!(place, Place::Travels | Place::Host);
            let table = app.state(number).as_travelling().filter(|_| moves);
            if let Some(durable) = table.and_then(|table| table.as_durable()) {
                visit(number as u16, durable);
            }
        }
    }
}

/// Leaves reports of the flow's durable entries to the other side.
pub(crate) fn disown<A: App>(app: &mut A, flow: u32, now: u64) {
    each_durable(app, &mut |_, durable| durable.disown(flow, now));
}

/// Marks all durable entries to be reported.
pub(crate) fn retell<A: App>(app: &mut A) {
    each_durable(app, &mut |_, durable| durable.retell());
}

/// The sizes of an encoded key and entry of a durable state; `None` of a state that is not durable.
pub fn sizes<A: App>(app: &mut A, state: u16) -> Option<(usize, usize)> {
    let mut found = None;
    each_durable(app, &mut |number, durable| {
        if number == state {
            found = Some((durable.key_bytes(), durable.piece_bytes()));
        }
    });
    found
}

/// Restores a durable entry of the flow from its replica, as last used at `used`. `Ok(false)`: its
/// key belongs to another entry.
pub(super) fn restore<A: App>(
    app: &mut A,
    state: u16,
    piece: &[u8],
    flow: u32,
    used: u64,
) -> Result<bool, ProtocolError> {
    let mut restored = Err(ImportError::Malformed(Malformed));
    each_durable(app, &mut |of, durable| {
        if of == state {
            restored = durable.restore(piece, flow, used);
        }
    });
    match restored {
        Ok(()) => Ok(true),
        Err(ImportError::Refused(_)) => Ok(false),
        Err(ImportError::Malformed(_)) => Err(ProtocolError::BadPiece(state)),
    }
}

/// Reports the changes of durable entries since the last call, each with its flow's group key.
pub(super) fn tell<A: App, R: FlowRecord>(
    app: &mut A,
    flows: &Flows<A, R>,
    tell: &mut Tell<'_, A::Group>,
) {
    each_durable(app, &mut |state, durable| {
        durable.tell(&mut |change| {
            let group = match change {
                Change::Is { flow, .. } => flows.group(flow),
                Change::Gone(_) => None,
            };
            tell(state, group, change);
        });
    });
}
