//! States that restrict a program to one pair of NIC core and host worker.
//!
//! With several pairs, each pair runs the program alone with its own states. A packet goes to the
//! pair that its group key is steered to. The result is that of one pair if packets of only one
//! group reach each entry, and if handlers can see no other stored data.

use std::collections::BTreeMap;

use super::Group;
use super::group::{traveller, will_do};
use crate::graph::{Graph, StateNode};
use crate::vocabulary::Kind;

/// Per state that restricts the program to one pair: the reason and the remedy.
pub(super) fn run(graph: &Graph, group: &Group) -> BTreeMap<String, String> {
    let reasons = graph.states.iter().filter_map(|state| {
        let why = match state.kind {
            Kind::Singleton => Some(singleton()),
            Kind::Commutative if state.merged => Some(merged()),
            Kind::Commutative => reader(graph, state).map(read),
            // Each pair reads the same version.
            Kind::ReadMostly => None,
            Kind::Keyed => keyed(state, group),
        };
        Some((state.name.clone(), why?))
    });
    let timers = graph.timers.iter().map(|timer| (timer.node.name.clone(), timed()));
    reasons.chain(timers).collect()
}

fn timed() -> String {
    "it is a timer, and each pair would run it; let a hook or a handler do its work".to_owned()
}

fn singleton() -> String {
    "it is one value that packets of every flow reach, and each pair would have one of its own; give it a \
     key, or make it `commutative` if handlers only add to it"
        .to_owned()
}

/// A handler that may read the state. An opaque access counts as a read.
fn reader<'a>(graph: &'a Graph, state: &StateNode) -> Option<&'a str> {
    let edge = graph.edges.iter().find(|edge| edge.state == state.name && edge.reads)?;
    Some(&edge.handler)
}

fn merged() -> String {
    "handlers read its merge, which has the updates of one pair's two sides; only update it, to run \
     several"
        .to_owned()
}

fn read(handler: &str) -> String {
    format!(
        "`{handler}` may read it, and would see the updates of its own pair alone; only update it \
         there, and read it in the final state, where the replicas are merged"
    )
}

fn keyed(state: &StateNode, group: &Group) -> Option<String> {
    let traveller = traveller(state)?;
    if traveller.translates && !traveller.within {
        return Some(
            "its handlers choose the keys of replies, so a reply may be steered to another pair than \
             the packets that it answers; only with reply keys that are the reversed ones can it run \
             on several"
                .to_owned(),
        );
    }
    (!will_do(&group.key, traveller)).then(|| {
        format!(
            "packets are steered by `{key}`, and packets that share one of its entries (by `{own}`) need \
             not share that; key it by `{key}`, or let a state with the coarser key travel",
            key = group.key,
            own = traveller.key
        )
    })
}
