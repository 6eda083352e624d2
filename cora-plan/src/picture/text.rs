//! The graph in words, for a terminal.

use std::fmt::Write as _;

use super::{every, handler_notes, message_lines, place, settled_lines, state_lines, title};
use crate::graph::{Graph, HandlerNode};
use crate::plan::Plan;

/// The graph in words.
pub fn draw(graph: &Graph, plan: Option<&Plan>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, graph, plan);
    out
}

fn write(out: &mut String, graph: &Graph, plan: Option<&Plan>) -> std::fmt::Result {
    writeln!(out, "{}", title(graph, plan))?;
    for line in settled_lines(graph, plan.map(|plan| &plan.placement)) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\nHandlers, in chain order")?;
    for node in &graph.chain {
        let takes = node.takes.as_deref().map_or_else(
            || if node.headers { "headers".to_owned() } else { "packets".to_owned() },
            str::to_owned,
        );
        handler(out, graph, node, &format!("takes {takes}"))?;
    }
    for hook in &graph.hooks {
        handler(out, graph, &hook.node, &format!("when an entry of {} expires", hook.state))?;
    }
    for timer in &graph.timers {
        handler(out, graph, &timer.node, &every(timer))?;
    }
    if !graph.messages.is_empty() {
        writeln!(out, "\nMessages")?;
    }
    for message in &graph.messages {
        writeln!(out, "  {}: {}", message.name, message_lines(graph, message).join(", "))?;
        if graph.comes_in(message) {
            writeln!(out, "    comes in datagrams")?;
        }
        for sending in graph.sendings().iter().filter(|it| it.message == message.name) {
            writeln!(out, "    {} {} a run", sending.handler, sending.label())?;
        }
        if graph.goes_out(message) {
            writeln!(out, "    leaves in datagrams")?;
        }
        for hearing in graph.hearings().iter().filter(|it| it.message.name == message.name) {
            writeln!(out, "    goes to {}: {}", hearing.taker.name, hearing.why())?;
        }
    }
    if !graph.states.is_empty() {
        writeln!(out, "\nStates")?;
    }
    for state in &graph.states {
        let lines = state_lines(state, place(plan, &state.name));
        writeln!(out, "  {}: {}", state.name, lines.join(", "))?;
    }
    Ok(())
}

fn handler(out: &mut String, graph: &Graph, node: &HandlerNode, takes: &str) -> std::fmt::Result {
    let notes = std::iter::once(takes.to_owned()).chain(handler_notes(node));
    writeln!(out, "  {}: {}", node.name, notes.collect::<Vec<_>>().join(", "))?;
    for sending in node.sendings() {
        writeln!(out, "    {} {}", sending.message, sending.label())?;
    }
    for edge in graph.edges.iter().filter(|edge| edge.handler == node.name) {
        writeln!(out, "    {} {}", edge.state, edge.label())?;
    }
    Ok(())
}
