//! Flows that move, states that outlive their side, and those that are lost with the host.

use std::fmt;

use cora_plan::graph::{HandlerNode, StateNode};
use cora_plan::vocabulary::{Kind, Place, Sides};
use cora_plan::{Graph, Plan};

use super::{KEY_OF, Lines, number_of};
use crate::script::plan::rests;

pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    out.block("impl Transfer for Program", |out| {
        group(out, graph, plan)?;
        durable(out, graph, plan)
    })
}

/// The key of a flow.
pub(super) const FLOW: &str = "FiveTuple";

/// The key of ownership: where ports decide buckets, flows of two buckets are two.
fn group(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let group = plan.placement.group_of.as_ref().and_then(|name| number_of(graph, name));
    let by_port = plan.placement.buckets_by.is_port() && plan.placement.group == FLOW;
    let group = match group {
        _ if graph.takes_messages() => "::cora::__private::core::message::FlowOf<Self>".to_owned(),
        _ if by_port => "::cora::__private::core::key::InBucket".to_owned(),
        Some(number) => {
            format!("<S{number} as {KEY_OF}>::Group")
        }
        None => "::cora::__private::core::key::FiveTuple".to_owned(),
    };
    out.line(format_args!("type Group = {group};"))
}

fn durable(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let durable = |state: &StateNode| {
        let place = plan.placement.places.get(&state.name);
        let pinned = plan.placement.sides == Sides::Split && place == Some(&Place::Host);
        state.kind == Kind::Keyed
            && state.is_durable()
            && (pinned || place == Some(&Place::Travels))
    };
    if graph.states.iter().any(durable) {
        out.line("const DURABLE: bool = true;")?;
    }
    let all = graph.states.iter().enumerate();
    let kept: Vec<usize> =
        all.filter(|(_, state)| is_kept(plan, state)).map(|(number, _)| number).collect();
    if !kept.is_empty() {
        out.line(format_args!("const KEPT: &'static [usize] = &{kept:?};"))?;
    }
    let rests_on = rests::names(graph, plan);
    if !rests_on.is_empty() {
        out.line(format_args!("const RESTS_ON: &'static [&'static str] = &{rests_on:?};"))?;
    }
    Ok(())
}

/// The durable singletons that a handler may change: positions of its parameters, and indices of
/// the states.
pub(super) fn kept(graph: &Graph, plan: &Plan, handler: &HandlerNode) -> Vec<(usize, usize)> {
    let parameters = handler.parameters.iter().enumerate().filter(|(_, lent)| lent.mutable);
    let kept = parameters.filter_map(|(position, lent)| {
        let number = number_of(graph, &lent.state)?;
        graph.states.get(number).filter(|state| is_kept(plan, state)).map(|_| (position, number))
    });
    kept.collect()
}

fn is_kept(plan: &Plan, state: &StateNode) -> bool {
    plan.placement.sides == Sides::Split
        && matches!(state.kind, Kind::Singleton | Kind::PerBucket)
        && state.is_durable()
}
