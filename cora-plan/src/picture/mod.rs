//! Pictures of a graph, and of the plan that places it.
//!
//! All formats show the same: handlers in chain order between the inside and the outside
//! port, the packet's path as a solid line, and accesses to states dashed with their operations.
//! A handler's notes say that it sends packets, and how many of its accesses are opaque.
//! Messages stand between those who send them, or the wire, and the handler that takes them, or the
//! wire; a send says how many messages a run sends. A program with messages says whether it is
//! settled.
//! With a plan, each state has its place in words and colour.

pub mod dot;
pub mod mermaid;
pub mod svg;
pub mod text;

use std::collections::BTreeMap;

use crate::graph::{Graph, HandlerNode, MessageNode, Rows, StateNode, TimerNode, Under, duration};
use crate::model::Allocation;
use crate::placement::Placement;
use crate::plan::Plan;
use crate::vocabulary::{Place, Sides};

pub(crate) use svg::escaped;

/// Contents of a picture besides the graph.
struct Shown<'a> {
    /// Its title.
    title: String,
    /// Place of each state, if there is a plan.
    places: Option<&'a BTreeMap<String, Place>>,
    /// The sides of handlers, if they were planned.
    allocation: Option<&'a Allocation>,
    /// The plan's decisions, if it is sealed.
    placement: Option<&'a Placement>,
}

impl<'a> Shown<'a> {
    fn of_plan(graph: &Graph, plan: Option<&'a Plan>) -> Self {
        let places = plan.map(|plan| &plan.placement.places);
        let placement = plan.map(|plan| &plan.placement);
        Self { title: title(graph, plan), places, allocation: None, placement }
    }

    fn of_allocation(graph: &Graph, allocation: &'a Allocation, hash: &str) -> Self {
        let title = format!("{} under {}, plan {hash}", graph.app, allocation.sides);
        let places = Some(&allocation.places);
        Self { title, places, allocation: Some(allocation), placement: None }
    }

    fn place(&self, state: &str) -> Option<Place> {
        self.places.and_then(|places| places.get(state).copied())
    }

    /// The side of a handler in words, and the place with the same colours.
    fn side(&self, handler: &str) -> Option<(&'static str, Place)> {
        let allocation = self.allocation?;
        let at_host = || allocation.host_handlers.iter().any(|name| name == handler);
        Some(match allocation.sides {
            Sides::HostOnly => ("runs: host", Place::Host),
            Sides::NicOnly => ("runs: nic", Place::Nic),
            Sides::Split if at_host() => ("runs: host", Place::Host),
            Sides::Split | Sides::Dealt => ("runs: nic + host", Place::Travels),
        })
    }
}

/// Fill and line colour of a place. They also differ in lightness, and the word is next to them.
fn colours(place: Option<Place>) -> (&'static str, &'static str) {
    match place {
        Some(Place::Travels) => ("#e3f1ff", "#1f6fb2"),
        Some(Place::Nic) => ("#e6f6e6", "#2e7d32"),
        Some(Place::Host) => ("#fdeedc", "#b45f06"),
        Some(Place::Replica) => ("#f1e8fb", "#6a3fa0"),
        Some(Place::Divided) => ("#e0f5f5", "#0f6e6e"),
        Some(Place::Fetched) => ("#fbf3cf", "#7d5a00"),
        None => ("#f4f4f5", "#52525b"),
    }
}

/// How often a timer runs.
fn every(timer: &TimerNode) -> String {
    format!("every {}", duration(timer.period_ns))
}

/// What a picture says of a handler besides its name and its states.
fn handler_notes(handler: &HandlerNode) -> Vec<String> {
    let sends = handler.sends.then(|| "sends packets".to_owned());
    let opaque = handler.opaque.len();
    let opaque = (opaque > 0).then(|| format!("{opaque} opaque"));
    sends.into_iter().chain(opaque).collect()
}

/// The lines under a state's name: kind and key, then size, then place.
fn state_lines(state: &StateNode, place: Option<Place>) -> Vec<String> {
    let durable = if state.durable { ", durable" } else { "" };
    let merged = if state.merged { ", read merged" } else { "" };
    let mut lines = vec![format!("{}{durable}{merged}", state.kind.word())];
    if let Some(keyed) = &state.keyed {
        let summary = keyed.summary();
        lines.clear();
        lines.extend(summary.splitn(2, ", ").map(str::to_owned));
    }
    if let (Some(objects), Some(keyed)) = (&state.objects, &state.keyed) {
        lines = vec![format!("objects by {}", keyed.key), objects.summary(keyed)];
    }
    if let Some(region) = &state.region {
        lines = vec!["region".to_owned(), region.summary()];
    }
    lines.extend(state.rows.as_ref().map(Rows::summary));
    lines.extend(place.map(|place| format!("place: {place}")));
    lines
}

/// The lines under a message's name: its flows if it is taken, then its wire form.
fn message_lines(graph: &Graph, message: &MessageNode) -> Vec<String> {
    let port = |port: Option<u16>| port.map_or_else(String::new, |port| format!(", port {port}"));
    let wire = message.wire.map(|wire| {
        let form = if wire.parse { "text" } else { "datagrams" };
        format!("{form}{}", port(wire.port))
    });
    let is_taken = graph.takers().any(|(_, taken)| taken.name == message.name);
    is_taken.then(|| message.flow()).into_iter().chain(wire).collect()
}

/// Whether a program with messages is settled, and the reasons if it is not.
fn settled_lines(graph: &Graph, placement: Option<&Placement>) -> Vec<String> {
    let under = placement.map(Under::from);
    let Some(settled) = graph.settled(under.as_ref()) else { return Vec::new() };
    std::iter::once(settled.verdict()).chain(settled.reasons()).collect()
}

/// The place of a state in a plan, if there is a plan.
fn place(plan: Option<&Plan>, state: &str) -> Option<Place> {
    plan.and_then(|plan| plan.placement.places.get(state).copied())
}

/// The title of a picture.
fn title(graph: &Graph, plan: Option<&Plan>) -> String {
    match plan {
        Some(plan) => format!("{} under {}, plan {}", graph.app, plan.name, plan.hash),
        None => graph.app.clone(),
    }
}

#[cfg(test)]
mod tests;
