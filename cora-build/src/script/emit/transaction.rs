//! The work on every state before and after a packet. It is unrolled state by state, so that there
//! is no dynamic dispatch.

use std::fmt;

use cora_plan::graph::{Keyed, StateNode};
use cora_plan::placement::{group_of_program, is_address};
use cora_plan::vocabulary::Kind;
use cora_plan::{Graph, Plan};

use super::transfer::FLOW;
use super::{KEY_OF, Lines, number_of};

pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    if graph.states.is_empty() {
        return out.line("impl Transaction for Program {}");
    }
    out.block("impl Transaction for Program", |out| each_state(out, graph, plan))
}

fn each_state(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    // Tables come last: then the compiler still knows the writes of `begin` to a table when the
    // handlers look it up. After the begin of a state elsewhere in memory, it would reload them.
    let (mut order, tables): (Vec<usize>, Vec<usize>) =
        (0..graph.states.len()).partition(|state| graph.states[*state].keyed.is_none());
    order.extend(tables);
    for (method, parameters, arguments) in [
        ("begin", ", visit: Visit", ", visit"),
        ("commit", ", undo: bool", ", undo"),
        ("rollback", "", ""),
    ] {
        out.line("#[inline(always)]")?;
        out.block(format_args!("fn {method}(&mut self{parameters})"), |out| {
            for state in &order {
                out.line(format_args!("Home::{method}(&mut self.s{state}{arguments});"))?;
            }
            if method != "commit" {
                return Ok(());
            }
            let regions = order.iter().filter(|state| graph.states[**state].region.is_some());
            for state in regions {
                out.line(format_args!("Home::publish(&mut self.s{state});"))?;
            }
            Ok(())
        })?;
        out.text.push('\n');
    }
    enter(out, graph, plan)?;
    out.line("#[inline(always)]")?;
    out.block("fn is_void(&mut self) -> bool", |out| {
        let all: Vec<String> =
            (0..graph.states.len()).map(|state| format!("Home::is_void(&self.s{state})")).collect();
        out.line(all.join(" || "))
    })?;
    out.text.push('\n');
    Ok(())
}

/// Emits that a key groups all flows, if one does, and a method that passes the packet's group to
/// every table.
fn enter(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    if graph.takes_messages() {
        // A message's handler enters when it has received it.
        return out.line("const GROUPED: bool = true;\nconst ENTERS: bool = false;\n");
    }
    let marked = marked(graph, plan);
    let all = graph.states.iter().enumerate();
    let tables = all.filter_map(|(number, state)| Some((number, state.keyed.as_ref()?)));
    let (within, others): (Vec<_>, Vec<_>) = tables.partition(|(_, keyed)| keyed.within.is_some());
    let group = group_of_program(graph).and_then(|state| {
        Some((number_of(graph, &state.name)?, state.keyed.as_ref()?.travels_by()))
    });
    match group {
        Some(_) => out.line("const GROUPED: bool = true;\n")?,
        None if within.is_empty() && marked.is_empty() => return Ok(()),
        None => out.line("const ENTERS: bool = true;\n")?,
    }
    out.line("#[inline(always)]")?;
    out.block("fn enter(&mut self, packet: Option<&Packet<'_>>)", |out| {
        if group.is_some() || !within.is_empty() {
            out.line("use ::cora::__private::core::key::{Key, PacketKey};")?;
        }
        if !marked.is_empty() {
            let unmarked = "::cora::__private::core::bucket::Mark::UNMARKED";
            out.line(format_args!(
                "let mark = packet.map_or({unmarked}, |packet| packet.meta().mark);"
            ))?;
        }
        for number in &marked {
            out.line(format_args!("Home::enter_marked(&mut self.s{number}, mark);"))?;
        }
        let Some((named_by, group)) = group else {
            // Groups of several kinds, of states that don't travel together.
            return within.iter().try_for_each(|(number, _)| {
                group_of_packet(out, *number)?;
                out.line(format_args!("self.s{number}.enter_scope(group);"))
            });
        };
        group_of_packet(out, named_by)?;
        for (number, _) in &within {
            out.line(format_args!("self.s{number}.enter_scope(group);"))?;
        }
        let reached = |(_, keyed): &&(usize, &Keyed)| is_address(group) || keyed.key == group;
        let mut others = others.iter().filter(reached).map(|(number, _)| number);
        let (how, method) = if is_address(group) {
            ("and_then(|group| group.group_address(false))", "enter")
        } else {
            ("map(|group| group.words())", "enter_named")
        };
        out.line(format_args!("let group = group.{how};"))?;
        others.try_for_each(|number| {
            out.line(format_args!("Home::{method}(&mut self.s{number}, group);"))
        })
    })?;
    out.text.push('\n');
    Ok(())
}

/// The states that only packets of their bucket reach: values per bucket, and, where ports decide
/// buckets, tables of flows.
fn marked(graph: &Graph, plan: &Plan) -> Vec<usize> {
    let by_port = plan.placement.buckets_by.is_port();
    let is_marked = |state: &StateNode| match &state.keyed {
        Some(keyed) => by_port && keyed.travels_by() == FLOW,
        None => state.kind == Kind::PerBucket,
    };
    let all = graph.states.iter().enumerate();
    all.filter(|(_, state)| is_marked(state)).map(|(number, _)| number).collect()
}

/// The packet's group, by which the entries of this state travel.
fn group_of_packet(out: &mut Lines, state: usize) -> fmt::Result {
    out.line(format_args!(
        "let group = packet.and_then(|packet| <S{state} as {KEY_OF}>::Group::of_packet(packet).ok());"
    ))
}
