//! The prefetch stages before a packet's turn, state by state.

use std::fmt;

use cora_plan::ahead::further;
use cora_plan::{Graph, Place, Plan};

use super::{Lines, messages};

/// Emits the look-ups of first tables, of further tables, and of the owner of travelling entries.
pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    if graph.takes_messages() {
        return messages::prefetch(out, graph);
    }
    if graph.states.is_empty() {
        return out.line("impl Prefetch for Program {}");
    }
    out.block("impl Prefetch for Program", |out| stages(out, graph, plan))
}

fn stages(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let further = further(graph);
    let with = |wanted: bool| numbers(&further, |further| *further == wanted);
    let packet = "number: u8, packet: &Packet<'_>";
    let named = |method: &'static str| {
        move |state| format!("Announced::{method}(&mut self.s{state}, number, packet)")
    };
    let first = with(false);
    let head = format!("fn prefetch_index(&mut self, {packet})");
    method(out, &head, ["", ";\n", ";"], &first, named("prefetch_index"))?;
    let head = format!("fn prefetch_entry(&mut self, {packet}) -> bool");
    method(out, &head, ["", "\n    & ", ""], &first, named("prefetch_entry"))?;
    let later = with(true);
    if !later.is_empty() {
        out.line("const FURTHER: bool = true;\n")?;
        let forget = |state| format!("Home::forget(&mut self.s{state})");
        method(out, "fn drop_further(&mut self)", ["", ";\n", ";"], &later, forget)?;
        for (head, stage) in [
            ("fn prefetch_further_index", "prefetch_index"),
            ("fn prefetch_further_entry", "prefetch_entry"),
        ] {
            let head = format!("{head}(&mut self, {packet})");
            method(out, &head, ["", ";\n", ";"], &later, named(stage))?;
        }
    }
    owners(out, graph, plan)
}

fn owners(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let travels = |name: &String| plan.placement.places.get(name) == Some(&Place::Travels);
    let travel = numbers(&graph.states, |state| travels(&state.name));
    if travel.is_empty() {
        return Ok(());
    }
    let head = "fn prefetch_owner(&self, number: u8)";
    let prefetch = |state| format!("Home::prefetch_owner(&self.s{state}, number)");
    method(out, head, ["", ";\n", ";"], &travel, prefetch)?;
    let head = "fn predicted_owner(&self, number: u8) -> Option<u32>";
    let predicted = |state| format!(".or_else(|| Home::predicted_owner(&self.s{state}, number))");
    method(out, head, ["None\n    ", "\n    ", ""], &travel, predicted)
}

fn numbers<T>(all: &[T], wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    all.iter().enumerate().filter(|(_, one)| wanted(one)).map(|(number, _)| number).collect()
}

/// A method that makes a call for each of these states, with text before, between and after the
/// calls.
fn method(
    out: &mut Lines,
    head: &str,
    [before, between, behind]: [&str; 3],
    states: &[usize],
    call: impl Fn(usize) -> String,
) -> fmt::Result {
    let calls: Vec<String> = states.iter().copied().map(call).collect();
    out.line("#[inline(always)]")?;
    let body = format!("{before}{}{behind}", calls.join(between));
    out.block(head, |out| body.lines().try_for_each(|line| out.line(line)))?;
    out.text.push('\n');
    Ok(())
}
