//! Demand of a route besides instructions: the cache lines that it touches first, the entries that
//! it makes, and the states that must be at the NIC for it to run there.

use std::collections::BTreeSet;

use super::size;
use crate::demand::Route;
use crate::graph::{Access, Does, Graph, StateNode};

/// Items of a region that a loop reads: a guess, since no source shows it.
const LOOP: f64 = 4.0;

/// A route for the cost model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// Per state: the lines that this packet waits for, each on its first touch.
    pub(super) touches: Vec<f64>,
    /// Entries made.
    pub(super) inserts: f64,
    /// Per state: items of a region that are read.
    pub(super) fetches: Vec<f64>,
    /// Whether any region is written.
    pub(super) writes_region: bool,
    /// Per state: whether it is reached.
    pub(super) reaches: Vec<bool>,
    /// Per handler of the chain: whether it runs.
    pub(super) runs: Vec<bool>,
}

impl Shape {
    /// `further` marks tables that only packets of unknown flows prefetch.
    pub(super) fn of(graph: &Graph, route: &Route, further: &[bool]) -> Self {
        let mut shape = Self {
            touches: vec![0.0; graph.states.len()],
            inserts: 0.0,
            fetches: vec![0.0; graph.states.len()],
            writes_region: false,
            reaches: vec![false; graph.states.len()],
            runs: vec![false; graph.chain.len()],
        };
        let mut seen = BTreeSet::new();
        for (handler, path) in &route.steps {
            let Some(node) = graph.chain.get(*handler) else { continue };
            shape.runs[*handler] = true;
            let accesses = node.paths.get(*path).map(|path| path.accesses.as_slice());
            for access in accesses.unwrap_or_default() {
                shape.add(graph, access, &mut seen);
            }
        }
        shape.announce(graph, further);
        shape
    }

    /// A prefetched table is fetched even if the route does not need it.
    fn announce(&mut self, graph: &Graph, further: &[bool]) {
        let states = graph.states.iter().zip(further).zip(&mut self.touches);
        for ((state, further), touches) in states {
            if state.keyed.is_some() && !further && *touches == 0.0 {
                *touches = waits(state);
            }
        }
    }

    fn add<'a>(
        &mut self,
        graph: &Graph,
        access: &'a Access,
        seen: &mut BTreeSet<(&'a str, Option<&'a str>)>,
    ) {
        let number = graph.states.iter().position(|state| state.name == access.state);
        let Some(number) = number else { return };
        let state = &graph.states[number];
        self.reaches[number] = true;
        // The second access of an entry hits the nearest cache.
        if seen.insert((&access.state, access.key.as_deref())) {
            self.touches[number] += waits(state);
        }
        if state.region.is_some() {
            match access.does {
                Does::Read => self.fetches[number] += if access.many { LOOP } else { 1.0 },
                _ => self.writes_region = true,
            }
        }
        if state.keyed.is_some() {
            self.inserts += f64::from(matches!(access.does, Does::Insert | Does::Anything) as u8);
        }
    }
}

/// Lines that an access of a state waits for one by one. The rows of a sketch are prefetched
/// together and independent of each other, so they take as long as one row.
fn waits(state: &StateNode) -> f64 {
    if state.keyed.is_some() { lines(state) } else { 1.0 }
}

/// Lines that one access of a state touches. A look-up touches one line of the index and all of the
/// entry, which are prefetched; a sketch touches one in each row.
pub(super) fn lines(state: &StateNode) -> f64 {
    if state.keyed.is_some() {
        return 1.0 + size::entry_lines(state);
    }
    let rows = state.fields.iter().map(|field| {
        let of = |name: &str, sketches: f64| {
            let (_, rest) = field.type_text.split_once(name)?;
            Some(rest.split(',').next()?.trim().parse::<f64>().ok()? * sketches)
        };
        of("CountMin<", 1.0).or_else(|| of("HeavyPrefixes<", 4.0)).unwrap_or(0.0)
    });
    rows.sum::<f64>().max(1.0)
}
