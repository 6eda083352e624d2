//! Graphviz: `dot -Tsvg`.

use std::fmt::Write as _;

use super::{
    colours, every, handler_notes, message_lines, place, settled_lines, state_lines, title,
};
use crate::graph::{Graph, HandlerNode, MessageNode};
use crate::plan::Plan;
use crate::vocabulary::Kind;

/// The graph in DOT.
pub fn draw(graph: &Graph, plan: Option<&Plan>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, graph, plan);
    out
}

fn write(out: &mut String, graph: &Graph, plan: Option<&Plan>) -> std::fmt::Result {
    writeln!(out, "digraph {} {{", quoted(&graph.app))?;
    let settled = settled_lines(graph, plan.map(|plan| &plan.placement));
    let title = std::iter::once(title(graph, plan)).chain(settled).collect::<Vec<_>>().join("\n");
    writeln!(out, "  label={}; labelloc=t; fontname=\"sans-serif\";", quoted(&title))?;
    writeln!(out, "  node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\"];")?;
    if !graph.messages.is_empty() {
        writeln!(out, "  rankdir=LR;")?;
    }
    if graph.has_chain() {
        writeln!(out, "  {{ rank=same;")?;
        writeln!(out, "  \"port inside\" [shape=plaintext, label=\"inside\"];")?;
        for node in graph.of_packets() {
            handler(out, node)?;
        }
        writeln!(out, "  \"port outside\" [shape=plaintext, label=\"outside\"];")?;
        writeln!(out, "  }}")?;
    }
    for (node, _) in graph.takers() {
        handler(out, node)?;
    }
    for state in &graph.states {
        let place = place(plan, &state.name);
        let (fill, line) = colours(place);
        let shape = if state.kind == Kind::Keyed { "cylinder" } else { "box" };
        let mut label = vec![state.name.clone()];
        label.extend(state_lines(state, place));
        writeln!(
            out,
            "  {} [shape={shape}, style=filled, fillcolor=\"{fill}\", color=\"{line}\", label={}];",
            quoted(&format!("state {}", state.name)),
            quoted(&label.join("\n"))
        )?;
    }
    if graph.has_chain() {
        let mut before = "port inside".to_owned();
        for handler in graph.of_packets() {
            let this = format!("handler {}", handler.name);
            writeln!(out, "  {} -> {} [dir=both, penwidth=2];", quoted(&before), quoted(&this))?;
            before = this;
        }
        writeln!(out, "  {} -> \"port outside\" [dir=both, penwidth=2];", quoted(&before))?;
    }
    messages(out, graph)?;
    for node in graph.timed() {
        let id = quoted(&format!("handler {}", node.name));
        let mut label = vec![node.name.clone()];
        label.extend(graph.timers.iter().filter(|it| it.node.name == node.name).map(every));
        let label = quoted(&label.join("\n"));
        writeln!(out, "  {id} [shape=box, style=\"rounded,dashed\", label={label}];")?;
    }
    for hook in &graph.hooks {
        let id = quoted(&format!("handler {}", hook.node.name));
        let state = quoted(&format!("state {}", hook.state));
        writeln!(out, "  {state} -> {id} [style=dashed, label=\"expires\"];")?;
    }
    for edge in &graph.edges {
        writeln!(
            out,
            "  {} -> {} [style=dashed, label={}];",
            quoted(&format!("handler {}", edge.handler)),
            quoted(&format!("state {}", edge.state)),
            quoted(&edge.label())
        )?;
    }
    writeln!(out, "}}")
}

fn handler(out: &mut String, node: &HandlerNode) -> std::fmt::Result {
    let mut label = vec![node.name.clone()];
    label.extend(handler_notes(node));
    let id = quoted(&format!("handler {}", node.name));
    let label = quoted(&label.join("\n"));
    writeln!(out, "  {id} [shape=box, style=rounded, label={label}];")
}

/// Messages, and their ways: from the wire or a sender, to the handler that takes them or the wire.
fn messages(out: &mut String, graph: &Graph) -> std::fmt::Result {
    let id = |message: &MessageNode| quoted(&format!("message {}", message.name));
    for message in &graph.messages {
        let label = std::iter::once(message.name.clone()).chain(message_lines(graph, message));
        let label = quoted(&label.collect::<Vec<_>>().join("\n"));
        writeln!(out, "  {} [shape=note, label={label}];", id(message))?;
    }
    if graph.messages.iter().any(|message| graph.comes_in(message)) {
        writeln!(out, "  \"wire in\" [shape=plaintext, label=\"datagrams in\"];")?;
    }
    if graph.messages.iter().any(|message| graph.goes_out(message)) {
        writeln!(out, "  \"wire out\" [shape=plaintext, label=\"datagrams out\"];")?;
    }
    for message in &graph.messages {
        if graph.comes_in(message) {
            writeln!(out, "  \"wire in\" -> {} [penwidth=2];", id(message))?;
        }
        if graph.goes_out(message) {
            writeln!(out, "  {} -> \"wire out\" [penwidth=2];", id(message))?;
        }
    }
    for (node, message) in graph.takers() {
        let to = quoted(&format!("handler {}", node.name));
        writeln!(out, "  {} -> {to} [penwidth=2];", id(message))?;
    }
    for sending in graph.sendings() {
        let (from, to) =
            (format!("handler {}", sending.handler), format!("message {}", sending.message));
        writeln!(
            out,
            "  {} -> {} [label={}];",
            quoted(&from),
            quoted(&to),
            quoted(&sending.label())
        )?;
    }
    Ok(())
}

/// A DOT string. Backslashes and quotes are escaped; a line break is `\n`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
