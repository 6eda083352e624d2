//! Whether the clients' history could be that of a server that does one operation at a time: a
//! check for linearizability, name by name, as Wing and Gong have it.

use std::collections::{BTreeMap, HashSet};

/// A value, or none.
pub type Seen = Option<Vec<u8>>;

/// A client's access to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It read this.
    Read(Seen),
    /// It wrote this; values that are written are all different, but for none.
    Wrote(Seen),
}

/// A deed and its time; without an end it may have happened, or may yet.
#[derive(Clone, Debug)]
pub struct Event {
    pub name: Vec<u8>,
    pub start: u64,
    pub end: Option<u64>,
    pub deed: Deed,
}

/// Returns the names with events that are not linearizable.
pub fn wrong(events: &[Event]) -> Vec<Vec<u8>> {
    let mut by_name: BTreeMap<&[u8], Vec<&Event>> = BTreeMap::new();
    for event in events {
        by_name.entry(&event.name).or_default().push(event);
    }
    let wrong = by_name.into_iter().filter(|(_, events)| !is_linear(events));
    wrong.map(|(name, _)| name.to_vec()).collect()
}

/// An event that has to be put into the row.
struct Placed<'a> {
    start: u64,
    end: u64,
    deed: &'a Deed,
    /// It may be left out.
    is_optional: bool,
}

/// The events of a name, by their starts. A write without an end is left out if nobody read it, and
/// otherwise ends when somebody had read it.
fn placed<'a>(events: &[&'a Event]) -> Vec<Placed<'a>> {
    let read_by = |value: &Seen| {
        let reads = events.iter().filter(|it| it.deed == Deed::Read(value.clone()));
        reads.filter_map(|it| it.end).min()
    };
    let place = |event: &&'a Event| {
        let (start, deed) = (event.start, &event.deed);
        let (end, is_optional) = match (event.end, deed) {
            (Some(end), _) => (end, false),
            (None, Deed::Read(_)) => return None,
            (None, Deed::Wrote(None)) => (u64::MAX, true),
            (None, Deed::Wrote(value)) => (read_by(value)?, false),
        };
        Some(Placed { start, end, deed, is_optional })
    };
    let mut placed: Vec<Placed<'a>> = events.iter().filter_map(place).collect();
    placed.sort_by_key(|it| it.start);
    placed
}

/// How far a row has come: the first event that is not in it, those behind that are, and the value.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row<'a> {
    first: usize,
    behind: Vec<usize>,
    value: Option<&'a [u8]>,
}

fn is_linear(events: &[&Event]) -> bool {
    let placed = placed(events);
    let mut open = vec![Row { first: 0, behind: Vec::new(), value: None }];
    let mut known: HashSet<Row<'_>> = HashSet::new();
    while let Some(row) = open.pop() {
        if row.first >= placed.len() {
            return true;
        }
        if !known.insert(row.clone()) {
            continue;
        }
        // An event that starts after the end of one outside the row comes behind that.
        let mut limit = u64::MAX;
        for (at, event) in placed.iter().enumerate().skip(row.first) {
            if event.start > limit {
                break;
            }
            if row.behind.contains(&at) {
                continue;
            }
            limit = limit.min(event.end);
        }
        for (at, event) in placed.iter().enumerate().skip(row.first) {
            if event.start > limit {
                break;
            }
            if row.behind.contains(&at) {
                continue;
            }
            let value = match event.deed {
                Deed::Read(seen) if seen.as_deref() != row.value => None,
                Deed::Read(_) => Some(row.value),
                Deed::Wrote(value) => Some(value.as_deref()),
            };
            open.extend(value.map(|value| with(&row, at, value)));
            if event.is_optional {
                open.push(with(&row, at, row.value));
            }
        }
    }
    false
}

/// The row with one more event.
fn with<'a>(row: &Row<'a>, at: usize, value: Option<&'a [u8]>) -> Row<'a> {
    let (mut first, mut behind) = (row.first, row.behind.clone());
    behind.push(at);
    behind.sort_unstable();
    while let Some(place) = behind.iter().position(|it| *it == first) {
        behind.remove(place);
        first += 1;
    }
    Row { first, behind, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(start: u64, end: u64, deed: Deed) -> Event {
        Event { name: b"n".to_vec(), start, end: (end > 0).then_some(end), deed }
    }

    fn is_right(events: &[Event]) -> bool {
        wrong(events).is_empty()
    }

    #[test]
    fn what_is_read_was_written_and_not_yet_overwritten() {
        let (none, one, two) = (None, Some(vec![1]), Some(vec![2]));
        let wrote = |start, end, value: &Seen| event(start, end, Deed::Wrote(value.clone()));
        let read = |start, end, value: &Seen| event(start, end, Deed::Read(value.clone()));
        assert!(is_right(&[wrote(1, 2, &one), wrote(3, 4, &two), read(5, 6, &two)]));
        assert!(!is_right(&[wrote(1, 2, &one), wrote(3, 4, &two), read(5, 6, &one)]), "stale");
        assert!(is_right(&[wrote(1, 9, &one), wrote(2, 8, &two), read(10, 11, &one)]));
        assert!(
            !is_right(&[wrote(1, 9, &one), read(2, 3, &one), read(4, 5, &none)]),
            "it was there before"
        );
        assert!(is_right(&[wrote(1, 0, &one), read(20, 21, &none), read(30, 31, &one)]));
        assert!(!is_right(&[wrote(30, 0, &one), read(20, 21, &one)]), "from the future");
        assert!(is_right(&[wrote(1, 2, &one), wrote(3, 0, &none), read(9, 10, &none)]));
        assert!(is_right(&[wrote(1, 2, &one), wrote(3, 0, &none), read(9, 10, &one)]));
        assert!(!is_right(&[read(9, 10, &one)]), "out of nothing");
    }
}
