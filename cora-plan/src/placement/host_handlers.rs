//! The handlers that run at the host alone under a split: those that the source or the search says.

use super::PlanError;
use crate::graph::Graph;
use crate::statement::Statement;
use crate::vocabulary::Sides;

/// Their names, in the order of the chain.
pub(super) fn run(graph: &Graph, statement: &Statement) -> Vec<String> {
    let is_said = |name: &String| statement.host_handlers.contains(name);
    let at_host = graph.chain.iter().filter(|handler| handler.at_host || is_said(&handler.name));
    at_host.map(|handler| handler.name.clone()).collect()
}

/// Records every handler of the host under a plan in which the host does not get all that needs it.
pub(super) fn check(graph: &Graph, sides: Sides, errors: &mut Vec<PlanError>) {
    let because = match sides {
        Sides::HostOnly | Sides::Split => return,
        Sides::NicOnly => "the host runs nothing",
        Sides::Dealt => "each side runs all handlers for its own buckets",
    };
    let at_host = graph.chain.iter().filter(|handler| handler.at_host);
    errors.extend(at_host.map(|handler| {
        let handler = handler.name.clone();
        PlanError::NeedsHost { handler, sides, because }
    }));
}
