//! States that restrict a program to one shard.
//!
//! With several shards, each runs the program alone with its own states. A packet goes to the
//! shard that has its bucket. The result is that of one shard if packets of only one
//! group reach each entry, and if handlers can see no other stored data.

use std::collections::BTreeMap;

use super::Group;
use super::buckets;
use super::group::{traveller, will_do};
use crate::graph::{Graph, StateNode};
use crate::vocabulary::{BucketsBy, Kind, Replies, Sides};

/// Per state that restricts the program to one shard: the reason and the remedy.
pub(super) fn run(graph: &Graph, group: &Group, sides: Sides) -> BTreeMap<String, String> {
    let by = buckets::run(graph, group);
    let reasons = graph.states.iter().filter_map(|state| {
        let why = match state.kind {
            Kind::Singleton if state.region.is_some() => Some(region()),
            Kind::Singleton => Some(singleton()),
            // A merge has the updates of all shards.
            Kind::Commutative if state.merged => None,
            Kind::Commutative => reader(graph, state).map(read),
            // Each shard reads the same version, and has the values of its buckets.
            Kind::ReadMostly | Kind::PerBucket => None,
            // Its flows are those of messages, which go to the shard of their key.
            Kind::Keyed if graph.takes_messages() => None,
            Kind::Keyed => keyed(state, group, by),
        };
        Some((state.name.clone(), why?))
    });
    // Where a half knows the buckets of its shard, it knows whether a timer is its own.
    let at_nic = sides == Sides::NicOnly;
    let timers = graph.timers.iter().filter(|_| at_nic);
    let timers = timers.map(|timer| (timer.node.name.clone(), timed()));
    let dealt = graph.takers().filter(|_| sides == Sides::Dealt);
    let takers = dealt.map(|(handler, _)| (handler.name.clone(), takes()));
    reasons.chain(timers).chain(takers).collect()
}

fn takes() -> String {
    "it takes messages, and a bucket that moves between the sides does not take along those that wait".to_owned()
}

fn timed() -> String {
    "it is a timer, and under `nic-only` the NIC core of each shard would run it; under `split`, `host-only` \
     and `dealt` a half runs it that knows its buckets"
        .to_owned()
}

fn singleton() -> String {
    "it is one value that packets of every flow reach, and each shard would have one of its own; give it a \
     key, make it a value per bucket (`per = Bucket`), or make it `commutative` if handlers only add to it"
        .to_owned()
}

fn region() -> String {
    "its items are for messages of every flow, and each shard would have some of its own".to_owned()
}

/// A handler that may read the state. An opaque access counts as a read.
fn reader<'a>(graph: &'a Graph, state: &StateNode) -> Option<&'a str> {
    let edge = graph.edges.iter().find(|edge| edge.state == state.name && edge.reads)?;
    Some(&edge.handler)
}

fn read(handler: &str) -> String {
    format!(
        "`{handler}` may read it, and would see the updates of its own shard alone; only update it \
         there, and read it in the final state, where the replicas are merged"
    )
}

fn keyed(state: &StateNode, group: &Group, by: BucketsBy) -> Option<String> {
    let traveller = traveller(state)?;
    if by == BucketsBy::Group {
        if traveller.translates && !traveller.within {
            return Some(chosen());
        }
        return (!will_do(&group.key, traveller))
            .then(|| foreign(&format!("`{}`", group.key), traveller.key));
    }
    let by_ports = match by {
        BucketsBy::Ports => "both ports",
        BucketsBy::InsidePort => "the port at the inside end",
        _ => "the port at the outside end",
    };
    match state.keyed.as_ref()?.replies {
        _ if traveller.key != "FiveTuple" || traveller.within => {
            Some(foreign(by_ports, traveller.key))
        }
        Replies::Any => Some(chosen()),
        _ => None,
    }
}

fn chosen() -> String {
    "its handlers choose the keys of replies, so a reply may be steered to another shard than the \
     packets that it answers; `insert_answered` and `insert_answered_by` keep it there"
        .to_owned()
}

fn foreign(steered_by: &str, own: &str) -> String {
    format!(
        "packets are steered by {steered_by}, and packets that share one of its entries (by `{own}`) \
         need not share that; key it alike, or let a state with the coarser key travel"
    )
}
