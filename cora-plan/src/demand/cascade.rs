//! Demand of a program with messages from the source alone: runs of handlers per datagram.
//!
//! 1. Datagrams share evenly the handlers that messages from the wire and packets begin with.
//! 2. A handler's paths are as frequent as those of packets (`estimate`).
//! 3. A path brings about the runs of the messages that it sends, and a loop sends [`LOOP`].
//! 4. What these bring about counts for [`HOPS`] hops.

use super::estimate::{executed_inside, paths_of};
use super::{Demand, Origin, Route};
use crate::graph::{Graph, How};
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
            for sent in path.sends.iter().filter(|sent| sent.how == How::Send) {
                let taker = graph.chain.iter().position(|it| it.takes.as_ref() == Some(&sent.message));
                if let Some(taker) = taker {
                    caused[taker] += runs * share * if sent.many { LOOP } else { 1.0 };
                }
            }
        }
    }
    caused
}
