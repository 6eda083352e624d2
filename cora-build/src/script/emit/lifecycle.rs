//! How states begin, get their versions, and how their entries end.

use std::fmt;

use cora_plan::graph::{HookNode, StateNode};
use cora_plan::vocabulary::{Kind, Place, Sides};
use cora_plan::{Graph, Plan};

use super::{AT_THE_HOST, BUCKETS, Lines, SCHEDULE, number_of};

pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let sides = plan.placement.sides;
    let recorded = recorded(graph);
    out.block("impl Lifecycle for Program", |out| {
        sizes(out, graph, plan)?;
        if !recorded.is_empty() {
            out.line(format_args!("const RECORDED: &'static [usize] = &{recorded:?};"))?;
        }
        let hooked: Vec<usize> = hooks(graph).map(|(number, _)| number).collect();
        if !hooked.is_empty() {
            out.line(format_args!("const HOOKED: &'static [usize] = &{hooked:?};"))?;
        }
        if !graph.timers.is_empty() {
            let periods: Vec<u64> = graph.timers.iter().map(|timer| timer.period_ns).collect();
            out.line(format_args!("const PERIODS: &'static [u64] = &{periods:?};"))?;
        }
        if graph.sends_itself() {
            out.line("const DELAYS: bool = true;")?;
        }
        if graph.states.iter().any(|state| state.merged) {
            out.line("const MERGED: bool = true;")?;
        }
        if graph.states.iter().any(|state| state.kind == Kind::ReadMostly) {
            out.line("const READ_MOSTLY: bool = true;")?;
        }
        out.text.push('\n');
        new(out, graph)?;
        records(out, &recorded)?;
        run_due(out, graph)?;
        each_apart(out, graph, sides == Sides::Dealt)?;
        each_merged(out, graph)?;
        configure(out, graph)
    })
}

fn sizes(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    // Each state is aligned to a cache line, which costs up to 64 bytes of padding.
    out.line("const MEMORY: usize = 64")?;
    for number in 0..graph.states.len() {
        out.line(format_args!("    + 64 + <S{number} as Stored>::BYTES"))?;
    }
    out.line("    + 0;")?;
    let place = |state: &StateNode| plan.placement.places.get(&state.name);
    if graph.states.iter().any(|state| place(state) == Some(&Place::Fetched)) {
        let regions = graph.states.iter().enumerate().filter(|(_, state)| state.region.is_some());
        let items: Vec<String> =
            regions.map(|(number, _)| format!("<S{number} as Stored>::ITEMS")).collect();
        out.line(format_args!("const ITEMS: usize = {};", items.join(" + ")))?;
    }
    let single: Vec<usize> =
        (0..graph.states.len()).filter(|at| graph.states[*at].keyed.is_none()).collect();
    if !single.is_empty() {
        let values: Vec<String> =
            single.iter().map(|number| format!("<S{number} as Stored>::VALUE")).collect();
        let largest = "::cora::__private::core::state::largest";
        out.line(format_args!("const VALUE: usize = {largest}(&[{}]);", values.join(", ")))?;
    }
    Ok(())
}

fn new(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let memory = if graph.states.is_empty() { "_memory" } else { "memory" };
    out.block(format_args!("fn new({memory}: &mut Memory) -> Result<Self, OutOfMemory>"), |out| {
        if graph.states.is_empty() && graph.timers.is_empty() {
            return out.line("Ok(Self {})");
        }
        out.line("Ok(Self {")?;
        for number in 0..graph.states.len() {
            out.line(format_args!("    s{number}: <S{number} as Stored>::create(memory)?,"))?;
        }
        for number in 0..graph.timers.len() {
            out.line(format_args!("    t{number}: {SCHEDULE}::BEFORE,"))?;
        }
        if !graph.timers.is_empty() {
            out.line(format_args!("    own: {BUCKETS}::ALL,"))?;
        }
        out.line("})")
    })?;
    out.text.push('\n');
    Ok(())
}

/// The indices of states with entries that become records.
fn recorded(graph: &Graph) -> Vec<usize> {
    let is_recorded = |state: &StateNode| state.keyed.as_ref().is_some_and(|keyed| keyed.recorded);
    let all = graph.states.iter().enumerate();
    all.filter(|(_, state)| is_recorded(state)).map(|(number, _)| number).collect()
}

/// Emits the ended entries of these states, and the contents of their records.
fn records(out: &mut Lines, recorded: &[usize]) -> fmt::Result {
    if recorded.is_empty() {
        return Ok(());
    }
    let core = "::cora::__private::core";
    let head =
        format!("fn ended(&mut self, tell: &mut dyn FnMut(u16, {core}::state::table::Ending<'_>))");
    out.block(head, |out| {
        recorded.iter().try_for_each(|number| {
            out.line(format_args!(
                "{core}::record::Recorded::tell_ended(&mut self.s{number}, &mut |ending| tell({number}, ending));"
            ))
        })
    })?;
    out.text.push('\n');
    let head = format!(
        "fn record(state: usize, piece: &[u8], when: {core}::record::When, fields: &mut dyn {core}::record::Fields) \
         -> Result<u64, {core}::state::Malformed>"
    );
    out.block(head, |out| {
        out.block("match state", |out| {
            for number in recorded {
                out.line(format_args!(
                    "{number} => <S{number} as {core}::record::Recorded>::tell_record(piece, when, fields),"
                ))?;
            }
            out.line(format_args!("_ => Err({core}::state::Malformed),"))
        })
    })?;
    out.text.push('\n');
    Ok(())
}

/// The hooks, each with the number of its state.
pub(super) fn hooks(graph: &Graph) -> impl Iterator<Item = (usize, &HookNode)> {
    graph.hooks.iter().filter_map(|hook| Some((number_of(graph, &hook.state)?, hook)))
}

/// Emits the order in which hooks and timers run.
fn run_due(out: &mut Lines, graph: &Graph) -> fmt::Result {
    if graph.timed().next().is_none() {
        return Ok(());
    }
    let app = "::cora::__private::core::app";
    let states = graph.states.len();
    // Hooks have the numbers of their states, and timers those behind.
    let hook_time = "::cora::__private::core::state::table::hooked::hook_time";
    let hooked =
        hooks(graph).map(|(state, _)| format!("({state}, {hook_time}(self.s{state}.next_end()))"));
    let timed =
        (0..graph.timers.len()).map(|timer| format!("({}, self.t{timer}.next())", states + timer));
    let times: Vec<String> = hooked.chain(timed).collect();
    let times = times.join(", ");
    is_due(out, graph)?;
    if !graph.timers.is_empty() {
        out.line("#[inline]")?;
        let head = format!("fn own_buckets(&mut self, buckets: {BUCKETS})");
        out.block(head, |out| out.line("self.own = buckets;"))?;
        out.text.push('\n');
    }
    out.line("#[inline]")?;
    let head =
        "fn run_due(&mut self, now: u64, out: &mut Outbox, sent: &mut dyn FnMut(&mut Outbox))";
    out.block(head, |out| {
        for (timer, node) in graph.timers.iter().enumerate() {
            out.line(format_args!("self.t{timer}.pass({}, now);", node.period_ns))?;
        }
        out.block(format_args!("while let Some(due) = {app}::next_due(now, [{times}])"), |out| {
            out.block("match due", |out| {
                for (state, _) in hooks(graph) {
                    out.line(format_args!("{state} => self.k{state}(out),"))?;
                }
                for timer in 0..graph.timers.len() {
                    out.line(format_args!("{} => self.u{timer}(out, sent),", states + timer))?;
                }
                out.line("_ => return,")
            })?;
            out.line("sent(out);")
        })
    })?;
    out.text.push('\n');
    Ok(())
}

/// Emits the visit of the tables with hooks, if the plan deals buckets.
fn each_apart(out: &mut Lines, graph: &Graph, dealt: bool) -> fmt::Result {
    if !dealt || hooks(graph).next().is_none() {
        return Ok(());
    }
    let table = "::cora::__private::core::state::table";
    let head = format!(
        "fn each_apart(&mut self, visit: &mut dyn FnMut(u16, &mut dyn {table}::MovingEnds))"
    );
    out.line("#[inline]")?;
    out.block(head, |out| {
        hooks(graph).try_for_each(|(state, _)| {
            out.line(format_args!("visit({state}, self.s{state}.moving_ends());"))
        })
    })?;
    out.text.push('\n');
    Ok(())
}

/// Emits the visit of the states that handlers read as of a merge.
fn each_merged(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let all = graph.states.iter().enumerate();
    let merged: Vec<usize> =
        all.filter(|(_, state)| state.merged).map(|(number, _)| number).collect();
    if merged.is_empty() {
        return Ok(());
    }
    let commutative = "::cora::__private::core::state::commutative";
    let head = format!(
        "fn each_merged(&mut self, visit: &mut dyn FnMut(u16, &mut dyn {commutative}::Merging))"
    );
    let sizes: Vec<String> = merged.iter().map(|number| format!("S{number}::SIZE")).collect();
    out.block(head, |out| {
        out.line(format_args!("const {{ {commutative}::merged_fit(&[{}]) }};", sizes.join(", ")))?;
        merged
            .iter()
            .try_for_each(|number| out.line(format_args!("visit({number}, &mut self.s{number});")))
    })?;
    out.text.push('\n');
    Ok(())
}

/// Emits the question that is asked before each packet.
fn is_due(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let hooked = hooks(graph).map(|(state, _)| format!("now >= self.s{state}.next_hook()"));
    let timed = (0..graph.timers.len()).map(|timer| format!("now >= self.t{timer}.next()"));
    let due: Vec<String> = hooked.chain(timed).collect();
    out.line("#[inline(always)]")?;
    out.block("fn is_due(&self, now: u64) -> bool", |out| out.line(due.join(" || ")))?;
    out.text.push('\n');
    Ok(())
}

/// Emits the construction of versions of read-mostly states.
fn configure(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let written: Vec<(usize, &str)> = graph
        .states
        .iter()
        .enumerate()
        .filter(|(_, state)| state.kind == Kind::ReadMostly)
        .map(|(number, state)| (number, state.name.as_str()))
        .collect();
    if written.is_empty() {
        return Ok(());
    }
    out.line(AT_THE_HOST)?;
    out.block(
        "fn configure(&mut self, name: &str, file: &mut dyn ::cora::__private::core::config::File) -> bool",
        |out| {
            out.block("match name", |out| {
                for (number, name) in &written {
                    out.line(format_args!("{name:?} => self.s{number}.configure(file),"))?;
                }
                out.line("_ => return false,")
            })?;
            out.line("true")
        },
    )
}
