//! Demand of a program for a traffic: from a measurement if there is one, else estimated.

use super::{Demand, Measurement, Origin, Route, estimate};
use crate::graph::{Does, Exit, Graph};
use crate::traffic::{Class, Traffic};

/// The demand of `graph` for the classes of flows by `key`.
///
/// A measurement on a capture with the same classes is used unchanged. A measurement on another
/// traffic gives the routes and their instructions. `traffic` then gives the rate of new flows, and
/// routes that make entries are scaled to it.
pub fn demand(
    graph: &Graph,
    traffic: &Traffic,
    key: &str,
    measurement: Option<&Measurement>,
) -> Demand {
    let classes = traffic.classes(key);
    let Some(measured) = measurement.filter(|measured| measured.packets > 0) else {
        return estimate(graph, classes);
    };
    let counts = measured.counts.get(key).or_else(|| measured.counts.get("FiveTuple"));
    let counts = counts.map(Vec::as_slice).unwrap_or_default();
    let same = measured.capture == traffic.name && counts.len() == classes.len();
    let all = sum(counts, measured.routes.len());
    let weights = classes.iter().enumerate().map(|(number, class)| match counts.get(number) {
        Some(own) if same && own.iter().any(|count| *count > 0) => normal(&measured.routes, own),
        // How often a key of a message is new is not the traffic's to say.
        _ if graph.takes_messages() => normal(&measured.routes, &all),
        _ => reopened(graph, &measured.routes, &all, class),
    });
    let weights = weights.collect();
    let counted = if measured.nic_counted && measured.host_counted {
        Origin::Measured
    } else {
        Origin::Estimated
    };
    Demand { routes: measured.routes.clone(), weights, weighed: Origin::Measured, counted }
}

fn sum(counts: &[Vec<u64>], routes: usize) -> Vec<u64> {
    (0..routes).map(|route| counts.iter().filter_map(|class| class.get(route)).sum()).collect()
}

/// Counts per packet, or per datagram that begins a run.
fn normal(routes: &[Route], counts: &[u64]) -> Vec<f64> {
    let begun = routes.iter().zip(counts).filter(|(route, _)| !route.inside);
    let sum: u64 = begun.map(|(_, count)| count).sum();
    counts.iter().map(|count| *count as f64 / sum.max(1) as f64).collect()
}

/// Counted weights, with the routes that make entries scaled to the rate of new flows in this
/// class.
fn reopened(graph: &Graph, routes: &[Route], counts: &[u64], class: &Class) -> Vec<f64> {
    let makes: Vec<bool> = routes.iter().map(|route| makes(graph, route)).collect();
    let part = |wanted: bool| -> u64 {
        counts.iter().zip(&makes).filter(|(_, makes)| **makes == wanted).map(|(c, _)| c).sum()
    };
    let (making, others) = (part(true), part(false));
    // If one kind was never counted, the other kind is everything.
    let opens = match (making, others) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => class.opens.clamp(0.0, 1.0),
    };
    let of = |(count, makes): (&u64, &bool)| {
        let (of, share) = if *makes { (making, opens) } else { (others, 1.0 - opens) };
        *count as f64 / of.max(1) as f64 * share
    };
    counts.iter().zip(&makes).map(of).collect()
}

fn makes(graph: &Graph, route: &Route) -> bool {
    let paths = route.steps.iter();
    let mut paths = paths.filter_map(|(handler, path)| graph.chain.get(*handler)?.paths.get(*path));
    paths.any(|path| {
        path.exit != Exit::Drop && path.accesses.iter().any(|access| access.does == Does::Insert)
    })
}
