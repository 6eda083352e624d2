//! The verdict at the end of a run.

use std::fmt;

use transactions::wire::amount;

use crate::checker::{Findings, check};
use crate::engine::Engine;
use crate::figures::Count;
use crate::workload::Workload;

/// Most transactions of unknown end of which each choice is tried.
const MOST_UNKNOWN: usize = 16;

/// The verdict at the end of a run.
pub(crate) struct Verdict {
    findings: Findings,
    money: Option<Money>,
}

/// The sum of all amounts.
struct Money {
    is: i64,
    /// The sum before, plus all committed changes.
    should_be: i64,
    /// How many more may be committed.
    unknown: usize,
    /// `None`: too many ends are unknown to say so.
    holds: Option<bool>,
}

impl Engine<'_> {
    /// The sum of all amounts, as they were seen last.
    pub(crate) fn sum(&self) -> i64 {
        self.values.values().map(amount).sum()
    }
}

impl Verdict {
    /// After all rows were read; `before` is the sum of all amounts at the beginning.
    pub(crate) fn of(workload: &dyn Workload, engine: &Engine<'_>, before: i64) -> Self {
        let findings = check(&engine.history);
        let money = workload.has_money().then(|| {
            let (is, should_be) = (engine.sum(), before + engine.money);
            let unknown: Vec<i64> =
                engine.perhaps_money.iter().copied().filter(|money| *money != 0).collect();
            let holds = (unknown.len() <= MOST_UNKNOWN).then(|| {
                (0_u32..1 << unknown.len()).any(|some| {
                    let of = unknown.iter().enumerate().filter(|(at, _)| some & 1 << at != 0);
                    should_be + of.map(|(_, money)| money).sum::<i64>() == is
                })
            });
            Money { is, should_be, unknown: unknown.len(), holds }
        });
        Self { findings, money }
    }

    pub(crate) fn holds(&self) -> bool {
        let is_wrong = self.money.as_ref().is_some_and(|money| money.holds == Some(false));
        self.findings.violations == 0 && !is_wrong
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { transactions, edges, unseen, violations, told } = &self.findings;
        let [transactions, edges] = [*transactions, *edges].map(|it| Count(it as u64));
        writeln!(f, "checked: {transactions} committed transactions, {edges} edges between them")?;
        if *unseen > 0 {
            writeln!(f, "  {unseen} versions were written by transactions of unknown end")?;
        }
        told.iter().try_for_each(|what| writeln!(f, "  WRONG: {what}"))?;
        match violations {
            0 => writeln!(f, "  strictly serialisable, and each version has one writer")?,
            number => writeln!(f, "  {} violations", Count(*number as u64))?,
        }
        if let Some(Money { is, should_be, unknown, holds }) = &self.money {
            let words = match holds {
                Some(true) => "money is conserved",
                Some(false) => "WRONG: money was made or lost",
                None => "too many ends are unknown to say whether money is conserved",
            };
            write!(f, "  {words}: the sum is {is}, and should be {should_be}")?;
            if *unknown > 0 {
                write!(f, ", but for {unknown} transactions of unknown end")?;
            }
            writeln!(f)?;
        }
        writeln!(f, "{}", if self.holds() { "all checks hold" } else { "NOT ALL CHECKS HOLD" })
    }
}
