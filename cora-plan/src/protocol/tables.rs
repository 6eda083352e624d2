//! Tables with room for all entries that stand at the full wire.

use crate::model::residence::idle;
use crate::what_if::Case;

/// A table that got another capacity than declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sized {
    /// The state.
    pub state: String,
    /// Entries as declared.
    pub declared: u64,
    /// Entries in the protocol.
    pub capacity: u64,
}

/// Room beyond the entries that stand: plans leave a twentieth of a table free.
const ROOM: f64 = 1.06;

/// The same case with tables that are large enough at this rate, and the tables that were not.
pub(super) fn sized(case: &Case, mpps: f64) -> (Case, Vec<Sized>) {
    let (mut case, mut sized) = (case.clone(), Vec::new());
    let traffic = &case.traffic;
    for state in &mut case.graph.states {
        let Some(keyed) = &mut state.keyed else { continue };
        if keyed.stays() {
            // No number of places is enough for all.
            continue;
        }
        let seconds = idle(keyed);
        let known = traffic.by_key.contains_key(&keyed.key);
        let standing = traffic.classes(&keyed.key).iter().map(|class| {
            if known {
                traffic.standing(class, mpps, seconds)
            } else {
                class.flows * traffic.growth(mpps)
            }
        });
        #[expect(clippy::cast_sign_loss, reason = "entries are never negative")]
        let wanted = (standing.sum::<f64>() * ROOM).ceil() as u64;
        if wanted > keyed.capacity {
            let (name, declared) = (state.name.clone(), keyed.capacity);
            keyed.capacity = wanted;
            sized.push(Sized { state: name, declared, capacity: wanted });
        }
    }
    (case, sized)
}
