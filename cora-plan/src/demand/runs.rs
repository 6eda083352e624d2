//! Measured runs of each handler, and the messages that they send.

use super::observed::{Did, Observed};
use crate::graph::{Graph, How};

/// Runs of one handler.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerRuns {
    /// Its name.
    pub handler: String,
    /// Runs, of packets and of messages.
    pub runs: u64,
    /// Runs of messages that handlers sent.
    pub inside: u64,
    /// Messages that it sent, by type and way.
    pub sent: Vec<(String, How, u64)>,
}

/// Runs of each handler in a traced run, in the order of the chain.
pub fn handler_runs(graph: &Graph, observed: &Observed) -> Vec<HandlerRuns> {
    let blank = |handler: &crate::graph::HandlerNode| {
        let kinds = handler.sendings();
        let kinds = kinds.iter().filter_map(|it| Some((it.message.to_owned(), it.how?, 0)));
        let sent = kinds.filter(|(_, how, _)| *how != How::Unseen).collect();
        HandlerRuns { handler: handler.name.clone(), runs: 0, inside: 0, sent }
    };
    let mut all: Vec<HandlerRuns> = graph.chain.iter().map(blank).collect();
    for (way, packets) in observed.ways.iter().zip(observed.per_way()) {
        for step in way {
            let Some(of) = all.get_mut(step.handler) else { continue };
            of.runs += packets;
            of.inside += if step.inside { packets } else { 0 };
            for did in &step.did {
                let Did::Sent { message, how, count } = did else { continue };
                let sum = packets * u64::from(*count);
                match of.sent.iter_mut().find(|(other, way, _)| other == message && way == how) {
                    Some((.., all)) => *all += sum,
                    None => of.sent.push((message.clone(), *how, sum)),
                }
            }
        }
    }
    all
}
