//! The program: its plan and its chain of handlers.

use std::fmt;

use cora_plan::graph::HandlerNode;
use cora_plan::plan::FlowTableFacts;
use cora_plan::vocabulary::{BucketsBy, Kind, Sides};
use cora_plan::{Graph, Plan};

use super::{Lines, TOLD, hidden, messages, number_of};

pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    out.block("impl App for Program", |out| {
        out.line(format_args!("const NAME: &'static str = {:?};", graph.app))?;
        facts(out, plan)?;
        handlers(out, graph)?;
        reads(out, graph)?;
        buckets(out, graph, plan)?;
        out.text.push('\n');
        chain(out, graph, plan)
    })
}

/// The handlers with their states.
fn handlers(out: &mut Lines, graph: &Graph) -> fmt::Result {
    out.line("const HANDLERS: &'static [(&'static str, &'static [u16])] = &[")?;
    for HandlerNode { name, parameters, .. } in &graph.chain {
        let numbers = parameters.iter().filter_map(|it| number_of(graph, &it.state));
        let numbers: Vec<usize> = numbers.collect();
        out.line(format_args!("    ({name:?}, &{numbers:?}),"))?;
    }
    out.line("];")
}

/// How much of a packet the handlers read.
fn reads(out: &mut Lines, graph: &Graph) -> fmt::Result {
    if graph.takes_messages() {
        out.line("const MESSAGES: bool = true;")?;
        let takers: Vec<&String> = graph.takers().map(|(handler, _)| &handler.name).collect();
        out.line(format_args!("const TAKERS: &'static [&'static str] = &{takers:?};"))?;
        return out.line("const SENDS: bool = true;");
    }
    if graph.states.iter().all(|state| state.keyed.is_none()) {
        let reads =
            |handler: &HandlerNode| format!("<{} as Handler>::READS_PACKET", hidden(&handler.path));
        let any: Vec<String> = graph.chain.iter().map(reads).collect();
        let any = if any.is_empty() { "false".to_owned() } else { any.join(" || ") };
        out.line(format_args!("const READS_PACKETS: bool = {any};"))?;
    }
    if !graph.chain.is_empty() {
        let heads = |handler: &HandlerNode| {
            format!("!<{} as Handler>::READS_PAYLOAD", hidden(&handler.path))
        };
        let keyed = graph.states.iter().enumerate().filter(|(_, state)| state.keyed.is_some());
        let keys = keyed.map(|(number, _)| format!("!<S{number} as {TOLD}>::READS_PAYLOAD"));
        let all: Vec<String> = graph.chain.iter().map(heads).chain(keys).collect();
        out.line(format_args!("const HEADS: bool = {};", all.join(" && ")))?;
        if graph.chain.iter().chain(graph.timed()).any(|handler| handler.sends) {
            out.line("const SENDS: bool = true;")?;
        }
    }
    Ok(())
}

/// What decides buckets, and whether packets need marks.
fn buckets(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let by = plan.placement.buckets_by;
    if by != BucketsBy::Group {
        let buckets_by = "::cora::__private::core::bucket::BucketsBy";
        out.line(format_args!("const BUCKETS_BY: {buckets_by} = {buckets_by}::{by:?};"))?;
    }
    let is_divided = graph.states.iter().any(|state| state.kind == Kind::PerBucket);
    if by.is_port() || is_divided || plan.placement.sides == Sides::Dealt {
        out.line("const MARKED: bool = true;")?;
    }
    Ok(())
}

fn facts(out: &mut Lines, plan: &Plan) -> fmt::Result {
    let sides = match plan.placement.sides {
        Sides::HostOnly => "HostOnly",
        Sides::NicOnly => "NicOnly",
        Sides::Split => "Split",
        Sides::Dealt => "Dealt",
    };
    out.line("const PLAN: PlanFacts = PlanFacts {")?;
    out.line(format_args!("    name: {:?},", plan.name))?;
    out.line(format_args!("    hash: 0x{},", plan.hash))?;
    out.line(format_args!("    sides: Sides::{sides},"))?;
    out.line(format_args!("    host_ordered: {},", plan.placement.host_ordered))?;
    out.line(format_args!("    stateless_flows: {},", plan.placement.stateless_flows))?;
    out.line(format_args!("    nic_share: {},", plan.placement.nic_share))?;
    out.line(format_args!("    nic_buckets: {},", plan.placement.nic_buckets))?;
    flow_table(out, plan)?;
    out.line(format_args!("    offer_after: {},", plan.placement.offer_after))?;
    let one_shard: Vec<_> = plan.placement.one_shard.iter().collect();
    out.line(format_args!("    one_shard: &{one_shard:?},"))?;
    out.line("};")
}

fn flow_table(out: &mut Lines, plan: &Plan) -> fmt::Result {
    let Some(FlowTableFacts { entries, operations_per_s, delay_ns }) = plan.flow_table else {
        return out.line("    flow_table: FlowTableFacts::NONE,");
    };
    out.line("    flow_table: FlowTableFacts {")?;
    out.line(format_args!("        entries: {entries},"))?;
    out.line(format_args!("        operations_per_s: {operations_per_s},"))?;
    out.line(format_args!("        delay_ns: {delay_ns},"))?;
    out.line("    },")
}

fn chain(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let head =
        "fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict";
    let forward: Vec<usize> = (0..graph.chain.len()).collect();
    let backward: Vec<usize> = forward.iter().rev().copied().collect();
    if graph.takes_messages() {
        messages::taker(out)?;
        messages::anywhere(out, graph, plan)?;
        out.line("#[inline(always)]")?;
        out.block(head, |out| messages::chain(out, graph))?;
        out.text.push('\n');
        return Ok(());
    }
    out.line("#[inline(always)]")?;
    out.block(head, |out| {
        // With one handler both directions are the same.
        if forward.len() < 2 {
            return in_order(out, &forward);
        }
        out.line("if packet.from_inside() {")?;
        out.depth += 1;
        in_order(out, &forward)?;
        out.depth -= 1;
        out.line("} else {")?;
        out.depth += 1;
        in_order(out, &backward)?;
        out.depth -= 1;
        out.line("}")
    })?;
    out.text.push('\n');
    Ok(())
}

/// Runs handlers in order while they transmit; the last verdict is the chain's.
pub(super) fn in_order(out: &mut Lines, handlers: &[usize]) -> fmt::Result {
    let Some((last, before)) = handlers.split_last() else {
        return out.line("Ok(Forward::Transmit)");
    };
    for handler in before {
        out.line(format_args!("let verdict = self.h{handler}::<R>(packet, out);"))?;
        out.block("if verdict != Ok(Forward::Transmit)", |out| out.line("return verdict;"))?;
    }
    out.line(format_args!("self.h{last}::<R>(packet, out)"))
}
