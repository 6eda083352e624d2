//! Graphviz: `dot -Tsvg`.

use std::fmt::Write as _;

use super::{colours, every, handler_notes, place, state_lines, title};
use crate::graph::Graph;
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
    writeln!(out, "  label={}; labelloc=t; fontname=\"sans-serif\";", quoted(&title(graph, plan)))?;
    writeln!(out, "  node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\"];")?;
    writeln!(out, "  {{ rank=same;")?;
    writeln!(out, "  \"port inside\" [shape=plaintext, label=\"inside\"];")?;
    for handler in &graph.chain {
        let mut label = vec![handler.name.clone()];
        label.extend(handler_notes(handler));
        let id = quoted(&format!("handler {}", handler.name));
        let label = quoted(&label.join("\n"));
        writeln!(out, "  {id} [shape=box, style=rounded, label={label}];")?;
    }
    writeln!(out, "  \"port outside\" [shape=plaintext, label=\"outside\"];")?;
    writeln!(out, "  }}")?;
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
    let mut before = "port inside".to_owned();
    for handler in &graph.chain {
        let this = format!("handler {}", handler.name);
        writeln!(out, "  {} -> {} [dir=both, penwidth=2];", quoted(&before), quoted(&this))?;
        before = this;
    }
    writeln!(out, "  {} -> \"port outside\" [dir=both, penwidth=2];", quoted(&before))?;
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

/// A DOT string. Backslashes and quotes are escaped; a line break is `\n`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
