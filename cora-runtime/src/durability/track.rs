//! Durable entries of flows: the side that reports them, their changes, and their restoration from
//! replicas.

use cora_core::app::App;
use cora_core::state::table::travelling::ImportError;
use cora_core::state::table::{Change, Durable};
use cora_core::state::{Malformed, Place};

use crate::channel::ProtocolError;
use crate::ownership::records::Flows;

/// Called with a state's number, the group key of an entry's flow, and the entry's change.
pub(crate) type Tell<'a, K> = dyn FnMut(u16, Option<K>, Change<'_>) + 'a;

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

impl<A: App> Flows<A> {
    /// Leaves reports of the flow's durable entries to the other side.
    pub fn disown(app: &mut A, number: u32, now: u64) {
        each_durable(app, &mut |_, durable| durable.disown(number, now));
    }

    /// Marks all durable entries to be reported.
    pub fn retell(app: &mut A) {
        each_durable(app, &mut |_, durable| durable.retell());
    }

    /// The sizes of an encoded key and entry of a durable state.
    pub fn durable_bytes(app: &mut A, state: u16) -> Option<(usize, usize)> {
        let mut found = None;
        each_durable(app, &mut |number, durable| {
            if number == state {
                found = Some((durable.key_bytes(), durable.piece_bytes()));
            }
        });
        found
    }

    /// Restores a durable entry from its replica. `Ok(false)`: its key belongs to another entry.
    pub fn restore(
        &mut self,
        app: &mut A,
        state: u16,
        piece: &[u8],
        number: u32,
        used: u64,
    ) -> Result<bool, ProtocolError> {
        let mut restored = Err(ImportError::Malformed(Malformed));
        each_durable(app, &mut |of, durable| {
            if of == state {
                restored = durable.restore(piece, number, used);
            }
        });
        match restored {
            Ok(()) => {
                if let Some(record) = self.records.entry(number) {
                    record.used.set(used.max(record.used.get()));
                }
                self.note_keys(app, number);
                Ok(true)
            }
            Err(ImportError::Refused(_)) => Ok(false),
            Err(ImportError::Malformed(_)) => Err(ProtocolError::BadPiece(state)),
        }
    }

    /// Reports the changes of durable entries since the last call, each with its flow's group key.
    pub fn tell(&self, app: &mut A, tell: &mut Tell<'_, A::Group>) {
        each_durable(app, &mut |state, durable| {
            durable.tell(&mut |change| {
                let group = match change {
                    Change::Is { flow, .. } => self.group(flow),
                    Change::Gone(_) => None,
                };
                tell(state, group, change);
            });
        });
    }
}
