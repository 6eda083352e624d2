//! Reads and writes of committed transactions, and writes that may be committed.

use std::collections::{BTreeMap, BTreeSet};

use transactions::wire::{Act, Seen, Value, Wants, amount, with_amount};

use crate::workload::Read;

/// A history: the clients' knowledge at its end.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) commits: Vec<Commit>,
    pub(crate) accesses: Vec<Access>,
    /// Rows of transactions of which nobody knows the end, each with the value to be written.
    pub(crate) perhaps: Vec<Wants>,
    /// Errors in outcomes.
    pub(crate) wrong: Vec<String>,
}

/// A committed transaction: when it was first sent, and when its outcome came (ns).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit {
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// A row of a committed transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// An index of the commits.
    pub(crate) commit: u32,
    pub(crate) row: u64,
    /// The version that it read.
    pub(crate) version: u32,
    /// A digest of the value that it read, if it did.
    pub(crate) before: Option<u64>,
    /// A digest of the value of the next version, if it wrote that.
    pub(crate) after: Option<u64>,
}

impl History {
    /// One more committed transaction.
    pub(crate) fn commit(&mut self, wants: &Wants, seen: &Read, began: u64, ended: u64) {
        let commit = self.commits.len() as u32;
        self.commits.push(Commit { began, ended });
        for (want, seen) in wants.iter().zip(seen) {
            let asked = match want.act {
                Act::Check { version } | Act::Put { version, .. } => Some(version),
                _ => None,
            };
            if asked.is_some_and(|asked| asked != seen.version) {
                let (row, version) = (want.row, seen.version);
                self.wrong.push(format!("row {row}: {asked:?} was asked for, {version} was taken"));
            }
            if want.act == Act::Nothing {
                continue;
            }
            self.accesses.push(Access {
                commit,
                row: want.row,
                version: seen.version,
                before: (!matches!(want.act, Act::Check { .. })).then(|| digest(&seen.value)),
                after: after(&want.act, seen).as_ref().map(digest),
            });
        }
    }

    /// All rows of committed transactions, and of those that may be.
    pub(crate) fn rows(&self) -> Vec<u64> {
        let perhaps = self.perhaps.iter().flatten().filter(|want| want.act != Act::Nothing);
        let rows: BTreeSet<u64> = self
            .accesses
            .iter()
            .map(|access| access.row)
            .chain(perhaps.map(|want| want.row))
            .collect();
        rows.into_iter().collect()
    }

    /// How many transactions may have changed a row unseen.
    pub(crate) fn unseen_writers(&self) -> BTreeMap<u64, usize> {
        let mut writers = BTreeMap::new();
        for want in self.perhaps.iter().flatten() {
            if matches!(want.act, Act::Put { .. } | Act::Add { .. }) {
                *writers.entry(want.row).or_default() += 1;
            }
        }
        writers
    }
}

/// The value that a committed transaction wrote.
pub(crate) fn after(act: &Act, seen: &Seen) -> Option<Value> {
    match act {
        Act::Put { value, .. } => Some(*value),
        Act::Add { amount: by, .. } => {
            Some(with_amount(seen.value, amount(&seen.value).wrapping_add(*by)))
        }
        _ => None,
    }
}

/// FNV-1a.
fn digest(value: &Value) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    value.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
