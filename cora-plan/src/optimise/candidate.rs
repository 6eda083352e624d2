//! Candidates of a plan: sides, and under a split the ownership key. `dealt` is one for programs
//! that run on any number of shards.

use std::collections::{BTreeMap, BTreeSet};

use super::Inputs;
use crate::demand::{Demand, demand};
use crate::graph::{Graph, Keyed, StateNode};
use crate::model::{Punts, Setting, Steering, Unmatched};
use crate::placement::{MESSAGE, can_be_dealt, is_group_for, one_shard};
use crate::vocabulary::{Kind, Place, Sides};

/// The key of flows.
pub(super) const FLOW: &str = "FiveTuple";

/// One candidate before the search.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) sides: Sides,
    /// The ownership key.
    pub(super) group: String,
    /// Fixed places: by the statement, or because the key does not suit the state.
    pub(super) pinned: BTreeMap<String, Place>,
    /// Demand of the classes by that key.
    pub(super) demand: Demand,
    /// Whether the program runs on several pairs of cores.
    pub(super) many_shards: bool,
    /// The way of packets that no rule matches.
    pub(super) unmatched: Unmatched,
    /// Packets that need a state of the host under `dealt`.
    pub(super) punts: Punts,
}

impl Candidate {
    /// A candidate for these sides and this key.
    pub(super) fn new(inputs: &Inputs<'_>, sides: Sides, group: &str) -> Self {
        let graph = inputs.graph;
        let stated = inputs.statement.places.iter();
        let mut pinned: BTreeMap<String, Place> =
            stated.map(|(state, place)| (state.clone(), place.what)).collect();
        if sides == Sides::Dealt {
            // No place is a choice.
            pinned.clear();
        } else if sides == Sides::Split {
            let stay = graph.states.iter().filter(|s| s.keyed.is_some() && !is_group_for(group, s));
            pinned.extend(stay.map(|state| (state.name.clone(), Place::Host)));
        } else {
            pinned = graph.states.iter().map(|s| (s.name.clone(), one_sided(s, sides))).collect();
        }
        let demand = demand(graph, inputs.traffic, group, inputs.measurement);
        let many_shards = one_shard(graph, group).is_empty();
        let unmatched = match sides {
            Sides::NicOnly => Unmatched::Nic,
            Sides::HostOnly | Sides::Split | Sides::Dealt => Unmatched::Host,
        };
        let (group, punts) = (group.to_owned(), Punts::None);
        Self { sides, group, pinned, demand, many_shards, unmatched, punts }
    }

    /// The same, with another way of packets that no rule matches.
    pub(super) fn with_unmatched(self, unmatched: Unmatched) -> Self {
        Self { unmatched, ..self }
    }

    /// The same, with another way of packets that need a state of the host under `dealt`.
    pub(super) fn with_punts(self, punts: Punts) -> Self {
        Self { punts, ..self }
    }

    /// The inputs of costs.
    pub(super) fn setting<'a>(&'a self, inputs: &Inputs<'a>) -> Setting<'a> {
        Setting::new(
            inputs.graph,
            inputs.nic,
            inputs.traffic,
            &self.demand,
            &self.group,
            self.many_shards,
            inputs.steering,
        )
        .with_unmatched(self.unmatched)
        .with_punts(self.punts)
    }
}

/// Sides that a search may choose, in order of preference among equals.
const SEARCHED: [Sides; 4] = [Sides::Split, Sides::NicOnly, Sides::Dealt, Sides::HostOnly];

/// Every candidate that the statement allows, in order of preference among equals.
pub(super) fn all(inputs: &Inputs<'_>) -> Vec<Candidate> {
    let sides = match &inputs.statement.target {
        Some(target) if target.any_sides => SEARCHED.to_vec(),
        _ => vec![inputs.statement.sides],
    };
    // Stated places imply a split.
    let split_only = !inputs.statement.places.is_empty();
    let sides = sides.into_iter().filter(|sides| !split_only || *sides == Sides::Split);
    sides.flat_map(|sides| of(inputs, sides)).collect()
}

/// The candidates with these sides.
pub(super) fn of(inputs: &Inputs<'_>, sides: Sides) -> Vec<Candidate> {
    let keys = match sides {
        Sides::NicOnly | Sides::Dealt if inputs.graph.needs_host() => Vec::new(),
        Sides::Split => keys(inputs.graph),
        Sides::HostOnly | Sides::NicOnly => vec![coarsest(inputs.graph)],
        Sides::Dealt => {
            let key = coarsest(inputs.graph);
            if can_be_dealt(inputs.graph, &key) { vec![key] } else { Vec::new() }
        }
    };
    let mut candidates: Vec<Candidate> =
        keys.iter().map(|key| Candidate::new(inputs, sides, key)).collect();
    // A split by rules has them for the NIC's flows, or for the host's.
    if sides == Sides::Split && inputs.steering == Steering::Rules {
        let others = candidates.clone().into_iter();
        candidates.extend(others.map(|candidate| candidate.with_unmatched(Unmatched::Nic)));
    }
    candidates
}

/// Possible ownership keys: those of states, or the five-tuple if no state is keyed.
fn keys(graph: &Graph) -> Vec<String> {
    if graph.takes_messages() {
        // A flow is told by the key of its messages, and has the entries under that key.
        return vec![MESSAGE.to_owned()];
    }
    let own = graph.states.iter().filter_map(|state| state.keyed.as_ref());
    let keys: BTreeSet<&str> = own.map(Keyed::travels_by).collect();
    let mut keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
    if keys.is_empty() {
        keys.push(FLOW.to_owned());
    }
    // The five-tuple first: among equals it moves the fewest entries at a time.
    keys.sort_by_key(|key| key != FLOW);
    keys
}

/// The key that steers packets to pairs if one side runs everything.
fn coarsest(graph: &Graph) -> String {
    let all = keys(graph);
    let travel = |key: &&String| {
        graph.states.iter().filter(|state| state.keyed.is_some()).all(|s| is_group_for(key, s))
    };
    all.iter().find(travel).or(all.first()).cloned().unwrap_or_default()
}

fn one_sided(state: &StateNode, sides: Sides) -> Place {
    match (sides, state.kind) {
        (Sides::HostOnly, _) => Place::Host,
        (_, Kind::Keyed) => Place::Travels,
        (_, Kind::Singleton | Kind::PerBucket) => Place::Nic,
        (_, Kind::Commutative | Kind::ReadMostly) => Place::Replica,
    }
}
