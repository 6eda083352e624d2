//! What a report says of messages: whose flows they are, from whom these hear, what handlers send,
//! and whether the program is settled.

use super::Report;
use crate::graph::{Graph, How, Under};
use crate::vocabulary::{Kind, Place};
use crate::what_if::subject::Subject;

/// Sentences about the messages of a handler, or of all handlers that take a state.
pub fn of(report: &Report<'_>, subject: &Subject) -> Vec<String> {
    let graph = report.graph;
    if !graph.takes_messages() {
        return Vec::new();
    }
    match subject {
        Subject::Handler(name) => handler(graph, name).into_iter().chain(settled(report)).collect(),
        Subject::State(_) | Subject::Class(..) => settled(report),
    }
}

/// What a handler takes and sends.
fn handler(graph: &Graph, name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(hearing) = graph.hearings().into_iter().find(|it| it.taker.name == name) {
        let flow = match hearing.message.key.as_deref() {
            None => "each is a flow of its own".to_owned(),
            Some("One") => "all of them are one flow".to_owned(),
            Some(key) => format!("those with the same key, a `{key}`, are a flow"),
        };
        out.push(format!("It takes `{}`: {flow}.", hearing.message.name));
        if hearing.message.key.is_some() {
            out.push(format!("In that, {}.", hearing.why()));
        }
    }
    let Some(node) = graph.handler(name) else { return out };
    for sending in node.sendings() {
        let (message, times) = (sending.message, sending.times);
        let taker = graph.taker(message);
        let to = taker.map_or_else(String::new, |(_, node)| format!(" to `{}`", node.name));
        out.push(match sending.how {
            Some(How::Send) => format!("A run sends {times} `{message}`{to}."),
            Some(How::After) => format!("A run sends {times} `{message}`{to} for later."),
            Some(How::Reply) => format!("A run replies {times} `{message}` to whoever asks."),
            Some(How::SendTo) => format!("A run sends {times} `{message}` in a datagram."),
            Some(How::Unseen) => {
                format!("It hands the outbox for `{message}` on, and its sends can't be seen.")
            }
            None => format!("It never sends `{message}`."),
        });
    }
    out
}

/// Whether the program is settled under this plan, and why it is not.
pub fn settled(report: &Report<'_>) -> Vec<String> {
    let (graph, allocation) = (report.graph, &report.planned.allocation);
    let shows = |(name, place): (&String, &Place)| {
        let kind = graph.state(name).map(|state| state.kind);
        *place == Place::Host && kind != Some(Kind::ReadMostly)
    };
    let under = Under {
        sides: allocation.sides,
        places: &allocation.places,
        host_handlers: &allocation.host_handlers,
        host_ordered: allocation.places.iter().any(shows),
    };
    let Some(settled) = graph.settled(Some(&under)) else { return Vec::new() };
    let first = format!("The program is {}.", settled.verdict());
    let reasons = settled.reasons();
    if reasons.is_empty() { vec![first] } else { vec![first, format!("{}.", reasons.join("; "))] }
}
