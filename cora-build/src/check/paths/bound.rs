//! Keeping ways few: equal ones are one, and past a bound those that touch the same states are
//! taken together.
//!
//! Taking ways together is sound: what they have in common at their start stays as it is, and every
//! access behind that becomes one that happens none, one or more times, in any order.

use std::collections::BTreeMap;
use std::rc::Rc;

use cora_plan::graph::Exit;

use super::value::Value;
use super::way::{Names, Trace, Way, Ways, union};

/// Most ways that are followed side by side.
const MOST_WAYS: usize = 128;

/// Most paths that a handler may have.
pub const MOST_PATHS: usize = 64;

/// Equal ones are one; the first stays.
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

/// Ways as few as the bound wants; whether some had to be taken together.
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

/// The way with nothing that conditions taught.
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

/// Names with nothing that conditions taught.
pub(super) fn unlearn(names: &mut Names) {
    if names.iter().any(|binding| binding.value.is_learned()) {
        let learned = Rc::make_mut(names).iter_mut().filter(|binding| binding.value.is_learned());
        learned.for_each(|binding| binding.value = Value::Unknown);
    }
}

/// Ways that differ only in their traces, and agree in `key` of those, become one.
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

/// Paths as few as the bound wants; whether some had to be taken together.
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

/// Paths that end alike, and agree in `key`, become one.
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
