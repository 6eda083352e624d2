//! The address that groups all flows of a program, if there is one.

use std::fmt;

use cora_plan::Graph;
use cora_plan::placement::address_group;

use super::{Lines, number_of};

/// Emits that there is one, and a method that passes the packet's address to every table.
pub(super) fn emit(out: &mut Lines, graph: &Graph) -> fmt::Result {
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
