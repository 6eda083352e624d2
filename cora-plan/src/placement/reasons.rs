//! The reason for the place of each state: one sentence for users.

use std::collections::BTreeMap;

use super::{Group, places};
use crate::graph::{Graph, StateNode};
use crate::statement::{Stated, Statement};
use crate::vocabulary::{Kind, Place, Sides};

/// One sentence per state.
pub(super) fn run(
    graph: &Graph,
    statement: &Statement,
    chosen: &BTreeMap<String, Place>,
    group: &Group,
) -> BTreeMap<String, String> {
    graph
        .states
        .iter()
        .filter_map(|state| Some((state, *chosen.get(&state.name)?)))
        .map(|(state, place)| {
            let why = match statement.sides {
                Sides::HostOnly => "the plan is host-only: the host runs every packet".to_owned(),
                Sides::NicOnly => "the plan is nic-only: the NIC runs every packet".to_owned(),
                Sides::Dealt => dealt(state).to_owned(),
                Sides::Split => {
                    let usual = place == places::by_kind(state.kind, Sides::Split);
                    let by = match statement.places.get(&state.name) {
                        // The search states places with line 0.
                        Some(Stated { line: 0, .. }) if !usual => {
                            "at this rate it costs least there".to_owned()
                        }
                        Some(stated) if stated.line > 0 => {
                            format!("line {} of the plan says so", stated.line)
                        }
                        _ => by_kind(state).to_owned(),
                    };
                    format!("{by}; {}", follows(graph, state, place, group))
                }
            };
            (state.name.clone(), why)
        })
        .collect()
}

/// The reason for a place under `dealt`.
fn dealt(state: &StateNode) -> &'static str {
    match state.kind {
        Kind::Keyed => "each side has the entries of its own buckets",
        Kind::Singleton | Kind::PerBucket => "each side has the values of its own buckets",
        Kind::Commutative => "each side updates its own replica, and reports merge them",
        Kind::ReadMostly => "each side reads its own copy of what the control plane writes",
    }
}

/// The reason for a kind's default place.
fn by_kind(state: &StateNode) -> &'static str {
    match state.kind {
        Kind::Keyed => "every entry belongs to flows that have one owner at a time",
        Kind::Singleton if state.region.is_some() => {
            "its items are for messages of any flow, and the side that all can reach is the host"
        }
        Kind::Singleton => "it is one value, and the side that all packets can reach is the host",
        Kind::PerBucket => {
            "flows of a bucket share its value, and the side that all of them can reach is the host"
        }
        Kind::Commutative => "updates in any order give the same value",
        Kind::ReadMostly => "only the control plane writes it, in whole versions",
    }
}

/// Consequence of the place.
fn follows(graph: &Graph, state: &StateNode, place: Place, group: &Group) -> String {
    match place {
        Place::Travels if state.keyed.as_ref().is_some_and(|keyed| keyed.key != group.key) => {
            format!(
                "entries travel with the group of flows that share a key of `{}` ({})",
                group.state.as_deref().unwrap_or_default(),
                group.key
            )
        }
        Place::Travels => "entries travel with their flows".to_owned(),
        Place::Replica => match state.kind {
            Kind::ReadMostly => "each side reads its own copy".to_owned(),
            _ => state.replicas().to_owned(),
        },
        Place::Nic => "the NIC holds it".to_owned(),
        Place::Divided => "each side has the values of its own buckets".to_owned(),
        Place::Fetched => {
            "the NIC reads copies of its items, and paths that write them punt".to_owned()
        }
        Place::Host => {
            let users: Vec<&str> =
                graph.users(&state.name).map(|handler| handler.name.as_str()).collect();
            format!("NIC-side paths of `{}` that reach it punt", users.join("`, `"))
        }
    }
}
