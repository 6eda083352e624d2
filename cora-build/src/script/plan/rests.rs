//! The host's states that entries of flows depend on ("rest on").
//!
//! A path may make or change a travelling entry, and touch a state that the host holds and handlers
//! write. Then it may copy data from the state to the entry, such as a port from a pool. So may
//! another handler of the chain, after that path has changed its packet. If the host fails, the
//! state is lost unless it is durable, and the entry must not outlive it.

use std::collections::BTreeMap;

use cora_plan::graph::{Access, Does, Exit, HandlerNode, Path, SourcePlace, StateNode};
use cora_plan::vocabulary::{Kind, Place, Sides};
use cora_plan::{Graph, Plan};

use crate::diag::codes;
use crate::diag::findings::Findings;
use crate::script::program::Program;

/// An entry's state, the state that it rests on, and the places of both accesses.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a> {
    /// The entry's state.
    pub entry: &'a StateNode,
    /// The place that makes or changes an entry.
    pub made_at: &'a SourcePlace,
    /// The state that it rests on, which is not durable.
    pub on: &'a StateNode,
    /// The place that touches that state.
    pub touched_at: &'a SourcePlace,
}

/// The names of the states that are lost with the host and that entries rest on, in order.
pub fn names<'a>(graph: &'a Graph, plan: &Plan) -> Vec<&'a str> {
    if plan.placement.sides != Sides::Split {
        return Vec::new();
    }
    let travels = |state: &StateNode| place(plan, state) == Some(Place::Travels);
    let dies = |state: &StateNode| place(plan, state).is_some_and(Place::is_of_host);
    let found = find(graph, travels, dies);
    graph
        .states
        .iter()
        .map(|state| state.name.as_str())
        .filter(|name| found.contains_key(name))
        .collect()
}

/// Whether a state of this kind is one value, or one per bucket, at the host.
const fn is_value(kind: Kind) -> bool {
    matches!(kind, Kind::Singleton | Kind::PerBucket)
}

/// Checks that durable entries rest only on durable states. A singleton is lost with its host under
/// every plan with a host side; for tables it depends on the plan.
pub fn check(graph: &Graph, plan: &Plan, program: &Program, findings: &mut Findings) {
    let pinned = |state: &StateNode| {
        plan.placement.sides == Sides::Split && place(plan, state) == Some(Place::Host)
    };
    let lives_on = |state: &StateNode| {
        state.keyed.as_ref().is_some_and(|keyed| keyed.durable) && !pinned(state)
    };
    let dies = |state: &StateNode| is_value(state.kind) || pinned(state);
    for (name, Rest { entry, made_at, on, touched_at }) in find(graph, lives_on, dies) {
        let Some(state) = program.states.get(name) else { continue };
        let how = match on.kind {
            Kind::Singleton => "singleton, durable",
            Kind::PerBucket => "per = Bucket, durable",
            _ => "key = …, durable",
        };
        findings
            .at(state.file)
            .error(
                codes::DURABLE_RESTS,
                state.decl.ident.span(),
                format!("entries of the durable `{}` rest on `{name}`, which is not durable", entry.name),
            )
            .label(format!(
                "touched at {}, and an entry is made or changed at {}, by one packet",
                shown(touched_at),
                shown(made_at)
            ))
            .help(format!(
                "write `#[state({how}{})]`, or take `durable` from `{}`: then its entries end when the host half dies",
                if is_value(on.kind) { "" } else { ", …" },
                entry.name
            ));
    }
}

fn place(plan: &Plan, state: &StateNode) -> Option<Place> {
    plan.placement.places.get(&state.name).copied()
}

fn shown(at: &SourcePlace) -> String {
    format!("{}:{}:{}", at.file, at.line, at.column)
}

/// The first dependency on each state that is lost with the host, by its name.
fn find(
    graph: &Graph,
    travels: impl Fn(&StateNode) -> bool,
    dies: impl Fn(&StateNode) -> bool,
) -> BTreeMap<&str, Rest<'_>> {
    let mut found = BTreeMap::new();
    let mortal = graph.states.iter().filter(|state| {
        dies(state)
            && !state.is_durable()
            && state.kind != Kind::ReadMostly
            && is_written(graph, state)
    });
    for on in mortal {
        for (handler, path, touch) in touches(graph, on) {
            let made = made_beside(graph, handler, path, &travels);
            if let Some((entry, made_at)) = made {
                let rest = Rest { entry, made_at, on, touched_at: &touch.at };
                found.entry(on.name.as_str()).or_insert(rest);
            }
        }
    }
    found
}

/// Whether any handler may write the state.
fn is_written(graph: &Graph, state: &StateNode) -> bool {
    touches(graph, state).any(|(handler, _, touch)| {
        let lent = handler.parameters.iter().find(|lent| lent.state == state.name);
        touch.does != Does::Read && lent.is_some_and(|lent| lent.mutable)
    })
}

/// Each access to the state, with its path and handler.
fn touches<'a>(
    graph: &'a Graph,
    state: &'a StateNode,
) -> impl Iterator<Item = (&'a HandlerNode, &'a Path, &'a Access)> {
    graph.chain.iter().flat_map(move |handler| {
        handler.paths.iter().flat_map(move |path| {
            let of_it = path.accesses.iter().filter(move |access| access.state == state.name);
            of_it.map(move |access| (handler, path, access))
        })
    })
}

/// An entry that a packet on this path makes or changes, here or in another handler of the chain.
fn made_beside<'a>(
    graph: &'a Graph,
    handler: &HandlerNode,
    path: &'a Path,
    travels: &impl Fn(&StateNode) -> bool,
) -> Option<(&'a StateNode, &'a SourcePlace)> {
    let made = |path: &'a Path| {
        path.accesses
            .iter()
            .filter(|access| access.does != Does::Read && access.does != Does::Remove)
            .find_map(|access| {
                let state = graph.state(&access.state).filter(|state| travels(state))?;
                Some((state, &access.at))
            })
    };
    made(path).or_else(|| {
        let others = graph.chain.iter().filter(|other| other.name != handler.name);
        let paths = others.flat_map(|other| &other.paths);
        // One of the two handlers runs first, and its packet continues.
        paths.filter(|other| goes_on(other) || goes_on(path)).find_map(made)
    })
}

const fn goes_on(path: &Path) -> bool {
    matches!(path.exit, Exit::Transmit | Exit::Unseen)
}
