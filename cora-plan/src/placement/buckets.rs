//! What decides the bucket of a packet, so that packets that share an entry share the bucket.

use super::Group;
use super::group::traveller;
use crate::graph::Graph;
use crate::vocabulary::{BucketsBy, Replies};

/// The port that a state names, if one does; both ports, if handlers choose addresses for replies
/// and keep the ports; otherwise the group key.
pub(super) fn run(graph: &Graph, group: &Group) -> BucketsBy {
    let keyed = || graph.states.iter().filter_map(|state| state.keyed.as_ref());
    if let Some(named) = keyed().find_map(|keyed| keyed.bucket) {
        return named;
    }
    let keeps_ports = |replies| matches!(replies, Replies::Reversed | Replies::SamePorts);
    let all_keep = graph
        .states
        .iter()
        .filter_map(traveller)
        .all(|traveller| traveller.key == "FiveTuple" && !traveller.within)
        && keyed().all(|keyed| keeps_ports(keyed.replies));
    let some_choose = keyed().any(|keyed| keyed.replies == Replies::SamePorts);
    if some_choose && all_keep && group.key == "FiveTuple" {
        BucketsBy::Ports
    } else {
        BucketsBy::Group
    }
}
