//! Demand from the source alone, for plans without a measurement. The rules are heuristics:
//!
//! 1. A path that makes entries is the path of a flow's first packet. It is taken as often as flows
//!    open.
//! 2. A path that removes entries, or that writes a singleton, is an event in a flow's life. Events
//!    are as frequent as first packets.
//! 3. A path that drops is rare ([`RARE`]), unless a handler has no other.
//! 4. All other paths share the rest evenly.
//! 5. In a chain, handlers meet the same event together: first packets take first paths everywhere.
//! 6. Instructions follow from accesses, by the constants below. Mispredictions are the same for
//!    all.

use super::{Demand, Executed, Origin, Route};
use crate::graph::{Access, Does, Exit, Graph, HandlerNode, Path};
use crate::traffic::Class;
use crate::vocabulary::Kind;

/// Share of dropped packets, if a handler has other paths too.
const RARE: f64 = 0.01;

/// Instructions of a packet before any handler. The constants here are round numbers near the
/// examples' counts by `cargo xtask bench`: 417 for the firewall's steady packets, 568 for the
/// heavy hitter's.
const PER_PACKET: f64 = 100.0;
/// Instructions of a handler besides its accesses.
const PER_HANDLER: f64 = 60.0;
/// Instructions to find an entry.
const PER_LOOK_UP: f64 = 250.0;
/// Instructions to make or remove an entry.
const PER_ENTRY: f64 = 400.0;
/// Instructions of any other access.
const PER_ACCESS: f64 = 40.0;
/// Instructions of a message that is sent.
const PER_SEND: f64 = 60.0;
/// Branch mispredictions of a packet on any path; the source does not show them. 0.5 is in the
/// middle of the range of 0.1 to 1.6 that `cargo xtask model` counts for the examples.
const MISPREDICTIONS: f64 = 0.5;

/// Maximum number of routes; of more, only the likeliest are kept.
const MOST_ROUTES: usize = 256;

/// The role of a path in the life of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Occasion {
    Steady,
    First,
    Event,
    Dropped,
}

const OCCASIONS: [Occasion; 4] =
    [Occasion::Steady, Occasion::First, Occasion::Event, Occasion::Dropped];

/// The estimated demand of a program for these classes.
pub fn estimate(graph: &Graph, classes: &[Class]) -> Demand {
    if graph.takes_messages() {
        return super::cascade::estimate(graph, classes);
    }
    let mut routes = Vec::new();
    let mut occasions = Vec::new();
    for occasion in OCCASIONS {
        for (steps, part) in composed(graph, occasion) {
            routes.push(route(graph, steps));
            occasions.push((occasion, part));
        }
    }
    let weights = classes.iter().map(|class| weigh(&occasions, class)).collect();
    Demand { routes, weights, weighed: Origin::Estimated, counted: Origin::Estimated }
}

/// Routes through the chain on one occasion, each with its share of the occasion.
fn composed(graph: &Graph, occasion: Occasion) -> Vec<(Vec<(usize, usize)>, f64)> {
    let mut open: Vec<(Vec<(usize, usize)>, f64)> = vec![(Vec::new(), 1.0)];
    let mut done = Vec::new();
    // An occasion exists only if some handler has a path for it.
    let has = |handler: &HandlerNode| handler.paths.iter().any(|p| of(graph, p) == occasion);
    if occasion != Occasion::Steady && !graph.chain.iter().any(has) {
        return done;
    }
    for (number, handler) in graph.chain.iter().enumerate() {
        let paths = on(graph, handler, occasion);
        let mut next = Vec::new();
        for (steps, part) in open {
            for path in &paths {
                let mut steps = steps.clone();
                steps.push((number, *path));
                let part = part / paths.len() as f64;
                let goes_on = matches!(handler.paths[*path].exit, Exit::Transmit | Exit::Unseen);
                if goes_on { next.push((steps, part)) } else { done.push((steps, part)) }
            }
            if paths.is_empty() {
                next.push((steps, part));
            }
        }
        next.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        next.truncate(MOST_ROUTES);
        open = next;
    }
    done.extend(open);
    let sum: f64 = done.iter().map(|(_, part)| part).sum();
    for (_, part) in &mut done {
        *part /= sum;
    }
    done
}

/// A handler's paths on an occasion. Without one for it, its steady paths.
fn on(graph: &Graph, handler: &HandlerNode, occasion: Occasion) -> Vec<usize> {
    let of_occasion = |wanted: Occasion| -> Vec<usize> {
        let paths = handler.paths.iter().enumerate();
        paths.filter(|(_, path)| of(graph, path) == wanted).map(|(number, _)| number).collect()
    };
    [occasion, Occasion::Steady, Occasion::First, Occasion::Event, Occasion::Dropped]
        .into_iter()
        .map(of_occasion)
        .find(|paths| !paths.is_empty())
        .unwrap_or_default()
}

fn of(graph: &Graph, path: &Path) -> Occasion {
    let does = |wanted: Does| path.accesses.iter().any(|access| access.does == wanted);
    let singleton = |access: &Access| {
        let kind = graph.state(&access.state).map(|state| state.kind);
        matches!(kind, Some(Kind::Singleton | Kind::PerBucket)) && access.does != Does::Read
    };
    match path.exit {
        Exit::Drop => Occasion::Dropped,
        _ if does(Does::Insert) || does(Does::Anything) && makes(graph, path) => Occasion::First,
        _ if does(Does::Remove) || path.accesses.iter().any(singleton) => Occasion::Event,
        _ => Occasion::Steady,
    }
}

/// Whether an opaque access of the path may make entries.
fn makes(graph: &Graph, path: &Path) -> bool {
    let keyed = |access: &Access| graph.state(&access.state).is_some_and(|s| s.keyed.is_some());
    path.accesses.iter().any(|access| access.does == Does::Anything && keyed(access))
}

/// Shares of a class's packets per route, given each route's occasion and its share of the
/// occasion.
fn weigh(occasions: &[(Occasion, f64)], class: &Class) -> Vec<f64> {
    let there = |wanted| occasions.iter().any(|(occasion, _)| *occasion == wanted);
    let opens = class.opens.clamp(0.0, 1.0);
    let first = if there(Occasion::First) { opens } else { 0.0 };
    let event = if there(Occasion::Event) { opens.min(1.0 - first) } else { 0.0 };
    let dropped = if there(Occasion::Dropped) { RARE.min(1.0 - first - event) } else { 0.0 };
    // All other packets belong to the first occasion that exists.
    let steady = (1.0 - first - event - dropped).max(0.0);
    let share = |occasion| match occasion {
        Occasion::Steady => steady,
        Occasion::First => first,
        Occasion::Event => event,
        Occasion::Dropped => dropped,
    };
    occasions.iter().map(|(occasion, part)| share(*occasion) * part).collect()
}

fn route(graph: &Graph, steps: Vec<(usize, usize)>) -> Route {
    let executed = executed(graph, &steps);
    Route { steps, inside: false, nic: executed, host: executed }
}

/// Shares of a handler's paths among its runs in a class.
pub(super) fn paths_of(graph: &Graph, handler: usize, class: &Class) -> Vec<f64> {
    let node = &graph.chain[handler];
    let occasions: Vec<Occasion> = node.paths.iter().map(|path| of(graph, path)).collect();
    let alike = |occasion| occasions.iter().filter(|it| **it == occasion).count().max(1) as f64;
    let parts: Vec<(Occasion, f64)> =
        occasions.iter().map(|occasion| (*occasion, 1.0 / alike(*occasion))).collect();
    let weights = weigh(&parts, class);
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| if sum > 0.0 { weight / sum } else { 0.0 }).collect()
}

/// Execution of a run that takes these paths. A message that a handler sent is not received.
pub(super) fn executed_inside(graph: &Graph, steps: &[(usize, usize)], inside: bool) -> Executed {
    let sends: usize = steps
        .iter()
        .filter_map(|(handler, path)| graph.chain.get(*handler)?.paths.get(*path))
        .map(|path| path.sends.len())
        .sum();
    let executed = executed(graph, steps);
    let received = if inside { PER_PACKET } else { 0.0 };
    let instructions = executed.instructions - received + PER_SEND * sends as f64;
    Executed { instructions, ..executed }
}

/// Execution of a packet that takes these paths.
pub(super) fn executed(graph: &Graph, steps: &[(usize, usize)]) -> Executed {
    let paths = steps.iter().filter_map(|(handler, path)| {
        graph.chain.get(*handler).and_then(|handler| handler.paths.get(*path))
    });
    let instructions = paths.map(|path| {
        let accesses = path.accesses.iter().map(|access| instructions(graph, access));
        PER_HANDLER + accesses.sum::<f64>()
    });
    Executed {
        instructions: PER_PACKET + instructions.sum::<f64>(),
        mispredictions: MISPREDICTIONS,
    }
}

fn instructions(graph: &Graph, access: &Access) -> f64 {
    let keyed = graph.state(&access.state).is_some_and(|state| state.keyed.is_some());
    match access.does {
        Does::Read | Does::Write if keyed => PER_LOOK_UP,
        Does::Insert | Does::Remove => PER_ENTRY,
        Does::Anything if keyed => PER_LOOK_UP + PER_ENTRY,
        _ => PER_ACCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn first_packets_take_the_path_that_inserts() {
        let graph = sample::nat();
        let class = sample::class("all", 1_000.0, 1.0, 0.1);
        let demand = estimate(&graph, std::slice::from_ref(&class));
        let weights = &demand.weights[0];
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{weights:?}");
        let inserts = |route: &Route| {
            let (handler, path) = route.steps[0];
            let path = &graph.chain[handler].paths[path];
            path.accesses.iter().any(|access| access.does == Does::Insert)
                && path.exit == Exit::Transmit
        };
        let first: f64 = demand
            .routes
            .iter()
            .zip(weights)
            .filter(|(route, _)| inserts(route))
            .map(|(_, weight)| weight)
            .sum();
        assert!((first - 0.1).abs() < 1e-12, "{first}");
    }
}
