//! What of the program outlives the side that holds it, and what dies with the host.

use std::fmt;

use cora_plan::graph::StateNode;
use cora_plan::words::Place;
use cora_plan::{Graph, Plan};

use super::Lines;
use crate::script::rests;

pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let travels = |state: &StateNode| plan.places.get(&state.name) == Some(&Place::Travels);
    if graph.states.iter().any(|state| travels(state) && state.is_durable()) {
        out.line("const DURABLE: bool = true;")?;
    }
    let rests_on = rests::names(graph, plan);
    if !rests_on.is_empty() {
        out.line(format_args!("const RESTS_ON: &'static [&'static str] = &{rests_on:?};"))?;
    }
    Ok(())
}
