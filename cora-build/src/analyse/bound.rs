//! Bounds the number of ways: equal ways are merged, and beyond a limit also ways that touch the
//! same states.
//!
//! Merging is sound: the common prefix of the ways stays, and every later access becomes one that
//! happens any number of times, in any order.

use std::collections::BTreeMap;
use std::rc::Rc;

use cora_plan::graph::Exit;

use super::value::Value;
use super::way::{Names, Trace, Way, Ways, union};

/// Maximum number of ways that are followed in parallel.
const MOST_WAYS: usize = 128;

/// Maximum number of paths of a handler.
pub const MOST_PATHS: usize = 64;

/// Removes duplicates; the first of equal ones stays.
pub(super) fn distinct<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| items[*a].cmp(&items[*b]).then(a.cmp(b)));
    let mut again = vec![false; items.len()];
    for pair in order.windows(2) {
        again[pair[1]] = items[pair[0]] == items[pair[1]];
    }
    let mut again = again.into_iter();
    items.retain(|_| !again.next().unwrap_or_default());
    items
}

/// Bounds the number of ways; returns whether different ones were merged.
pub(super) fn ways(ways: Ways) -> (Ways, bool) {
    let ways = distinct(ways);
    if ways.len() <= MOST_WAYS {
        return (ways, false);
    }
    let ways = distinct(ways.into_iter().map(unlearned).collect());
    if ways.len() <= MOST_WAYS {
        return (ways, false);
    }
    let by_states = together(ways, Trace::states);
    if by_states.len() <= MOST_WAYS {
        return (by_states, true);
    }
    (together(by_states, |_| 0), true)
}

/// The way without the facts learned from conditions.
fn unlearned(mut way: Way) -> Way {
    let Way { env, callers, stack, value, .. } = &mut way;
    for names in callers.iter_mut().chain([env]) {
        unlearn(names);
    }
    for value in stack.iter_mut().chain([value]).filter(|value| value.is_learned()) {
        *value = Value::Unknown;
    }
    way
}

/// Removes the facts learned from conditions from names.
pub(super) fn unlearn(names: &mut Names) {
    if names.iter().any(|binding| binding.value.is_learned()) {
        let learned = Rc::make_mut(names).iter_mut().filter(|binding| binding.value.is_learned());
        learned.for_each(|binding| binding.value = Value::Unknown);
    }
}

/// Merges ways that differ only in their traces and agree in the `key` of these.
fn together(ways: Ways, key: impl Fn(&Trace) -> u64) -> Ways {
    let mut groups: Vec<(Way, Vec<Trace>)> = Vec::new();
    let mut places = BTreeMap::new();
    for mut way in ways {
        let trace = std::mem::take(&mut way.trace);
        let place = *places.entry((way.clone(), key(&trace))).or_insert(groups.len());
        if place == groups.len() {
            groups.push((way, Vec::new()));
        }
        groups[place].1.push(trace);
    }
    groups.into_iter().map(|(way, traces)| Way { trace: merged(&traces), ..way }).collect()
}

/// Bounds the number of paths; returns whether different ones were merged.
pub(super) fn paths(paths: Vec<(Trace, Exit)>) -> (Vec<(Trace, Exit)>, bool) {
    let paths = distinct(paths);
    if paths.len() <= MOST_PATHS {
        return (paths, false);
    }
    let by_states = alike(paths, Trace::states);
    if by_states.len() <= MOST_PATHS {
        return (by_states, true);
    }
    (alike(by_states, |_| 0), true)
}

/// Merges paths with the same exit and the same `key`.
fn alike(paths: Vec<(Trace, Exit)>, key: impl Fn(&Trace) -> u64) -> Vec<(Trace, Exit)> {
    let mut groups: Vec<(Exit, Vec<Trace>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (trace, exit) in paths {
        let place = *places.entry((exit, key(&trace))).or_insert(groups.len());
        if place == groups.len() {
            groups.push((exit, Vec::new()));
        }
        groups[place].1.push(trace);
    }
    groups.into_iter().map(|(exit, traces)| (merged(&traces), exit)).collect()
}

/// One trace that covers all of these.
fn merged(traces: &[Trace]) -> Trace {
    let Some((first, others)) = traces.split_first() else { return Trace::default() };
    let common = |other: &Trace| {
        let pairs = first.touches().iter().zip(other.touches());
        pairs.take_while(|(one, two)| one == two).count()
    };
    let shared = others.iter().map(common).min().unwrap_or(first.touches().len());
    let behind = traces.iter().flat_map(|trace| &trace.touches()[shared..]);
    let mut merged = Trace::of(first.touches()[..shared].to_vec());
    merged.push_many(&union(behind));
    merged
}
