//! Finds the path of a handler that best explains the observations of a packet.
//!
//! 1. A path is a pattern: its accesses in order. Adjacent accesses in loops form one item that
//!    matches any number of any of them. An opaque access matches any operation on its state.
//! 2. Observations of tables are exact. For other states only the statements that name them are
//!    observed, so several accesses to one in a row are one item.
//! 3. Pattern and packet are aligned like strings (Wagner and Fischer, "The String-to-String
//!    Correction Problem", JACM 21(1), 1974). An access without a partner costs [`TABLE`] if it is
//!    of a table, and 1 otherwise.
//! 4. A message that only one of both sends costs [`TABLE`].
//! 5. Another exit than the packet's costs [`ENDING`].
//! 6. The path with the least cost is taken; among equals, the one that leaves least open; among
//!    these, the first.

use super::observed::{Did, Step};
use crate::graph::{Access, Does, Exit, Graph, HandlerNode, How, Path};

/// Cost of a table access without a partner.
const TABLE: u32 = 100;
/// Cost of another exit.
const ENDING: u32 = 10_000;

/// The path of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its index among the handler's paths.
    pub path: usize,
    /// Quality of the match.
    pub fit: Fit,
    /// Another path matches as well, and leaves as little open.
    pub ambiguous: bool,
}

/// Quality of the match between path and observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The path is the observation.
    Exact,
    /// It is, except for states with only their names observed.
    ButForNames,
    /// The operations on tables differ, or the exit does: the graph lacks a path.
    Otherwise,
}

/// The path with the best match; `None` if the graph has no such handler, or if the handler has no
/// path.
pub fn nearest_path(graph: &Graph, step: &Step) -> Option<Nearest> {
    let handler = graph.chain.get(step.handler)?;
    let seen = seen(handler, step);
    let ranks = handler.paths.iter().map(|path| {
        let items = items(graph, path);
        let cost = cost(&items, &seen) + sent(path, step) + ending(path.exit, step.exit);
        (cost, open(&items, path.exit))
    });
    let ranks: Vec<(u32, usize)> = ranks.collect();
    let best = *ranks.iter().min()?;
    let path = ranks.iter().position(|rank| *rank == best)?;
    let fit = match best.0 {
        0 => Fit::Exact,
        cost if cost < TABLE => Fit::ButForNames,
        _ => Fit::Otherwise,
    };
    let ambiguous = ranks.iter().filter(|rank| **rank == best).count() > 1;
    Some(Nearest { path, fit, ambiguous })
}

/// One observation: a state, and the operation on it if it was observed.
type Seen<'a> = (&'a str, Option<Does>);

fn seen<'a>(handler: &'a HandlerNode, step: &'a Step) -> Vec<Seen<'a>> {
    let did = step.did.iter().filter_map(|did| match did {
        Did::Asked { state, does } => Some((state.as_str(), Some(*does))),
        Did::Named { parameter } => {
            Some((handler.parameters.get(*parameter)?.state.as_str(), None))
        }
        Did::Sent { .. } => None,
    });
    let mut seen: Vec<Seen<'_>> = did.collect();
    seen.dedup();
    seen
}

/// An item of a pattern.
#[derive(Debug)]
struct Item<'a> {
    /// The accesses it matches, each a state and an operation; without an operation, any.
    matches: Vec<Seen<'a>>,
    /// The item may be absent.
    optional: bool,
    /// It matches several accesses in a row.
    repeats: bool,
    /// Cost of the item if it is absent but not optional.
    cost: u32,
}

fn items<'a>(graph: &Graph, path: &'a Path) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = Vec::new();
    let mut looped = false;
    for access in &path.accesses {
        let item = item(graph, access);
        let again = looped == access.many;
        looped = access.many;
        match items.last_mut().filter(|_| again) {
            Some(last) if access.many => last.matches.extend(item.matches),
            Some(last) if last.matches == item.matches => last.optional &= item.optional,
            _ => items.push(item),
        }
    }
    items
}

fn item<'a>(graph: &Graph, access: &'a Access) -> Item<'a> {
    let table = is_table(graph, &access.state);
    let unseen = access.does == Does::Anything;
    let does = (table && !unseen).then_some(access.does);
    Item {
        matches: vec![(access.state.as_str(), does)],
        optional: access.many || unseen,
        repeats: access.many || does.is_none(),
        cost: if table { TABLE } else { 1 },
    }
}

impl Item<'_> {
    fn is(&self, seen: Seen<'_>) -> bool {
        self.matches.iter().any(|(state, does)| {
            *state == seen.0 && (does.is_none() || seen.1.is_none() || *does == seen.1)
        })
    }

    /// Cost of leaving the item out.
    fn left_out(&self) -> u32 {
        if self.optional { 0 } else { self.cost }
    }
}

fn is_table(graph: &Graph, state: &str) -> bool {
    graph.state(state).is_some_and(|state| state.keyed.is_some())
}

/// The least cost of an alignment. `row[n]` is the cost of all items so far and the first `n`
/// observations.
fn cost(items: &[Item<'_>], seen: &[Seen<'_>]) -> u32 {
    // Only observations of tables include the operation.
    let extra = |seen: &Seen<'_>| if seen.1.is_some() { TABLE } else { 1 };
    let mut row = vec![0];
    for seen in seen {
        row.push(row.last().copied().unwrap_or(0) + extra(seen));
    }
    for item in items {
        let mut next: Vec<u32> = vec![row[0] + item.left_out()];
        // The cost with this item matched and able to match again.
        let mut within = None;
        for (number, seen) in seen.iter().enumerate() {
            let matched = item.is(*seen).then(|| {
                let again = within.filter(|_| item.repeats);
                again.map_or(row[number], |again: u32| again.min(row[number]))
            });
            within = match (matched, within) {
                (Some(matched), _) => Some(matched),
                (None, within) => within.map(|within| within + extra(seen)),
            };
            let skipped = (row[number + 1] + item.left_out()).min(next[number] + extra(seen));
            next.push(matched.map_or(skipped, |matched| matched.min(skipped)));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// The cost of messages that the path sends and the run did not, or the other way round.
fn sent(path: &Path, step: &Step) -> u32 {
    if path.sends.iter().any(|it| it.how == How::Unseen) {
        return 0;
    }
    let seen = |message: &str, how: How| {
        let count = |did: &Did| match did {
            Did::Sent { message: other, how: way, count } if other == message && *way == how => {
                *count
            }
            _ => 0,
        };
        step.did.iter().map(count).sum::<u32>()
    };
    let mut kinds: Vec<(&str, How)> =
        path.sends.iter().map(|it| (it.message.as_str(), it.how)).collect();
    kinds.extend(step.did.iter().filter_map(|did| match did {
        Did::Sent { message, how, .. } => Some((message.as_str(), *how)),
        _ => None,
    }));
    kinds.sort_unstable();
    kinds.dedup();
    let amiss = kinds.into_iter().map(|(message, how)| {
        let such = path.sends.iter().filter(|it| it.message == message && it.how == how);
        let (many, once): (Vec<_>, Vec<_>) = such.partition(|it| it.many);
        let (once, seen) = (u32::try_from(once.len()).unwrap_or(u32::MAX), seen(message, how));
        if seen > once && !many.is_empty() { 0 } else { seen.abs_diff(once) }
    });
    amiss.sum::<u32>().saturating_mul(TABLE)
}

fn ending(path: Exit, seen: Exit) -> u32 {
    if path == seen || path == Exit::Unseen || seen == Exit::Unseen { 0 } else { ENDING }
}

/// Number of possibilities that a path leaves open.
fn open(items: &[Item<'_>], exit: Exit) -> usize {
    let optional = items.iter().filter(|item| item.optional).count();
    let anything = items.iter().flat_map(|item| &item.matches).filter(|it| it.1.is_none()).count();
    2 * optional + anything + usize::from(exit == Exit::Unseen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn asked(state: &str, does: Does) -> Did {
        Did::Asked { state: state.to_owned(), does }
    }

    fn step(did: Vec<Did>, exit: Exit) -> Step {
        Step { handler: 0, inside: false, did, exit }
    }

    fn found(graph: &Graph, did: Vec<Did>, exit: Exit) -> (usize, Fit, bool) {
        let Nearest { path, fit, ambiguous } = nearest_path(graph, &step(did, exit)).unwrap();
        (path, fit, ambiguous)
    }

    const PORTS: Did = Did::Named { parameter: 1 };

    #[test]
    fn each_way_of_the_nat_is_its_own_path() {
        let graph = sample::nat();
        let write = || asked("Session", Does::Write);
        let insert = asked("Session", Does::Insert);
        assert_eq!(found(&graph, vec![], Exit::Drop), (0, Fit::Exact, false));
        assert_eq!(found(&graph, vec![write()], Exit::Transmit), (1, Fit::Exact, false));
        assert_eq!(found(&graph, vec![write(), PORTS], Exit::Transmit), (2, Fit::Exact, false));
        let first = vec![write(), PORTS, insert.clone()];
        assert_eq!(found(&graph, first, Exit::Transmit), (3, Fit::Exact, false));
    }

    #[test]
    fn what_was_only_named_counts_less_than_what_was_seen() {
        let graph = sample::nat();
        let write = || asked("Session", Does::Write);
        let named_before = vec![PORTS, write()];
        assert_eq!(found(&graph, named_before, Exit::Transmit), (1, Fit::ButForNames, false));
        let not_named = vec![write(), asked("Session", Does::Insert)];
        assert_eq!(found(&graph, not_named, Exit::Transmit), (3, Fit::ButForNames, false));
        let removes = vec![write(), asked("Session", Does::Remove)];
        assert_eq!(found(&graph, removes, Exit::Transmit), (1, Fit::Otherwise, false));
        assert_eq!(found(&graph, vec![write()], Exit::Drop).1, Fit::Otherwise);
    }

    /// A graph with this path and the sample's path that only writes.
    fn with(accesses: &[(&str, Does, bool)], exit: Exit) -> Graph {
        let mut graph = sample::nat();
        let handler = &mut graph.chain[0];
        let model = handler.paths[1].accesses[0].clone();
        let accesses = accesses.iter().map(|(state, does, many)| Access {
            state: (*state).to_owned(),
            does: *does,
            many: *many,
            ..model.clone()
        });
        let path = Path { accesses: accesses.collect(), sends: Vec::new(), exit };
        handler.paths = vec![handler.paths[1].clone(), path];
        graph
    }

    #[test]
    fn loops_match_any_number_in_any_order() {
        let looped = [("Session", Does::Read, true), ("Session", Does::Remove, true)];
        let graph = with(&looped, Exit::Transmit);
        let (read, remove) = (asked("Session", Does::Read), asked("Session", Does::Remove));
        let did = vec![read.clone(), remove.clone(), read, remove];
        assert_eq!(found(&graph, did, Exit::Transmit), (1, Fit::Exact, false));
        assert_eq!(found(&graph, vec![], Exit::Transmit), (1, Fit::Exact, false));
    }

    #[test]
    fn what_cannot_be_seen_matches_all_and_gives_way_to_what_can() {
        let graph = with(&[("Session", Does::Anything, false)], Exit::Unseen);
        let insert = vec![asked("Session", Does::Read), asked("Session", Does::Insert)];
        assert_eq!(found(&graph, insert, Exit::Drop), (1, Fit::Exact, false));
        let write = vec![asked("Session", Does::Write)];
        assert_eq!(found(&graph, write, Exit::Transmit), (0, Fit::Exact, false));
    }

    #[test]
    fn the_same_path_twice_is_ambiguous() {
        let graph = with(&[("Session", Does::Write, false)], Exit::Transmit);
        let write = vec![asked("Session", Does::Write)];
        assert_eq!(found(&graph, write, Exit::Transmit), (0, Fit::Exact, true));
        assert_eq!(
            nearest_path(
                &graph,
                &Step { handler: 7, inside: false, did: vec![], exit: Exit::Drop }
            ),
            None
        );
    }

    #[test]
    fn two_look_ups_in_a_row_are_seen_as_one() {
        let twice = [("Session", Does::Write, false), ("Session", Does::Write, false)];
        let mut graph = with(&twice, Exit::Drop);
        graph.chain[0].paths[1].accesses[1].key = Some("&other".to_owned());
        let write = vec![asked("Session", Does::Write)];
        assert_eq!(found(&graph, write, Exit::Drop), (1, Fit::Exact, false));
    }
}
