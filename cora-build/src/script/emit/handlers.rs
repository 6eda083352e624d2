//! The handlers as methods of the program.

use std::fmt;

use cora_plan::graph::HandlerNode;
use cora_plan::vocabulary::Kind;
use cora_plan::{Graph, Plan};

use super::{Lines, TAKES, hidden, lifecycle, messages, number_of, transfer};

/// The states that a function takes after its first parameter, borrowed.
fn states(out: &mut Lines, graph: &Graph, node: &HandlerNode) -> fmt::Result {
    out.line("let states = (")?;
    for parameter in &node.parameters {
        let number = number_of(graph, &parameter.state).unwrap_or_default();
        let shared = if parameter.mutable { "" } else { "&*" };
        out.line(format_args!("    {shared}<S{number} as Stored>::borrow(&mut self.s{number}),"))?;
    }
    out.line(");")
}

/// One method per hook, which runs it for the entry that is next: `k2` for that of state 2. And one
/// per timer: `u0` for the first.
pub(super) fn timed(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    for (state, hook) in lifecycle::hooks(graph) {
        let enter = divided(graph, &hook.node).map(|number| {
            format!("Home::enter_marked(&mut self.s{number}, self.s{state}.ended_mark());")
        });
        let take = format!("let Some(about) = self.s{state}.take_ended() else {{ return }};");
        let about: Vec<String> = enter.chain([take]).collect();
        head(out, &hook.node, &format!("k{state}(&mut self, out: &mut Outbox)"), |out| {
            about.iter().try_for_each(|line| out.line(line))?;
            run(out, "Hook", (graph, plan), &hook.node)
        })?;
    }
    for (number, timer) in graph.timers.iter().enumerate() {
        let of =
            format!("u{number}(&mut self, out: &mut Outbox, sent: &mut dyn FnMut(&mut Outbox))");
        head(out, &timer.node, &of, |out| {
            out.line(format_args!("let about = self.t{number}.take({});", timer.period_ns))?;
            timer_runs(out, (graph, plan), &timer.node)
        })?;
    }
    Ok(())
}

/// A timer runs for each bucket of this shard if it takes values per bucket, or else once, at the
/// shard that has the first bucket.
fn timer_runs(out: &mut Lines, (graph, plan): (&Graph, &Plan), node: &HandlerNode) -> fmt::Result {
    let bucket = "::cora::__private::core::bucket";
    let numbers: Vec<usize> = divided(graph, node).collect();
    if numbers.is_empty() {
        let is_first = format!("self.own.has({bucket}::Bucket::new(0))");
        out.line("let _ = sent;")?;
        return out.block(format!("if {is_first}"), |out| run(out, "Timer", (graph, plan), node));
    }
    out.line("let own = self.own;")?;
    out.block("for bucket in own.iter()", |out| {
        out.line(format_args!(
            "let mark = {bucket}::Mark {{ bucket, ..{bucket}::Mark::UNMARKED }};"
        ))?;
        for number in &numbers {
            out.line(format_args!("Home::enter_marked(&mut self.s{number}, mark);"))?;
        }
        run(out, "Timer", (graph, plan), node)?;
        out.line("sent(out);")
    })
}

/// The numbers of the states with a value per bucket that a function takes.
fn divided<'a>(graph: &'a Graph, node: &'a HandlerNode) -> impl Iterator<Item = usize> + 'a {
    of_kind(graph, node, Kind::PerBucket)
}

/// The numbers of the states of this kind that a function takes.
fn of_kind<'a>(
    graph: &'a Graph,
    node: &'a HandlerNode,
    kind: Kind,
) -> impl Iterator<Item = usize> + 'a {
    let numbers = node.parameters.iter().filter_map(|it| number_of(graph, &it.state));
    numbers.filter(move |number| graph.states.get(*number).is_some_and(|state| state.kind == kind))
}

/// The method of a hook or a timer.
fn head(
    out: &mut Lines,
    node: &HandlerNode,
    head: &str,
    body: impl FnOnce(&mut Lines) -> fmt::Result,
) -> fmt::Result {
    out.text.push('\n');
    out.line(format_args!("/// `{}`.", node.name))?;
    out.line("#[inline(never)]")?;
    out.block(format_args!("fn {head}"), body)
}

/// Runs a hook or a timer once.
fn run(
    out: &mut Lines,
    mark: &str,
    (graph, plan): (&Graph, &Plan),
    node: &HandlerNode,
) -> fmt::Result {
    for number in of_kind(graph, node, Kind::Commutative) {
        let state = "::cora::__private::core::state";
        // Each run has the updates of a packet, however many run at once.
        out.line(format_args!(
            "{state}::Home::begin(&mut self.s{number}, {state}::Visit::OF_A_HOOK);"
        ))?;
    }
    if node.parameters.is_empty() {
        out.line("let states = ();")?;
    } else {
        states(out, graph, node)?;
    }
    out.line(format_args!("<{} as {mark}>::run(&about, states, out);", hidden(&node.path)))?;
    for (_, number) in transfer::kept(graph, plan, node) {
        out.line(format_args!("self.s{number}.touch();"))?;
    }
    Ok(())
}

/// One method per handler of the chain: `h0` for the first.
pub(super) fn emit(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    for (at, handler) in graph.chain.iter().enumerate() {
        if at > 0 {
            out.text.push('\n');
        }
        out.line(format_args!("/// `{}`.", handler.name))?;
        out.line("#[inline(always)]")?;
        let head = format!(
            "fn h{at}<R: Reach>(&mut self, packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict"
        );
        out.block(head, |out| {
            if plan.placement.host_handlers.contains(&handler.name) {
                // The host reaches every state, but a split's NIC side does not, so this handler
                // has no code there.
                let at_nic = "if const { R::PLACES.is_some() }";
                let punt = "return Err(::cora::__private::core::verdict::Stop::punt());";
                out.block(at_nic, |out| out.line(punt))?;
            }
            let kept = transfer::kept(graph, plan, handler);
            // Empty except in a tracing build.
            out.line(format_args!("trace::enter::<R>({at});"))?;
            let taken = graph.takers().position(|(taker, _)| taker.name == handler.name);
            let hidden = hidden(&handler.path);
            let run = if let Some(number) = taken {
                messages::receive(out, graph, handler, number)?;
                format!("<{hidden} as {TAKES}>::take::<R>(message, packet")
            } else {
                format!("<{hidden} as Handler>::run::<R>(packet")
            };
            if handler.parameters.is_empty() {
                return out
                    .line(format_args!("trace::leave::<R>({run}, (), &Touched::new(), out))"));
            }
            states(out, graph, handler)?;
            if kept.is_empty() {
                return out
                    .line(format_args!("trace::leave::<R>({run}, states, &Touched::new(), out))"));
            }
            out.line("let touched = Touched::new();")?;
            out.line(format_args!(
                "let verdict = trace::leave::<R>({run}, states, &touched, out));"
            ))?;
            for (position, number) in kept {
                let named = format!("if touched.has({position})");
                out.block(named, |out| out.line(format_args!("self.s{number}.touch();")))?;
            }
            out.line("verdict")
        })?;
    }
    Ok(())
}
