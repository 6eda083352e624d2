//! The figures of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use transactions::wire::Ended;

/// Numbers of a run.
#[derive(Default)]
pub(crate) struct Figures {
    /// By kind of job.
    pub(crate) kinds: BTreeMap<usize, Kind>,
    /// Transactions by their ends.
    pub(crate) ended: BTreeMap<Ended, u64>,
    /// Datagrams that were sent again.
    pub(crate) again: u64,
    /// Transactions of which no end is known.
    pub(crate) unknown: u64,
    /// Datagrams that are no outcome, or that of nobody's transaction any more.
    pub(crate) strange: u64,
}

/// Jobs of one kind.
#[derive(Default)]
pub(crate) struct Kind {
    pub(crate) done: u64,
    /// There was nothing to do: a row was not there, or an amount too low.
    pub(crate) in_vain: u64,
    /// From the first datagram of a job to its end (µs).
    pub(crate) times: Vec<u32>,
}

impl Figures {
    pub(crate) fn done(&self) -> u64 {
        self.kinds.values().map(|kind| kind.done + kind.in_vain).sum()
    }

    pub(crate) fn end_of(&self, ended: Ended) -> u64 {
        self.ended.get(&ended).copied().unwrap_or(0)
    }

    /// The table of a run that took so long.
    pub(crate) fn table(&mut self, names: &[&str], took: Duration) -> String {
        let mut all: Vec<u32> = Vec::new();
        let mut text =
            format!("{:<24}{:>12}{:>12}{:>12}{:>12}\n", "job", "done", "in vain", "p50", "p99");
        for (at, kind) in &mut self.kinds {
            let name = names.get(*at).copied().unwrap_or_default();
            text += &line(name, kind.done, kind.in_vain, &mut kind.times);
            all.extend(&kind.times);
        }
        let sum = |of: fn(&Kind) -> u64| self.kinds.values().map(of).sum();
        text += &line("all", sum(|it| it.done), sum(|it| it.in_vain), &mut all);
        let second = took.as_secs_f64().max(1e-9);
        text += &format!("{:.0} jobs a second, in {second:.1} s\n", self.done() as f64 / second);
        text += &format!("{self}\n");
        text
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |ended| Count(self.end_of(ended));
        write!(f, "transactions: {} committed; ", of(Ended::Committed))?;
        write!(
            f,
            "aborted: {} another version, {} locked, ",
            of(Ended::Changed),
            of(Ended::Locked)
        )?;
        write!(f, "{} too low, {} unanswered; ", of(Ended::TooLow), of(Ended::Unanswered))?;
        write!(f, "{} unknown; {} datagrams sent again", Count(self.unknown), Count(self.again))
    }
}

fn line(name: &str, done: u64, in_vain: u64, times: &mut [u32]) -> String {
    times.sort_unstable();
    let [median, tail] = [50, 99].map(|percent| {
        let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        Micros(times.get(at).copied().unwrap_or(0)).to_string()
    });
    let (done, in_vain) = (Count(done).to_string(), Count(in_vain).to_string());
    format!("{name:<24}{done:>12}{in_vain:>12}{median:>12}{tail:>12}\n")
}

/// A number with commas.
pub(crate) struct Count(pub(crate) u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                write!(f, ",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A time of so many microseconds.
struct Micros(u32);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 10_000 {
            write!(f, "{} µs", self.0)
        } else {
            write!(f, "{:.1} ms", f64::from(self.0) / 1e3)
        }
    }
}
