//! The ownership key: all entries that a packet may touch must move together.
//!
//! Key `G` suits a travelling state if any two packets that share an entry of the state also share
//! `G`. Then the flows of one group have one owner, and so has every entry.
//!
//! The same key steers packets to pairs of NIC core and host worker. If the host runs everything,
//! no state travels and no entry has an owner. The key is then the coarsest of all keyed states,
//! and only steers.

use std::collections::BTreeMap;

use super::PlanError;
use crate::graph::{Graph, StateNode};
use crate::vocabulary::{Place, Sides};

/// A key of ownership, and the state that it is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The key's type.
    pub key: String,
    /// A state that travels by that key; `None` if no state gives a key and the default key is
    /// used.
    pub state: Option<String>,
}

/// In place of a key's type, in a program that takes messages: the key of each.
pub const MESSAGE: &str = "message";
const FLOW: &str = "FiveTuple";
const SOURCE: &str = "SourceAddress";
const DESTINATION: &str = "DestinationAddress";
const INSIDE: &str = "InsideAddress";

/// A candidate state: its name, the key that it travels by (its own, or the group that its keys are
/// within), whether reply packets reach its entries, and whether handlers choose its reply keys.
#[derive(Clone, Copy)]
pub(super) struct Traveller<'a> {
    name: &'a str,
    pub(super) key: &'a str,
    /// Whether its keys are within a group: packets that share an entry share the group.
    pub(super) within: bool,
    reply: bool,
    pub(super) translates: bool,
}

/// The coarsest key of the travelling states; under a host-only plan, of all keyed states.
pub(super) fn run(
    graph: &Graph,
    places: &BTreeMap<String, Place>,
    sides: Sides,
    errors: &mut Vec<PlanError>,
) -> Group {
    if graph.takes_messages() {
        // The build has checked that each state's key is that of the messages that reach it.
        return Group { key: MESSAGE.to_owned(), state: None };
    }
    let mut travellers: Vec<Traveller<'_>> = graph
        .states
        .iter()
        .filter(|state| {
            sides == Sides::HostOnly || places.get(&state.name) == Some(&Place::Travels)
        })
        .filter_map(traveller)
        .collect();
    // A key is best named by a state that has it itself.
    travellers.sort_by_key(|traveller| traveller.within);
    let Some(first) = travellers.first() else {
        return Group { key: FLOW.to_owned(), state: None };
    };
    // 1. A state with a key that suits all of them.
    if let Some(found) = travellers.iter().find(|t| travellers.iter().all(|u| will_do(t.key, *u))) {
        return group_of(*found);
    }
    // 2. Where no flow moves alone any key will do.
    if sides != Sides::Split {
        return group_of(*first);
    }
    // 3. Otherwise each pair of states that can't move together is refused.
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

/// The state with the key that groups all flows of the program under every plan: packets that share
/// an entry of any keyed state share this key. It is an address, or a group that `within` names.
/// `None` if some don't share it, or if every key is a flow's.
pub(super) fn of_program(graph: &Graph) -> Option<&StateNode> {
    if graph.takes_messages() {
        return None;
    }
    let keyed = || graph.states.iter().filter_map(traveller);
    graph.states.iter().find(|state| {
        let Some(Traveller { key, within, .. }) = traveller(state) else { return false };
        // A handler that chooses reply keys moves packets of one address to another address's
        // group.
        let is_whole =
            |t: Traveller<'_>| will_do(key, t) && (t.within || !(t.key == key && t.translates));
        (within || is_address(key)) && keyed().all(is_whole)
    })
}

/// Whether a key is one of Cora's addresses.
pub fn is_address(key: &str) -> bool {
    matches!(key, SOURCE | DESTINATION | INSIDE)
}

pub(super) fn traveller(state: &StateNode) -> Option<Traveller<'_>> {
    let keyed = state.keyed.as_ref()?;
    Some(Traveller {
        name: &state.name,
        key: keyed.travels_by(),
        within: keyed.within.is_some(),
        reply: keyed.reply,
        translates: keyed.translates(),
    })
}

fn group_of(traveller: Traveller<'_>) -> Group {
    Group { key: traveller.key.to_owned(), state: Some(traveller.name.to_owned()) }
}

/// Whether packets that share an entry of `state` share `key`. Unknown combinations count as no.
pub(super) fn will_do(key: &str, state: Traveller<'_>) -> bool {
    match (key, state.key) {
        (key, own) if key == own => true,
        (_, _) if state.within => false,
        // A reply has the addresses of the first packet swapped, so the two have different ones.
        (SOURCE | DESTINATION, FLOW) => !state.reply,
        // Unless handlers choose other addresses for the reply packets.
        (INSIDE, FLOW) => !state.translates,
        _ => false,
    }
}

/// The reason that two states can't travel together; `None` if one state's key suits both.
fn apart(a: Traveller<'_>, b: Traveller<'_>) -> Option<String> {
    if will_do(a.key, b) || will_do(b.key, a) {
        return None;
    }
    let (coarse, fine) = if a.key == FLOW { (b, a) } else { (a, b) };
    Some(if a.within || b.within {
        let of = |t: Traveller<'_>| format!("`{}` travel by {}", t.name, t.key);
        format!(
            "entries of {}, and those of {}; `within` names the same group for all states that \
             travel",
            of(a),
            of(b)
        )
    } else if coarse.key == INSIDE && fine.key == FLOW {
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
