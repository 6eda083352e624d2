//! The clients' jobs, of one or two transactions. The second one depends on the reads of the first
//! one.

use transactions::wire::{Act, MOST_ROWS, Seen, Value, Want, Wants};

use crate::random::Random;

/// Rows as a transaction read them.
pub(crate) type Read = [Seen; MOST_ROWS];

/// A transaction, and the change of the sum of all amounts that it stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) wants: Wants,
    pub(crate) money: i64,
}

/// The second transaction, made of the first one's reads; `None` if there is nothing to do.
pub(crate) type Then = Box<dyn Fn(&Read) -> Option<Round>>;

/// A job. It is done from its start again if one of its transactions is aborted because of others.
pub(crate) struct Job {
    /// An index of [`Workload::KINDS`](Workload::kinds).
    pub(crate) kind: usize,
    pub(crate) first: Round,
    pub(crate) then: Option<Then>,
}

impl Job {
    /// A job of one transaction.
    pub(crate) fn once(kind: usize, wants: &[Want], money: i64) -> Self {
        Self { kind, first: Round { wants: rows(wants), money }, then: None }
    }

    /// A job that reads these rows, and then does something else.
    pub(crate) fn after_reading(
        kind: usize,
        of: &[u64],
        then: impl Fn(&Read) -> Option<Round> + 'static,
    ) -> Self {
        let wants: Vec<Want> = of.iter().map(|row| read(*row)).collect();
        Self { then: Some(Box::new(then)), ..Self::once(kind, &wants, 0) }
    }
}

/// A benchmark.
pub(crate) trait Workload {
    /// The names of its kinds of jobs.
    fn kinds(&self) -> &'static [&'static str];

    /// The rows that there are, with their first content.
    fn rows(&self, random: &mut Random) -> Vec<(u64, Value)>;

    /// The next job.
    fn job(&self, random: &mut Random) -> Job;

    /// Why a row's content can't be right.
    fn odd(&self, row: u64, value: &Value) -> Option<String>;

    /// Why a committed change of a row can't be right.
    fn odd_change(&self, row: u64, before: &Value, after: &Value) -> Option<String>;

    /// Whether amounts are money, of which none is made and none is lost.
    fn has_money(&self) -> bool;
}

/// Up to four rows of a transaction.
pub(crate) fn rows(of: &[Want]) -> Wants {
    let nothing = Want { row: 0, act: Act::Nothing };
    std::array::from_fn(|at| of.get(at).copied().unwrap_or(nothing))
}

pub(crate) const fn read(row: u64) -> Want {
    Want { row, act: Act::Read }
}

/// The row must be as it was seen.
pub(crate) const fn check(row: u64, seen: &Seen) -> Want {
    Want { row, act: Act::Check { version: seen.version } }
}

/// The row gets this value, if it is as it was seen.
pub(crate) const fn put(row: u64, seen: &Seen, value: Value) -> Want {
    Want { row, act: Act::Put { version: seen.version, value } }
}

pub(crate) const fn add(row: u64, amount: i64, floor: i64) -> Want {
    Want { row, act: Act::Add { amount, floor } }
}

/// Jobs that give rows their first content.
pub(crate) fn load(rows: &[(u64, Value)]) -> Vec<Job> {
    let jobs = rows.chunks(MOST_ROWS).map(|some| {
        let content = some.to_vec();
        let numbers: Vec<u64> = some.iter().map(|(row, _)| *row).collect();
        Job::after_reading(0, &numbers, move |seen| {
            let puts = content.iter().zip(seen).map(|((row, value), seen)| put(*row, seen, *value));
            let wants = self::rows(&puts.collect::<Vec<_>>());
            Some(Round { wants, money: 0 })
        })
    });
    jobs.collect()
}

/// Jobs that read these rows.
pub(crate) fn read_all(rows: &[u64]) -> Vec<Job> {
    let jobs = rows.chunks(MOST_ROWS).map(|some| {
        let wants: Vec<Want> = some.iter().map(|row| read(*row)).collect();
        Job::once(0, &wants, 0)
    });
    jobs.collect()
}
