//! What ownership goes by: one key such that all entries a packet may touch move together.
//!
//! Key `G` will do for a travelling state when any two packets that share an entry of the state
//! share `G` too. Then flows of one group have one owner, and so has every entry.
//!
//! Packets are steered to pairs of NIC core and host worker by the same key. Where the host runs
//! everything no state travels and none has an owner; the key is then the coarsest of all keyed
//! states, for steering alone.

use std::collections::BTreeMap;

use super::PlanError;
use crate::graph::{Graph, StateNode};
use crate::words::{Place, Sides};

/// A key that ownership goes by, and the state whose key it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The key's type.
    pub key: String,
    /// A state with that key; `None` when there is none to go by and the default key stands in.
    pub state: Option<String>,
}

const FLOW: &str = "FiveTuple";
const SOURCE: &str = "SourceAddress";
const DESTINATION: &str = "DestinationAddress";
const INSIDE: &str = "InsideAddress";

/// A state that counts: name, key, and whether reply packets reach its entries too.
#[derive(Clone, Copy)]
pub(super) struct Traveller<'a> {
    name: &'a str,
    pub(super) key: &'a str,
    reply: bool,
    pub(super) translates: bool,
}

/// The coarsest key of the travelling states; under a plan of the host alone, of all keyed ones.
pub(super) fn run(
    graph: &Graph,
    places: &BTreeMap<String, Place>,
    sides: Sides,
    errors: &mut Vec<PlanError>,
) -> Group {
    let travellers: Vec<Traveller<'_>> = graph
        .states
        .iter()
        .filter(|state| {
            sides == Sides::HostOnly || places.get(&state.name) == Some(&Place::Travels)
        })
        .filter_map(traveller)
        .collect();
    let Some(first) = travellers.first() else {
        return Group { key: FLOW.to_owned(), state: None };
    };
    // 1. A state whose key will do for all of them.
    if let Some(found) = travellers.iter().find(|t| travellers.iter().all(|u| will_do(t.key, *u))) {
        return group_of(*found);
    }
    // 2. With one side alone nothing moves, and any key will do.
    if sides != Sides::Split {
        return group_of(*first);
    }
    // 3. Otherwise each pair that can't move together is a refusal.
    for (at, a) in travellers.iter().enumerate() {
        for b in &travellers[at + 1..] {
            if let Some(because) = apart(*a, *b) {
                let (first, second) = (a.name.to_owned(), b.name.to_owned());
                errors.push(PlanError::NoCommonGroup { first, second, because });
            }
        }
    }
    group_of(*first)
}

/// The state whose key is the address that all flows of the program are grouped by, whatever the
/// plan: packets that share an entry of any keyed state share it. None, where some do not, or where
/// every key is that of a flow.
pub(super) fn of_program(graph: &Graph) -> Option<&StateNode> {
    let keyed = || graph.states.iter().filter_map(traveller);
    graph.states.iter().find(|state| {
        let Some(Traveller { key, .. }) = traveller(state) else { return false };
        // A handler that chooses reply keys makes packets of one address be of another's group.
        let is_whole = |t: Traveller<'_>| will_do(key, t) && !(t.key == key && t.translates);
        matches!(key, SOURCE | DESTINATION | INSIDE) && keyed().all(is_whole)
    })
}

pub(super) fn traveller(state: &StateNode) -> Option<Traveller<'_>> {
    let keyed = state.keyed.as_ref()?;
    Some(Traveller {
        name: &state.name,
        key: &keyed.key,
        reply: keyed.reply,
        translates: keyed.translates,
    })
}

fn group_of(traveller: Traveller<'_>) -> Group {
    Group { key: traveller.key.to_owned(), state: Some(traveller.name.to_owned()) }
}

/// Whether packets that share an entry of `state` share `key`. What isn't known, isn't so.
pub(super) fn will_do(key: &str, state: Traveller<'_>) -> bool {
    match (key, state.key) {
        (key, own) if key == own => true,
        // A reply packet comes from where the first one went, so the two have other addresses.
        (SOURCE | DESTINATION, FLOW) => !state.reply,
        // Unless handlers give the reply packets addresses of their own.
        (INSIDE, FLOW) => !state.translates,
        _ => false,
    }
}

/// Why two states can't travel together; `None` when one's key will do for both.
fn apart(a: Traveller<'_>, b: Traveller<'_>) -> Option<String> {
    if will_do(a.key, b) || will_do(b.key, a) {
        return None;
    }
    let (coarse, fine) = if a.key == FLOW { (b, a) } else { (a, b) };
    Some(if coarse.key == INSIDE && fine.key == FLOW {
        format!(
            "packets that answer an entry of `{}` go to a rewritten address, so their key for `{}` \
             ({INSIDE}) is not that of the packets that they answer",
            fine.name, coarse.name
        )
    } else if fine.key == FLOW && matches!(coarse.key, SOURCE | DESTINATION) {
        format!(
            "an entry of `{}` is reached by packets of both directions, and those have other keys \
             for `{}` ({}); `InsideAddress` is the same in both directions",
            fine.name, coarse.name, coarse.key
        )
    } else {
        format!(
            "flows that share a key of `{}` ({}) need not share one of `{}` ({}), so no group of \
             flows holds all their entries",
            a.name, a.key, b.name, b.key
        )
    })
}
