//! Mermaid, as forges draw it in Markdown.

use std::fmt::Write as _;

use super::{
    colours, every, handler_notes, message_lines, place, settled_lines, state_lines, title,
};
use crate::graph::Graph;
use crate::plan::Plan;
use crate::vocabulary::{Kind, Place};

/// The graph as a Mermaid flowchart.
pub fn draw(graph: &Graph, plan: Option<&Plan>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, graph, plan);
    out
}

fn write(out: &mut String, graph: &Graph, plan: Option<&Plan>) -> std::fmt::Result {
    writeln!(out, "---\ntitle: {}\n---", quoted(&title(graph, plan)))?;
    writeln!(out, "flowchart LR")?;
    if graph.has_chain() {
        writeln!(out, "  inside([inside])")?;
    }
    for (number, handler) in graph.chain.iter().enumerate() {
        let mut label = vec![handler.name.clone()];
        label.extend(handler_notes(handler));
        writeln!(out, "  h{number}({})", quoted(&label.join("<br/>")))?;
    }
    if graph.has_chain() {
        writeln!(out, "  outside([outside])")?;
    }
    for (number, state) in graph.states.iter().enumerate() {
        let place = place(plan, &state.name);
        let mut label = vec![format!("<b>{}</b>", state.name)];
        label.extend(state_lines(state, place));
        let label = quoted(&label.join("<br/>"));
        let class = place.map_or("unplaced", Place::word);
        match state.kind {
            Kind::Keyed => writeln!(out, "  s{number}[({label})]:::{class}")?,
            _ => writeln!(out, "  s{number}[{label}]:::{class}")?,
        }
    }
    if graph.has_chain() {
        let packets = graph.chain.iter().enumerate().filter(|(_, node)| node.takes.is_none());
        let chain = packets.map(|(number, _)| format!("h{number}"));
        let stops: Vec<String> = std::iter::once("inside".to_owned())
            .chain(chain)
            .chain(["outside".to_owned()])
            .collect();
        writeln!(out, "  {}", stops.join(" <==> "))?;
    }
    messages(out, graph, plan)?;
    for edge in &graph.edges {
        let from = graph.chain.iter().position(|handler| handler.name == edge.handler);
        let to = graph.states.iter().position(|state| state.name == edge.state);
        if let (Some(from), Some(to)) = (from, to) {
            writeln!(out, "  h{from} -. {} .-> s{to}", quoted(&edge.label()))?;
        }
    }
    for (number, node) in graph.timed().enumerate() {
        let mut label = vec![node.name.clone()];
        label.extend(graph.timers.iter().filter(|it| it.node.name == node.name).map(every));
        writeln!(out, "  k{number}({})", quoted(&label.join("<br/>")))?;
        let state = graph.hooks.get(number).map(|hook| &hook.state);
        let state = state.and_then(|state| graph.states.iter().position(|it| it.name == *state));
        if let Some(state) = state {
            writeln!(out, "  s{state} -. {} .-> k{number}", quoted("expires"))?;
        }
        for edge in graph.edges.iter().filter(|edge| edge.handler == node.name) {
            if let Some(to) = graph.states.iter().position(|state| state.name == edge.state) {
                writeln!(out, "  k{number} -. {} .-> s{to}", quoted(&edge.label()))?;
            }
        }
    }
    // Only `dealt` divides states, and only regions are fetched, so other pictures need no class
    // for it.
    let has = |rare: Place| graph.states.iter().any(|s| place(plan, &s.name) == Some(rare));
    let is_rare = |place: Place| matches!(place, Place::Divided | Place::Fetched);
    let places = Place::ALL.into_iter().filter(|place| !is_rare(*place) || has(*place));
    for place in [None].into_iter().chain(places.map(Some)) {
        let (fill, line) = colours(place);
        let class = place.map_or("unplaced", Place::word);
        writeln!(out, "  classDef {class} fill:{fill},stroke:{line},color:#18181b")?;
    }
    Ok(())
}

/// Messages, and their ways: from the wire or a sender, to the handler that takes them or the wire.
fn messages(out: &mut String, graph: &Graph, plan: Option<&Plan>) -> std::fmt::Result {
    for (number, message) in graph.messages.iter().enumerate() {
        let label = std::iter::once(format!("<b>{}</b>", message.name))
            .chain(message_lines(graph, message));
        let label = quoted(&label.collect::<Vec<_>>().join("<br/>"));
        writeln!(out, "  m{number}[/{label}/]")?;
    }
    for (number, message) in graph.messages.iter().enumerate() {
        if graph.comes_in(message) {
            writeln!(out, "  wire([datagrams in]) ==> m{number}")?;
        }
        if let Some((to, _)) = graph.taker(&message.name) {
            writeln!(out, "  m{number} ==> h{to}")?;
        }
        if graph.goes_out(message) {
            writeln!(out, "  m{number} ==> out([datagrams out])")?;
        }
    }
    for sending in graph.sendings() {
        let timed = graph.timed().position(|it| it.name == sending.handler);
        let chain = graph.chain.iter().position(|it| it.name == sending.handler);
        let from = chain.map(|at| format!("h{at}")).or(timed.map(|at| format!("k{at}")));
        let to = graph.messages.iter().position(|it| it.name == sending.message);
        if let (Some(from), Some(to)) = (from, to) {
            writeln!(out, "  {from} -- {} --> m{to}", quoted(&sending.label()))?;
        }
    }
    let settled = settled_lines(graph, plan.map(|plan| &plan.placement));
    if !settled.is_empty() {
        writeln!(out, "  settled[{}]:::words", quoted(&settled.join("<br/>")))?;
        writeln!(out, "  classDef words fill:none,stroke:none,color:#52525b")?;
    }
    Ok(())
}

/// A Mermaid string. Mermaid has HTML entities instead of escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "#quot;"))
}
