//! Messages: what a packet is, whose flow it is of, and the handler that takes it.

use std::fmt;

use cora_plan::graph::{HandlerNode, StateNode};
use cora_plan::vocabulary::Sides;
use cora_plan::{Graph, Place, Plan};

use super::{KEY_OF, Lines, TAKES, app, hidden};

/// The module of messages.
const MESSAGE: &str = "::cora::__private::core::message";

/// An alias for each message that a handler takes, in the order of the chain: `M0` for the first.
pub(super) fn types(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let takers: Vec<&HandlerNode> = graph.takers().map(|(handler, _)| handler).collect();
    for (number, handler) in takers.iter().enumerate() {
        let name = handler.takes.as_deref().unwrap_or_default();
        out.line(format_args!("/// `{name}`."))?;
        let hidden = hidden(&handler.path);
        out.line(format_args!("type M{number} = <{hidden} as {TAKES}>::Message;"))?;
    }
    for second in 1..takers.len() {
        for first in 0..second {
            let id = |number: usize| format!("<M{number} as {MESSAGE}::Message>::ID");
            let why = "two messages have names that can't be told apart: rename one";
            out.line(format_args!(
                "const _: () = assert!({} != {}, {why:?});",
                id(first),
                id(second)
            ))?;
        }
    }
    if !takers.is_empty() {
        out.text.push('\n');
    }
    Ok(())
}

/// The functions that say which message a packet is, and whose flow it is of.
pub(super) fn emit(out: &mut Lines, graph: &Graph, _: &Plan) -> fmt::Result {
    if !graph.takes_messages() {
        return Ok(());
    }
    out.block("impl Program", |out| number(out, graph))?;
    out.text.push('\n');
    out.block(format_args!("impl {MESSAGE}::Flows for Program"), |out| flow(out, graph))?;
    out.text.push('\n');
    Ok(())
}

fn number(out: &mut Lines, graph: &Graph) -> fmt::Result {
    out.line("/// The number of the message that a packet is or carries.")?;
    out.line("#[inline(always)]")?;
    out.block("fn message(packet: &Packet<'_>) -> Option<u8>", |out| {
        for (number, _) in graph.takers().enumerate() {
            out.line(format_args!(
                "const ID{number}: u32 = <M{number} as {MESSAGE}::Message>::ID;"
            ))?;
        }
        let sent = format!("if packet.port() == {MESSAGE}::SENT");
        out.block(sent, |out| {
            out.block(format_args!("return match {MESSAGE}::sent_id(packet)?"), |out| {
                for (number, _) in graph.takers().enumerate() {
                    out.line(format_args!("ID{number} => Some({number}),"))?;
                }
                out.line("_ => None,")
            })?;
            out.line(";")
        })?;
        let wired = graph.takers().enumerate();
        let wired: Vec<(usize, Option<u16>)> =
            wired.filter_map(|(number, (_, message))| Some((number, message.wire?.port))).collect();
        if wired.is_empty() {
            return out.line("None");
        }
        out.block(format_args!("match {MESSAGE}::datagram_port(packet)?"), |out| {
            for (number, port) in &wired {
                match port {
                    Some(port) => out.line(format_args!("{port} => Some({number}),"))?,
                    None => return out.line(format_args!("_ => Some({number}),")),
                }
            }
            out.line("_ => None,")
        })
    })
}

fn flow(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let keys = graph.flow_keys();
    out.line("#[inline]")?;
    out.block("fn flow(packet: &Packet<'_>) -> Option<(u8, [u64; 5])>", |out| {
        out.line("use ::cora::__private::core::key::Key;")?;
        out.block("match Self::message(packet)?", |out| {
            for (number, (_, message)) in graph.takers().enumerate() {
                let Some(key) = &message.key else { continue };
                let kind = keys.iter().position(|it| it == key).unwrap_or_default();
                out.line(format_args!(
                    "{number} => Some(({kind}, {MESSAGE}::key_of::<M{number}>(packet)?.words())),"
                ))?;
            }
            out.line("_ => None,")
        })
    })
}

/// The keyed states that a handler takes.
fn tables<'a>(
    graph: &'a Graph,
    handler: &'a HandlerNode,
) -> impl Iterator<Item = (usize, &'a StateNode)> {
    let takes = |state: &StateNode| handler.parameters.iter().any(|it| it.state == state.name);
    let all = graph.states.iter().enumerate();
    all.filter(move |(_, state)| state.keyed.is_some() && takes(state))
}

/// Receives the message that a packet is or carries, and shows its handler the entries of the
/// message's flow alone.
pub(super) fn receive(
    out: &mut Lines,
    graph: &Graph,
    handler: &HandlerNode,
    number: usize,
) -> fmt::Result {
    out.line(format_args!("let received = {MESSAGE}::receive::<M{number}>(packet);"))?;
    out.block("let Ok(message) = &received else", |out| {
        out.line(format_args!(
            "return trace::leave::<R>(<M{number} as {MESSAGE}::Message>::UNREAD);"
        ))
    })?;
    out.line(";")?;
    if tables(graph, handler).next().is_none() {
        return Ok(());
    }
    out.line(format_args!("let key = {MESSAGE}::key(message);"))?;
    tables(graph, handler).try_for_each(|(state, node)| enter(out, state, node))
}

fn enter(out: &mut Lines, number: usize, state: &StateNode) -> fmt::Result {
    let words = "key.map(|key| ::cora::__private::core::key::Key::words(&key))";
    if state.objects.is_some() {
        return out.line(format_args!("Home::enter_named(&mut self.s{number}, {words});"));
    }
    // The compiler checks that the types are one, which have one name.
    out.line(format_args!("let key: Option<<S{number} as {KEY_OF}>::Group> = key;"))?;
    if is_within(state) {
        out.line(format_args!("self.s{number}.enter_scope(key);"))
    } else {
        out.line(format_args!("Home::enter_named(&mut self.s{number}, {words});"))
    }
}

/// Whether its keys stand within the key of a group.
fn is_within(state: &StateNode) -> bool {
    state.keyed.as_ref().is_some_and(|keyed| keyed.within.is_some())
}

/// The prefetch stages of datagrams. A message that is sent is handled alone.
pub(super) fn prefetch(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let wired = graph.takers().enumerate().filter(|(_, (_, message))| message.wire.is_some());
    let looked_up = wired.map(|(number, (handler, message))| {
        let own = tables(graph, handler).filter(|(_, state)| {
            let key = state.keyed.as_ref().map(|keyed| &keyed.key);
            state.objects.is_none() && !is_within(state) && key == message.key.as_ref()
        });
        (number, own.map(|(state, _)| state).collect())
    });
    let looked_up: Vec<(usize, Vec<usize>)> =
        looked_up.filter(|(_, states): &(_, Vec<usize>)| !states.is_empty()).collect();
    if looked_up.is_empty() {
        return out.line("impl Prefetch for Program {}");
    }
    let packet = "number: u8, packet: &Packet<'_>";
    out.block("impl Prefetch for Program", |out| {
        let head = format!("fn prefetch_index(&mut self, {packet})");
        stage(out, &head, "{}", &looked_up, |out, number, states| {
            out.line(format_args!("let key = {MESSAGE}::key_of::<M{number}>(packet);"))?;
            states.iter().try_for_each(|state| {
                out.line(format_args!("self.s{state}.prefetch_keyed(number, key.as_ref());"))
            })
        })?;
        out.text.push('\n');
        let head = format!("fn prefetch_entry(&mut self, {packet}) -> bool");
        stage(out, &head, "true", &looked_up, |out, number, states| {
            out.line(format_args!("let key = || {MESSAGE}::key_of::<M{number}>(packet);"))?;
            let all = states
                .iter()
                .map(|state| format!("self.s{state}.prefetch_keyed_entry(number, key)"));
            out.line(all.collect::<Vec<_>>().join(" & "))
        })
    })
}

/// A stage of prefetching, with a body for each message and the tables that its handler looks up by
/// its key.
fn stage(
    out: &mut Lines,
    head: &str,
    otherwise: &str,
    looked_up: &[(usize, Vec<usize>)],
    body: impl Fn(&mut Lines, usize, &[usize]) -> fmt::Result,
) -> fmt::Result {
    out.line("#[inline(always)]")?;
    out.block(head, |out| {
        out.block("match Self::message(packet)", |out| {
            for (number, states) in looked_up {
                out.block(format_args!("Some({number}) =>"), |out| body(out, *number, states))?;
            }
            out.line(format_args!("_ => {otherwise},"))
        })
    })
}

/// The function that says which handler takes a packet as a message.
pub(super) fn taker(out: &mut Lines) -> fmt::Result {
    out.line("#[inline(always)]")?;
    out.block("fn taker(packet: &Packet<'_>) -> Option<u8>", |out| {
        out.line("Self::message(packet)")
    })?;
    out.text.push('\n');
    Ok(())
}

/// The function that says whether a packet is handled where it comes: its handler reaches no entry
/// of a flow, and the order of its messages is free. Those of a flow are handled in order, so where
/// the flow is: of two at different sides, the second could be first.
pub(super) fn anywhere(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let travels = |name: &String| plan.placement.places.get(name) == Some(&Place::Travels);
    let free: Vec<String> = graph
        .takers()
        .enumerate()
        .filter(|(_, (handler, message))| {
            let at_host = plan.placement.host_handlers.contains(&handler.name);
            let moves = plan.placement.sides == Sides::Split;
            let in_any_order = graph.takes_in_any_order(handler, message);
            moves
                && !at_host
                && in_any_order
                && !handler.parameters.iter().any(|it| travels(&it.state))
        })
        .map(|(number, _)| format!("Some({number})"))
        .collect();
    if free.is_empty() {
        return Ok(());
    }
    out.line("#[inline(always)]")?;
    out.block("fn is_anywhere(packet: &Packet<'_>) -> bool", |out| {
        out.line(format_args!("matches!(Self::message(packet), {})", free.join(" | ")))
    })?;
    out.text.push('\n');
    Ok(())
}

/// The handler that takes the message. Other packets meet the handlers of packets; without any they
/// pass.
pub(super) fn chain(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let of_packets: Vec<usize> = graph
        .chain
        .iter()
        .enumerate()
        .filter(|(_, handler)| handler.takes.is_none())
        .map(|(at, _)| at)
        .collect();
    let at = |wanted: &HandlerNode| graph.chain.iter().position(|it| it.name == wanted.name);
    out.block("match Self::message(packet)", |out| {
        for (number, (handler, _)) in graph.takers().enumerate() {
            let at = at(handler).unwrap_or_default();
            out.line(format_args!("Some({number}) => self.h{at}::<R>(packet, out),"))?;
        }
        if of_packets.is_empty() {
            return out.line("_ => Ok(Forward::Pass),");
        }
        let backward: Vec<usize> = of_packets.iter().rev().copied().collect();
        out.block("_ if packet.from_inside() =>", |out| app::in_order(out, &of_packets))?;
        out.block("_ =>", |out| app::in_order(out, &backward))
    })
}
