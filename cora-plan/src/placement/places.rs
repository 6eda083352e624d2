//! The place of each state: by its kind, or as stated.

use std::collections::BTreeMap;

use super::{PlanError, unknown_state};
use crate::graph::{Graph, StateNode};
use crate::statement::{Stated, Statement};
use crate::vocabulary::{Kind, Place, Sides};

/// The place of every state.
pub(super) fn run(
    graph: &Graph,
    statement: &Statement,
    errors: &mut Vec<PlanError>,
) -> BTreeMap<String, Place> {
    let mut places: BTreeMap<String, Place> = graph
        .states
        .iter()
        .map(|state| (state.name.clone(), by_kind(state.kind, statement.sides)))
        .collect();
    for (name, stated) in &statement.places {
        match graph.state(name) {
            None => errors.push(unknown_state(graph, name, stated.line)),
            Some(state) => match check(graph, state, *stated, statement.sides) {
                None => {
                    places.insert(name.clone(), stated.what);
                }
                Some(error) => errors.push(error),
            },
        }
    }
    places
}

/// The place that follows from a state's kind and the sides that run.
pub(super) fn by_kind(kind: Kind, sides: Sides) -> Place {
    match (sides, kind) {
        (Sides::HostOnly, _) | (Sides::Split, Kind::Singleton | Kind::PerBucket) => Place::Host,
        (_, Kind::Keyed) => Place::Travels,
        (_, Kind::Commutative | Kind::ReadMostly) => Place::Replica,
        (Sides::Dealt, Kind::PerBucket) => Place::Divided,
        // `dealt` refuses a singleton, so it has no place there.
        (Sides::NicOnly, Kind::Singleton | Kind::PerBucket) | (Sides::Dealt, Kind::Singleton) => {
            Place::Nic
        }
    }
}

/// The fault of a stated place, if there is one.
fn check(
    graph: &Graph,
    state: &StateNode,
    stated: Stated<Place>,
    sides: Sides,
) -> Option<PlanError> {
    let Stated { what: place, line } = stated;
    if place == by_kind(state.kind, sides) {
        return None;
    }
    let name = state.name.clone();
    if sides != Sides::Split {
        return Some(PlanError::NothingToState {
            what: format!("{name} = \"{place}\""),
            sides,
            because: match sides {
                Sides::Dealt => "each side holds what its buckets need",
                _ => "one side holds every state",
            },
            line,
        });
    }
    let allowed = allowed(state);
    if allowed.contains(&place) {
        return None;
    }
    if place == Place::Nic {
        let handlers = graph.users(&name).map(|handler| handler.name.clone()).collect();
        return Some(PlanError::PinnedToNic { state: name, kind: state.kind, handlers, line });
    }
    Some(PlanError::NotItsPlace {
        state: name,
        kind: state.kind,
        place,
        because: because(state),
        allowed,
        line,
    })
}

/// Places that a state's kind allows under `split`, its default first.
pub fn allowed(state: &StateNode) -> &'static [Place] {
    match state.kind {
        Kind::Singleton if state.region.is_some() => &[Place::Host, Place::Fetched],
        Kind::Keyed => &[Place::Travels, Place::Host],
        Kind::Singleton | Kind::PerBucket => &[Place::Host],
        Kind::Commutative => &[Place::Replica],
        Kind::ReadMostly => &[Place::Replica, Place::Host],
    }
}

/// The reason that a kind allows no other place.
fn because(state: &StateNode) -> &'static str {
    match state.kind {
        Kind::Keyed => "an entry has one owner at a time",
        Kind::Singleton if state.region.is_some() => "its items are for messages of any flow",
        Kind::Singleton => "it has one value and no key to move it by",
        Kind::PerBucket => "flows move one by one, and its values are shared by a bucket's flows",
        Kind::Commutative => "each side updates its own replica, and reports merge them",
        Kind::ReadMostly => "it belongs to no flow, so there is nothing to travel with",
    }
}
