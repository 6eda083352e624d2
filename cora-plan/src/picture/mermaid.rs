//! Mermaid, as forges draw it in Markdown.

use std::fmt::Write as _;

use super::{colours, every, handler_notes, place, state_lines, title};
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
    writeln!(out, "  inside([inside])")?;
    for (number, handler) in graph.chain.iter().enumerate() {
        let mut label = vec![handler.name.clone()];
        label.extend(handler_notes(handler));
        writeln!(out, "  h{number}({})", quoted(&label.join("<br/>")))?;
    }
    writeln!(out, "  outside([outside])")?;
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
    let chain = (0..graph.chain.len()).map(|number| format!("h{number}"));
    let stops: Vec<String> =
        std::iter::once("inside".to_owned()).chain(chain).chain(["outside".to_owned()]).collect();
    writeln!(out, "  {}", stops.join(" <==> "))?;
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
    // Only `dealt` divides states, so other pictures need no class for it.
    let divided = graph.states.iter().any(|s| place(plan, &s.name) == Some(Place::Divided));
    let places = Place::ALL.into_iter().filter(|place| divided || *place != Place::Divided);
    for place in [None].into_iter().chain(places.map(Some)) {
        let (fill, line) = colours(place);
        let class = place.map_or("unplaced", Place::word);
        writeln!(out, "  classDef {class} fill:{fill},stroke:{line},color:#18181b")?;
    }
    Ok(())
}

/// A Mermaid string. Mermaid has HTML entities instead of escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "#quot;"))
}
