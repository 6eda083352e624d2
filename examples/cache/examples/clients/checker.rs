//! Whether a history of reads and writes is linearizable: each operation as though it were executed
//! at one moment between its beginning and its end.
//!
//! Every write has a value of its own, so a value's operations belong together, and the test takes
//! no search (Gibbons and Korach, Testing Shared Memories, 1997). From the first end of a value's
//! operations to their last beginning the item has that value for sure, if that is an interval;
//! otherwise the value may have been there in between for a moment alone.

use std::collections::BTreeMap;
use std::fmt;

/// An operation on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) item: u32,
    pub(crate) is_write: bool,
    /// The value that was written or read; 0 before the first write.
    pub(crate) value: u64,
    pub(crate) begin: u64,
    /// [`NEVER`] if nobody knows whether it was executed.
    pub(crate) end: u64,
}

/// The end of an operation without an answer.
pub(crate) const NEVER: u64 = u64::MAX;

/// Why no order of an item's operations is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A value was read that nobody had written.
    Unwritten { item: u32, value: u64 },
    /// A value was read before its write began.
    Early { item: u32, value: u64 },
    /// Each was there before the other one was gone.
    Both { item: u32, values: [u64; 2] },
    /// The first was there all the time in which the second must have been.
    Within { item: u32, values: [u64; 2] },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwritten { item, value } => write!(f, "item {item}: nobody wrote {value:x}"),
            Self::Early { item, value } => {
                write!(f, "item {item}: {value:x} was read before it was written")
            }
            Self::Both { item, values: [one, other] } => {
                write!(f, "item {item}: {one:x} was read after {other:x}, and {other:x} after it")
            }
            Self::Within { item, values: [one, other] } => {
                write!(f, "item {item}: {one:x} was read before and after {other:x}")
            }
        }
    }
}

/// A value's operations.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    value: u64,
    written: Option<u64>,
    first_end: u64,
    last_begin: u64,
    is_read: bool,
    /// A read ended before the write began.
    is_early: bool,
}

/// Checks all items. Returns an item's first fault, for each that has one.
pub(crate) fn check(operations: &mut [Operation]) -> Vec<Fault> {
    operations.sort_unstable_by_key(|it| (it.item, it.value, !it.is_write, it.begin));
    let items = operations.chunk_by(|one, other| one.item == other.item);
    items.filter_map(|of_item| check_item(of_item).err()).collect()
}

/// Checks the operations of one item, sorted by their values, each with its write first.
fn check_item(operations: &[Operation]) -> Result<(), Fault> {
    let item = operations.first().map_or(0, |first| first.item);
    let mut certain: BTreeMap<u64, Cluster> = BTreeMap::new();
    let mut momentary = Vec::new();
    for of_value in operations.chunk_by(|one, other| one.value == other.value) {
        let cluster = cluster(of_value);
        let value = cluster.value;
        if cluster.written.is_none() {
            return Err(Fault::Unwritten { item, value });
        }
        if cluster.is_early {
            return Err(Fault::Early { item, value });
        }
        // A write without an answer that nobody read may never have been executed.
        if cluster.first_end == NEVER {
            continue;
        }
        if cluster.first_end < cluster.last_begin {
            if let Some(other) = certain.insert(cluster.first_end, cluster) {
                return Err(Fault::Both { item, values: [value, other.value] });
            }
        } else {
            momentary.push(cluster);
        }
    }
    for (one, other) in certain.values().zip(certain.values().skip(1)) {
        if other.first_end < one.last_begin {
            return Err(Fault::Both { item, values: [one.value, other.value] });
        }
    }
    for inner in momentary {
        // It must have been there between these two moments.
        let (from, to) = (inner.last_begin, inner.first_end);
        if let Some((_, outer)) = certain.range(..from).next_back()
            && to < outer.last_begin
        {
            return Err(Fault::Within { item, values: [outer.value, inner.value] });
        }
    }
    Ok(())
}

fn cluster(operations: &[Operation]) -> Cluster {
    let (value, write) = match operations.first() {
        Some(first) if first.is_write => (first.value, Some(first.begin)),
        // The first value was written before anybody began.
        Some(Operation { value: 0, .. }) => (0, Some(0)),
        first => (first.map_or(0, |first| first.value), None),
    };
    let mut cluster = Cluster {
        value,
        written: write,
        first_end: if value == 0 { 0 } else { NEVER },
        last_begin: write.unwrap_or(0),
        is_read: false,
        is_early: false,
    };
    for operation in operations {
        cluster.first_end = cluster.first_end.min(operation.end);
        cluster.last_begin = cluster.last_begin.max(operation.begin);
        if !operation.is_write {
            cluster.is_read = true;
            cluster.is_early |= write.is_some_and(|begin| operation.end < begin);
        }
    }
    cluster
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn operation(is_write: bool, value: u64, begin: u64, end: u64) -> Operation {
        Operation { item: 0, is_write, value, begin, end }
    }

    fn write(value: u64, begin: u64, end: u64) -> Operation {
        operation(true, value, begin, end)
    }

    fn read(value: u64, begin: u64, end: u64) -> Operation {
        operation(false, value, begin, end)
    }

    #[test]
    fn what_is_right_has_no_fault() {
        for history in [
            vec![],
            vec![read(0, 1, 2), write(1, 3, 6), read(0, 4, 5), read(1, 4, 5), read(1, 7, 8)],
            vec![write(1, 1, 9), write(2, 2, 8), read(1, 3, 4), read(2, 5, 6), read(2, 10, 11)],
            // Nobody knows when the first one was executed, or whether.
            vec![write(1, 1, NEVER), write(2, 3, 4), read(2, 5, 6), read(1, 7, 8)],
            vec![write(1, 1, NEVER), write(2, 3, 4), read(2, 5, 6)],
        ] {
            assert_eq!(check(&mut history.clone()), [], "{history:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (history, fault) in [
            (vec![read(7, 1, 2)], Fault::Unwritten { item: 0, value: 7 }),
            (vec![read(7, 1, 2), write(7, 3, 4)], Fault::Early { item: 0, value: 7 }),
            (
                vec![write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)],
                Fault::Within { item: 0, values: [1, 2] },
            ),
            (
                vec![
                    write(1, 1, 9),
                    write(2, 1, 9),
                    read(1, 2, 3),
                    read(2, 4, 5),
                    read(1, 6, 7),
                    read(2, 8, 9),
                ],
                Fault::Both { item: 0, values: [1, 2] },
            ),
            (vec![write(1, 1, 2), read(0, 3, 4)], Fault::Within { item: 0, values: [0, 1] }),
        ] {
            assert_eq!(check(&mut history.clone()), [fault], "{history:?}");
        }
    }

    /// Tries all orders.
    fn by_search(history: &[Operation]) -> bool {
        fn goes_on(history: &[Operation], done: u32, value: u64) -> bool {
            let open = |at: &usize| done >> at & 1 == 0;
            let all: Vec<usize> = (0..history.len()).filter(open).collect();
            if all.iter().all(|at| history[*at].end == NEVER) {
                return true;
            }
            all.iter().any(|at| {
                let it = history[*at];
                let is_first = all.iter().all(|other| history[*other].end >= it.begin);
                let fits = it.is_write || it.value == value;
                is_first && fits && goes_on(history, done | 1 << at, it.value)
            })
        }
        goes_on(history, 0, 0)
    }

    /// Random histories of a register that is right, or forgets now and then.
    #[test]
    fn the_verdict_is_that_of_a_search_through_all_orders() {
        let mut random = Random::new(11);
        let mut wrong = 0;
        for _ in 0..20_000 {
            let mut history = Vec::new();
            let (mut value, mut before, mut next) = (0, 0, 1);
            for at in 0..7 {
                let now = at * 10 + 20;
                let (begin, end) = (now - random.below(19), now + random.below(19));
                let forgets = random.below(9) == 0;
                if random.below(5) < 2 {
                    (before, value) = (value, next);
                    next += 1;
                    let end = if random.below(8) == 0 { NEVER } else { end };
                    history.push(write(value, begin, end));
                } else {
                    history.push(read(if forgets { before } else { value }, begin, end));
                }
            }
            let expected = by_search(&history);
            wrong += u32::from(!expected);
            assert_eq!(check(&mut history.clone()).is_empty(), expected, "{history:?}");
        }
        assert!((1_000..19_000).contains(&wrong), "{wrong} are wrong");
    }
}
