//! The reason for a place: one sentence, from the graph and the plan.

use super::Report;
use super::words::listed;
use crate::graph::{Access, Does, Graph, HandlerNode, StateNode};
use crate::model::Allocation;
use crate::placement::MESSAGE;
use crate::vocabulary::{Kind, Place, Sides};

/// The reason for a state's place.
pub fn state(report: &Report<'_>, node: &StateNode) -> String {
    let allocation = &report.planned.allocation;
    let place = allocation.places.get(&node.name).copied().unwrap_or(Place::Host);
    if let Some(sides) = one_side(report) {
        return format!("{sides}, and {}", there(report.graph, node));
    }
    let first = match report.statement.places.get(&node.name) {
        Some(stated) if stated.line == 0 => "it was pinned for this plan".to_owned(),
        Some(stated) => format!("line {} of the plan's file says so", stated.line),
        None => chosen(node, place).to_owned(),
    };
    format!("{first}; {}", follows(report.graph, allocation, node, place))
}

/// The reason that one side runs everything, if it does.
fn one_side(report: &Report<'_>) -> Option<String> {
    let side = match report.planned.allocation.sides {
        Sides::HostOnly => "the host",
        Sides::NicOnly => "the NIC",
        Sides::Split | Sides::Dealt => return None,
    };
    let searched = report.statement.target.as_ref().is_some_and(|target| target.any_sides);
    let because = match (searched, report.planned.allocation.sides) {
        (false, _) => "as the plan states",
        (true, Sides::NicOnly) => "for no split needs fewer host cores",
        (true, _) => "for no split carries more with these host cores, or needs fewer",
    };
    let what = if report.graph.takes_messages() { "message" } else { "packet" };
    Some(format!("{side} runs every {what}, {because}"))
}

/// The use of a state if one side runs everything.
fn there(graph: &Graph, node: &StateNode) -> String {
    let users: Vec<String> =
        graph.users(&node.name).map(|handler| reaching(handler, &node.name)).collect();
    let users = match &users[..] {
        [] => "no handler reaches it".to_owned(),
        users => format!("it is reached on {}", users.join(" and ")),
    };
    match node.kind {
        Kind::Keyed => format!("{users}; none of its entries ever moves"),
        Kind::Singleton if node.region.is_some() => {
            format!("{users}; its items stay there for good")
        }
        Kind::Singleton => format!("{users}; there is one value of it"),
        Kind::PerBucket => format!("{users}; there is a value of it per bucket"),
        Kind::Commutative => format!("{users}; there is no other replica to merge"),
        Kind::ReadMostly => format!("{users}; the control plane writes it there"),
    }
}

/// The reason for a place that is not stated.
fn chosen(node: &StateNode, place: Place) -> &'static str {
    match (node.kind, place) {
        (Kind::Keyed, Place::Travels) => {
            "every entry belongs to flows that have one owner at a time"
        }
        (Kind::Keyed, _) => "the search found no better plan that lets it travel",
        (Kind::Singleton, Place::Fetched) => {
            "its items stay at the host, and messages that only read some need not go there"
        }
        (Kind::Singleton, _) if node.region.is_some() => {
            "its items are for messages of any flow, and the side that all can reach is the host"
        }
        (Kind::Singleton, _) => {
            "it is one value, and the side that all packets can reach is the host"
        }
        (Kind::PerBucket, Place::Divided) => {
            "flows of a bucket share its value, and each bucket is dealt to one side"
        }
        (Kind::PerBucket, _) => {
            "flows of a bucket share its value, and the side that all of them can reach is the host"
        }
        (Kind::Commutative, _) => "updates in any order give the same value",
        (Kind::ReadMostly, Place::Replica) => "only the control plane writes it",
        (Kind::ReadMostly, _) => "the search found no better plan with a copy at the NIC",
    }
}

/// Consequence of the place.
fn follows(graph: &Graph, allocation: &Allocation, node: &StateNode, place: Place) -> String {
    match place {
        Place::Travels
            if allocation.sides == Sides::Split
                && allocation.group != MESSAGE
                && node.keyed.as_ref().is_some_and(|keyed| keyed.key != allocation.group) =>
        {
            format!("its entries move with all flows that share a {}", allocation.group)
        }
        Place::Travels if allocation.sides == Sides::Dealt => {
            "each side has the entries of its own buckets".to_owned()
        }
        Place::Travels => "its entries move with their flows".to_owned(),
        Place::Replica if node.kind == Kind::ReadMostly => {
            "each side reads its own copy".to_owned()
        }
        Place::Replica => node.replicas().to_owned(),
        Place::Nic => "the NIC holds it".to_owned(),
        Place::Divided => "each side has the values of its own buckets".to_owned(),
        Place::Fetched => {
            let writers: Vec<String> = graph
                .users(&node.name)
                .filter_map(|handler| writing(handler, &node.name))
                .collect();
            match &writers[..] {
                [] => "the NIC reads copies of its items; none is ever written".to_owned(),
                writers => format!(
                    "the NIC reads copies of its items; messages on {} go to the host",
                    writers.join(" and ")
                ),
            }
        }
        Place::Host => {
            let users: Vec<String> =
                graph.users(&node.name).map(|handler| reaching(handler, &node.name)).collect();
            match &users[..] {
                [] => "no handler reaches it".to_owned(),
                users if graph.takes_messages() => {
                    format!("messages on {} go to the host", users.join(" and "))
                }
                users => format!("packets on {} go to the host", users.join(" and ")),
            }
        }
    }
}

/// The paths of a handler that reach a state: `2 of the 5 paths of `nat``.
fn reaching(handler: &HandlerNode, state: &str) -> String {
    let all = handler.paths.len();
    match counted(handler, |access| access.state == state) {
        _ if all == 0 => format!("paths of `{}` that reach it", handler.name),
        some if some == all => format!("every path of `{}`", handler.name),
        some => format!("{some} of the {all} paths of `{}`", handler.name),
    }
}

/// The paths of a handler that write a region, if any do.
fn writing(handler: &HandlerNode, state: &str) -> Option<String> {
    let all = handler.paths.len();
    match counted(handler, |access| access.state == state && access.does != Does::Read) {
        0 if all > 0 => None,
        some if some == all => Some(format!("every path of `{}`", handler.name)),
        some => Some(format!("{some} of the {all} paths of `{}`", handler.name)),
    }
}

/// How many paths of a handler have such an access.
fn counted(handler: &HandlerNode, such: impl Fn(&Access) -> bool) -> usize {
    handler.paths.iter().filter(|path| path.accesses.iter().any(&such)).count()
}

/// The reason for a handler's side.
pub fn handler(report: &Report<'_>, node: &HandlerNode) -> String {
    let allocation = &report.planned.allocation;
    if let Some(sides) = one_side(report) {
        let states: Vec<&str> =
            node.parameters.iter().map(|parameter| parameter.state.as_str()).collect();
        return match states[..] {
            [] => format!("{sides}; it reaches no state"),
            _ => format!("{sides}; its states are there: {}", listed(&states)),
        };
    }
    if allocation.sides == Sides::Dealt {
        return "each side runs the packets of its own buckets, new flows too".to_owned();
    }
    if node.at_host {
        return "the source says so: `at = host`; what reaches it goes to the host".to_owned();
    }
    if allocation.host_handlers.contains(&node.name) {
        let what = if node.takes.is_some() { "its messages" } else { "packets that reach it" };
        return format!(
            "the search found no better plan that runs it at the NIC; {what} go to the host"
        );
    }
    let pinned: Vec<&str> = node
        .parameters
        .iter()
        .map(|parameter| parameter.state.as_str())
        .filter(|state| allocation.places.get(*state) == Some(&Place::Host))
        .collect();
    let taken = report.graph.takers().find(|(taker, _)| taker.name == node.name);
    if let (Some((_, message)), true) = (taken, pinned.is_empty()) {
        return messages_flow(message.key.as_deref());
    }
    if pinned.is_empty() {
        return "all of its states can be at the NIC, so packets of the NIC's flows never need the host for it"
            .to_owned();
    }
    let touches = |path: &&crate::graph::Path| {
        path.accesses.iter().any(|access| pinned.contains(&access.state.as_str()))
    };
    let (some, all) = (node.paths.iter().filter(touches).count(), node.paths.len());
    let pinned = listed(&pinned);
    if all == 0 || some == all {
        format!(
            "every path may reach {pinned} at the host; those that do are run there from their start"
        )
    } else {
        format!(
            "{} of its {all} paths can run at the NIC, for flows that it owns; those that reach {pinned} are run at \
             the host from their start",
            all - some
        )
    }
}

/// The reason that a message's handler, which needs no state of the host, runs at either side.
fn messages_flow(key: Option<&str>) -> String {
    match key {
        None => {
            "each of its messages is a flow of its own, and is handled where it comes or is sent"
                .to_owned()
        }
        Some("One") => {
            "its messages are one flow, and all of its states can be where that flow is".to_owned()
        }
        Some(key) => format!(
            "a message is handled where its flow is, which its `{key}` tells, and all of its states can be there"
        ),
    }
}

/// The reason for the NIC's share of a class.
pub fn class(report: &Report<'_>, share: f64) -> &'static str {
    match report.planned.allocation.sides {
        Sides::HostOnly => "the host runs every packet",
        Sides::NicOnly => "the NIC runs every packet",
        Sides::Dealt => "buckets are dealt whatever class their flows are of",
        Sides::Split if share >= 1.0 => "owning them saves host time, and there is room for all",
        Sides::Split if share <= 0.0 => {
            "owning them would save no host time, or take room that others use better"
        }
        Sides::Split => "owning them saves host time, and there is room for no more",
    }
}
