//! The states, by number.

use std::fmt;

use cora_plan::{Graph, Place, Plan};

use super::{AT_THE_HOST, Lines};

pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    out.block("impl States for Program", |out| {
        places(out, graph, plan)?;
        out.line(format_args!("const STATES: usize = {};\n", graph.states.len()))?;
        state(out, graph, "state", "Home")?;
        state(out, graph, "described", "Described")
    })
}

fn places(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let kind = "const PLACES: &'static [(&'static str, Place)] =";
    if graph.states.is_empty() {
        return out.line(format_args!("{kind} &[];"));
    }
    out.line(format_args!("{kind} &["))?;
    for state in &graph.states {
        let place = plan.placement.places.get(&state.name).copied().unwrap_or(Place::Host);
        out.line(format_args!("    ({:?}, Place::{place:?}),", state.name))?;
    }
    out.line("];")
}

/// The states by index, as one of their traits.
fn state(out: &mut Lines, graph: &Graph, method: &str, home: &str) -> fmt::Result {
    let number = if graph.states.len() < 2 { "_number" } else { "number" };
    let head = format!("fn {method}(&mut self, {number}: usize) -> &mut dyn {home}");
    if home == "Described" {
        out.line(AT_THE_HOST)?;
    }
    out.block(head, |out| match graph.states.len() {
        0 => out.line("unreachable!(\"the program has no state\")"),
        1 => out.line("&mut self.s0"),
        count => out.block("match number", |out| {
            for number in 0..count - 1 {
                out.line(format_args!("{number} => &mut self.s{number},"))?;
            }
            out.line(format_args!("_ => &mut self.s{},", count - 1))
        }),
    })?;
    out.text.push('\n');
    Ok(())
}
