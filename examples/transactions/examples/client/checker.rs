//! Whether a history is that of some run one by one, in an order that respects times.
//!
//! 1. Of each row, each version has one writer, and each read of a version has the value that its
//!    writer wrote. The first version that anybody saw needs no writer. A version without one was
//!    written by a transaction of unknown end; there are no more of these than such writers.
//! 2. There is a graph with an edge from each transaction to those that must stand behind it: from
//!    the writer of a version to its readers and to the next version's writer, and from its readers
//!    to the next version's writer (Adya's ww, wr and rw).
//! 3. A transaction that began after another one had ended stands behind that, too. A chain of the
//!    ends in order of time has an edge from each transaction to its end, and from the last end
//!    before it began to it.
//! 4. The history is strictly serialisable if, and only if, this graph has no cycle.
//!
//! A transaction of unknown end is not in the graph. So edges by way of it are missing: the checker
//! may then find less, but each violation is a true one.

use crate::history::{Access, History};

/// How many violations are put in words.
const TOLD: usize = 10;

/// The checker's findings.
#[derive(Default, Debug)]
pub(crate) struct Findings {
    pub(crate) transactions: usize,
    pub(crate) edges: usize,
    /// Versions that only a transaction of unknown end can have written.
    pub(crate) unseen: usize,
    /// The number of violations, and the first ones in words.
    pub(crate) violations: usize,
    pub(crate) told: Vec<String>,
}

impl Findings {
    pub(crate) fn wrong(&mut self, what: String) {
        self.violations += 1;
        if self.told.len() < TOLD {
            self.told.push(what);
        }
    }
}

/// Checks a history.
pub(crate) fn check(history: &History) -> Findings {
    let mut found = Findings { transactions: history.commits.len(), ..Findings::default() };
    history.wrong.iter().for_each(|what| found.wrong(what.clone()));
    let mut accesses = history.accesses.clone();
    accesses.sort_unstable_by_key(|access| (access.row, access.version, access.commit));
    let unseen_writers = history.unseen_writers();
    let mut edges = Vec::new();
    for of_row in accesses.chunk_by(|one, next| one.row == next.row) {
        let unseen = versions(of_row, &mut edges, &mut found);
        let row = of_row.first().map_or(0, |access| access.row);
        let may_be = unseen_writers.get(&row).copied().unwrap_or(0);
        found.unseen += unseen;
        if unseen > may_be {
            found.wrong(format!("row {row}: {unseen} versions were written by nobody"));
        }
    }
    in_time(history, &mut edges);
    found.edges = edges.len();
    if let Some(cycle) = cycle(2 * history.commits.len(), edges) {
        found.wrong(in_words(history, &cycle));
    }
    found
}

/// Steps 1 and 2, of the accesses of one row, by version. Returns how many versions have no known
/// writer.
fn versions(of_row: &[Access], edges: &mut Vec<(u32, u32)>, found: &mut Findings) -> usize {
    let mut unseen = 0;
    // Who accessed the version before, and the writer among them.
    let mut before: Option<(&[Access], Option<&Access>)> = None;
    for now in of_row.chunk_by(|one, next| one.version == next.version) {
        let (row, version) = now.first().map_or((0, 0), |it| (it.row, it.version));
        if let Some((earlier, writer)) = before {
            let last = earlier.first().map_or(0, |it| it.version);
            let gap = (version - last) as usize - usize::from(writer.is_some());
            unseen += gap;
            if let (0, Some(writer)) = (gap, writer) {
                edges.extend(now.iter().map(|access| (writer.commit, access.commit)));
                let is_other =
                    |it: &&Access| it.before.is_some_and(|read| Some(read) != writer.after);
                if let Some(reader) = now.iter().find(is_other) {
                    let [wrote, read] = [writer.commit, reader.commit];
                    found.wrong(format!(
                        "row {row}: {read} read version {version}, but not the value that {wrote} \
                         wrote"
                    ));
                }
            } else {
                // The writers between stand behind the one and before the other.
                let pairs = earlier.iter().flat_map(|one| now.iter().map(move |two| (one, two)));
                edges.extend(pairs.map(|(one, two)| (one.commit, two.commit)));
            }
        }
        let mut writers = now.iter().filter(|access| access.after.is_some());
        let writer = writers.next();
        if let Some(writer) = writer {
            for other in writers {
                let (one, other) = (writer.commit, other.commit);
                let number = version.wrapping_add(1);
                found.wrong(format!("row {row}: {one} and {other} both wrote version {number}"));
            }
            let readers = now.iter().filter(|access| access.commit != writer.commit);
            edges.extend(readers.map(|access| (access.commit, writer.commit)));
        }
        before = Some((now, writer));
    }
    unseen
}

/// Step 3: edges by time. The end of transaction `n` is node `commits + n`.
fn in_time(history: &History, edges: &mut Vec<(u32, u32)>) {
    let number = history.commits.len() as u32;
    let mut ends: Vec<(u64, u32)> =
        history.commits.iter().zip(0..).map(|(commit, at)| (commit.ended, at)).collect();
    ends.sort_unstable();
    edges.extend(ends.windows(2).map(|pair| (number + pair[0].1, number + pair[1].1)));
    for (commit, at) in history.commits.iter().zip(0..) {
        edges.push((at, number + at));
        let earlier = ends.partition_point(|(ended, _)| *ended < commit.began);
        if let Some((_, last)) = earlier.checked_sub(1).and_then(|last| ends.get(last)) {
            edges.push((number + last, at));
        }
    }
}

/// Step 4: a cycle, if there is one, after Kahn (CACM 1962): nodes without edges to them are taken
/// away until none is left, and each of those that stay has one before it.
fn cycle(nodes: usize, mut edges: Vec<(u32, u32)>) -> Option<Vec<u32>> {
    edges.sort_unstable();
    edges.dedup();
    let mut into = vec![0_u32; nodes];
    edges.iter().for_each(|(_, to)| into[*to as usize] += 1);
    let from = |node: u32| {
        let begin = edges.partition_point(|(from, _)| *from < node);
        edges[begin..].iter().take_while(move |(from, _)| *from == node).map(|(_, to)| *to)
    };
    let mut free: Vec<u32> = (0..nodes as u32).filter(|node| into[*node as usize] == 0).collect();
    let mut left = nodes;
    while let Some(node) = free.pop() {
        left -= 1;
        for to in from(node) {
            into[to as usize] -= 1;
            if into[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    if left == 0 {
        return None;
    }
    // Each of those that stay has one before it that stays, too.
    let mut before = vec![None; nodes];
    for (from, to) in edges {
        if into[from as usize] > 0 && into[to as usize] > 0 {
            before[to as usize] = Some(from);
        }
    }
    let mut node = before.iter().flatten().copied().next()?;
    let (mut way, mut at) = (Vec::new(), vec![None; nodes]);
    while at[node as usize].is_none() {
        at[node as usize] = Some(way.len());
        way.push(node);
        node = before[node as usize]?;
    }
    let mut cycle = way.split_off(at[node as usize]?);
    cycle.reverse();
    Some(cycle)
}

/// A cycle as a sentence.
fn in_words(history: &History, cycle: &[u32]) -> String {
    let number = history.commits.len() as u32;
    let some = cycle.iter().take(8).map(|node| match node.checked_sub(number) {
        Some(end) => format!("end of {end}"),
        None => format!("{node}"),
    });
    let some: Vec<String> = some.collect();
    let more =
        if cycle.len() > 8 { format!(" … ({} in all)", cycle.len()) } else { String::new() };
    let rows = cycle.iter().filter(|node| **node < number).take(4).map(|node| {
        let of = history.accesses.iter().filter(|access| access.commit == *node);
        let of = of.map(|it| {
            let wrote = if it.after.is_some() { " and wrote the next" } else { "" };
            format!("row {} at version {}{wrote}", it.row, it.version)
        });
        format!("{node} read {}", of.collect::<Vec<_>>().join(", "))
    });
    let rows: Vec<String> = rows.collect();
    format!("each must stand behind the one before: {}{more}; {}", some.join(", "), rows.join("; "))
}
