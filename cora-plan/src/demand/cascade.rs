//! Demand of a program with messages from the source alone: runs of handlers per datagram.
//!
//! 1. Datagrams share evenly the handlers that messages from the wire and packets begin with.
//! 2. A handler's paths are as frequent as those of packets (`estimate`).
//! 3. A path brings about the runs of the messages that it sends, and a loop sends [`LOOP`].
//! 4. What these bring about counts for [`HOPS`] hops.

use super::estimate::{executed_inside, paths_of};
use super::{Demand, Origin, Route};
use crate::graph::Graph;
use crate::traffic::Class;

/// Messages that a loop sends: a guess, since no source shows it.
const LOOP: f64 = 8.0;
/// Messages in a row of which each was sent because of the one before. Later ones are few, or the
/// program never ends.
const HOPS: usize = 8;

/// The estimated demand of a program with messages for these classes.
pub(super) fn estimate(graph: &Graph, classes: &[Class]) -> Demand {
    let mut routes = Vec::new();
    for inside in [false, true] {
        for (handler, node) in graph.chain.iter().enumerate() {
            for path in 0..node.paths.len() {
                let steps = vec![(handler, path)];
                let executed = executed_inside(graph, &steps, inside);
                routes.push(Route { steps, inside, nic: executed, host: executed });
            }
        }
    }
    let weights = classes.iter().map(|class| weights(graph, &routes, class)).collect();
    Demand { routes, weights, weighed: Origin::Estimated, counted: Origin::Estimated }
}

/// Runs of each route per datagram of a class.
fn weights(graph: &Graph, routes: &[Route], class: &Class) -> Vec<f64> {
    let paths: Vec<Vec<f64>> =
        (0..graph.chain.len()).map(|handler| paths_of(graph, handler, class)).collect();
    let begins: Vec<f64> = begins(graph);
    let mut inside = vec![0.0; graph.chain.len()];
    let mut runs = begins.clone();
    for _ in 0..HOPS {
        runs = caused(graph, &paths, &runs);
        inside.iter_mut().zip(&runs).for_each(|(sum, runs)| *sum += runs);
    }
    let of = |route: &Route| {
        let (handler, path) = route.steps[0];
        let runs = if route.inside { inside[handler] } else { begins[handler] };
        runs * paths[handler].get(path).copied().unwrap_or(0.0)
    };
    routes.iter().map(of).collect()
}

/// Per handler, the share of datagrams that begin there.
fn begins(graph: &Graph) -> Vec<f64> {
    let begins = |handler: &crate::graph::HandlerNode| match &handler.takes {
        Some(name) => graph.message(name).is_some_and(|message| message.wire.is_some()),
        None => true,
    };
    let number = graph.chain.iter().filter(|handler| begins(handler)).count().max(1) as f64;
    graph.chain.iter().map(|it| if begins(it) { 1.0 / number } else { 0.0 }).collect()
}

/// The runs that messages of these runs bring about.
fn caused(graph: &Graph, paths: &[Vec<f64>], runs: &[f64]) -> Vec<f64> {
    let mut caused = vec![0.0; graph.chain.len()];
    for ((handler, paths), runs) in graph.chain.iter().zip(paths).zip(runs) {
        for (path, share) in handler.paths.iter().zip(paths) {
            for sent in path.sends.iter().filter(|sent| sent.how.is_to_taker()) {
                if let Some((taker, _)) = graph.taker(&sent.message) {
                    caused[taker] += runs * share * if sent.many { LOOP } else { 1.0 };
                }
            }
        }
    }
    caused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Exit, How, MessageNode, Path, Sent, WireForm};
    use crate::sample;

    fn sent(message: &str, many: bool) -> Sent {
        let at = sample::nat().chain[0].at.clone();
        Sent { message: message.to_owned(), how: How::Send, many, own_key: false, at }
    }

    /// `split` takes texts and sends words in a loop, `count` sends one rank for each word, and
    /// `rank` sends itself a rank in every second run.
    fn words() -> Graph {
        let mut graph = sample::nat();
        let at = graph.chain[0].at.clone();
        let path =
            |sends: &[Sent]| Path { accesses: Vec::new(), sends: sends.to_vec(), exit: Exit::Done };
        let message = |name: &str, udp: bool| MessageNode {
            name: name.to_owned(),
            path: name.to_owned(),
            at: at.clone(),
            key: None,
            wire: udp.then_some(WireForm { parse: false, port: None }),
            fields: Vec::new(),
        };
        graph.messages =
            vec![message("Rank", false), message("Text", true), message("Word", false)];
        let model = graph.chain.remove(0);
        let handler = |name: &str, takes: &str, paths: Vec<Path>| crate::graph::HandlerNode {
            name: name.to_owned(),
            takes: Some(takes.to_owned()),
            paths,
            ..model.clone()
        };
        graph.chain = vec![
            handler("split", "Text", vec![path(&[sent("Word", true)])]),
            handler("count", "Word", vec![path(&[sent("Rank", false)])]),
            handler("rank", "Rank", vec![path(&[sent("Rank", false)]), path(&[])]),
        ];
        graph
    }

    #[test]
    fn a_datagram_causes_the_runs_of_all_that_is_sent_because_of_it() {
        let graph = words();
        let class = sample::class("all", 100.0, 1.0, 0.01);
        let demand = super::super::estimate(&graph, std::slice::from_ref(&class));
        let runs = |handler: usize, inside: bool| -> f64 {
            let routes = demand.routes.iter().zip(&demand.weights[0]);
            let own = routes.filter(|(it, _)| it.steps[0].0 == handler && it.inside == inside);
            own.map(|(_, weight)| weight).sum()
        };
        assert!((runs(0, false) - 1.0).abs() < 1e-9, "a text is a datagram");
        assert!((runs(1, true) - LOOP).abs() < 1e-9 && runs(1, false) == 0.0, "{}", runs(1, true));
        // Each rank is followed by a half, a quarter and so on, up to the bound on hops.
        assert!((LOOP..=2.0 * LOOP).contains(&runs(2, true)), "{}", runs(2, true));
        assert!(runs(2, true) > 1.9 * LOOP, "{}", runs(2, true));
        let rank =
            |inside| demand.routes.iter().find(|it| it.steps[0].0 == 2 && it.inside == inside);
        let (inside, outside) = (rank(true).unwrap(), rank(false).unwrap());
        assert!(inside.host.instructions < outside.host.instructions, "nothing is received");
    }
}
