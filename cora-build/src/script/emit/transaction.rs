//! The work on every state before and after a packet. It is unrolled state by state, so that there
//! is no dynamic dispatch.

use std::fmt;

use cora_plan::Graph;
use cora_plan::placement::address_group;

use super::{Lines, number_of};

pub(super) fn emit(out: &mut Lines, graph: &Graph) -> fmt::Result {
    if graph.states.is_empty() {
        return out.line("impl Transaction for Program {}");
    }
    out.block("impl Transaction for Program", |out| each_state(out, graph))
}

fn each_state(out: &mut Lines, graph: &Graph) -> fmt::Result {
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
            order.iter().try_for_each(|state| {
                out.line(format_args!("Home::{method}(&mut self.s{state}{arguments});"))
            })
        })?;
        out.text.push('\n');
    }
    enter(out, graph)?;
    out.line("#[inline(always)]")?;
    out.block("fn overflowed(&mut self) -> bool", |out| {
        let all: Vec<String> = (0..graph.states.len())
            .map(|state| format!("Home::overflowed(&self.s{state})"))
            .collect();
        out.line(all.join(" || "))
    })?;
    out.text.push('\n');
    Ok(())
}

/// Emits that an address groups all flows, if one does, and a method that passes the packet's
/// address to every table.
fn enter(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let Some(group) = address_group(graph).and_then(|state| number_of(graph, &state.name)) else {
        return Ok(());
    };
    let core = "::cora::__private::core";
    out.line("const GROUPED: bool = true;\n")?;
    out.line("#[inline(always)]")?;
    out.block("fn enter(&mut self, packet: Option<&Packet<'_>>)", |out| {
        out.line(format_args!("use {core}::key::Key;"))?;
        out.line(format_args!("type Group = <S{group} as {core}::state::table::KeyOf>::Key;"))?;
        out.line("let group = packet.and_then(|packet| <Group as Key>::of(packet).ok());")?;
        out.line("let group = group.and_then(|group| group.group_address(false));")?;
        let tables = graph.states.iter().enumerate().filter(|(_, state)| state.keyed.is_some());
        tables.map(|(number, _)| number).try_for_each(|number| {
            out.line(format_args!("Home::enter(&mut self.s{number}, group);"))
        })
    })?;
    out.text.push('\n');
    Ok(())
}
