//! Puts that are outstanding, one of each client, and how long answered ones took.

use std::time::{Duration, Instant};

/// The puts of several clients.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// Of each client: its put's number, and when it was asked first.
    puts: Vec<Option<(u64, Instant)>>,
    took: Took,
}

impl Outstanding {
    /// None, of so many clients.
    pub(super) fn of(clients: usize) -> Self {
        Self { puts: vec![None; clients], took: Took::default() }
    }

    /// The clients that wait for nothing.
    pub(super) fn free(&self) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.puts.len()).filter(|client| self.puts[*client].is_none())
    }

    /// The numbers of all puts that wait for an answer.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + use<'_> {
        self.puts.iter().flatten().map(|(number, _)| *number)
    }

    /// A client asks.
    pub(super) fn ask(&mut self, client: usize, number: u64, now: Instant) {
        if let Some(put) = self.puts.get_mut(client) {
            *put = Some((number, now));
        }
    }

    /// Whether this is the put that the client waits for.
    pub(super) fn waits(&self, client: usize, number: u64) -> bool {
        matches!(self.puts.get(client), Some(Some((of, _))) if *of == number)
    }

    /// It is answered. `false`: it was before.
    pub(super) fn answered(&mut self, client: usize, number: u64, now: Instant) -> bool {
        let waits = self.waits(client, number);
        if waits && let Some((_, asked)) = self.puts[client].take() {
            self.took.add(now - asked);
        }
        waits
    }

    /// What answers took.
    pub(super) fn end(self) -> Took {
        self.took
    }
}

/// How long answers took.
#[derive(Clone, Debug, Default)]
pub(super) struct Took(Vec<Duration>);

impl Took {
    /// One more.
    pub(super) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Those of others, too.
    pub(super) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) const fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The median, and the 99th percentile.
    pub(super) fn percentiles(&mut self) -> [Duration; 2] {
        self.0.sort_unstable();
        [50, 99].map(|part| self.0.get(self.0.len() * part / 100).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_waits_for_one_put_and_an_answer_counts_once() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut puts = Outstanding::of(3);
        puts.ask(0, 64, at(0));
        puts.ask(2, 66, at(1));
        assert_eq!(puts.free().collect::<Vec<_>>(), [1]);
        assert_eq!(puts.numbers().collect::<Vec<_>>(), [64, 66]);
        assert!(!puts.answered(0, 1, at(2)), "another number");
        assert!(!puts.answered(7, 64, at(2)), "no such client");
        assert!(puts.answered(0, 64, at(5)));
        assert!(!puts.answered(0, 64, at(6)), "it came twice");
        assert!(puts.answered(2, 66, at(11)));
        assert_eq!(puts.free().count(), 3);
        let mut took = puts.end();
        assert_eq!((took.count(), took.percentiles()), (2, [Duration::from_millis(10); 2]));
    }

    #[test]
    fn percentiles_are_those_of_all() {
        let mut took = Took::default();
        (0..100).rev().for_each(|ms| took.add(Duration::from_millis(ms)));
        let mut all = Took::default();
        all.join(took);
        assert_eq!(all.percentiles(), [50, 99].map(Duration::from_millis));
        assert_eq!(Took::default().percentiles(), [Duration::ZERO; 2]);
    }
}
