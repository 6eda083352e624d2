//! Connections while processes and links fail: how long the slowest of them stands still.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::conversations::Conversations;

/// How often the connections are looked at.
const OFTEN: Duration = Duration::from_millis(5);

/// Connections, and how long the slowest of them stood still.
#[derive(Debug)]
pub struct Watch {
    /// The connections.
    pub talks: Conversations,
    /// How long one may.
    patience: Duration,
    /// The exchanges of each, and since when.
    seen: Vec<(u64, Instant)>,
    /// The longest time that one stood still, since the beginning.
    pub worst: Duration,
}

impl Watch {
    /// Looks at connections that may stand still for so long.
    pub fn over(talks: Conversations, patience: Duration) -> Self {
        let seen = talks.rounds().into_iter().map(|rounds| (rounds, Instant::now())).collect();
        Self { talks, patience, seen, worst: Duration::ZERO }
    }

    /// Begins to measure how long they stand still.
    pub fn begin(&mut self) {
        self.worst = Duration::ZERO;
    }

    fn look(&mut self) {
        for ((seen, since), now) in self.seen.iter_mut().zip(self.talks.rounds()) {
            self.worst = self.worst.max(since.elapsed());
            if *seen != now {
                (*seen, *since) = (now, Instant::now());
            }
        }
    }

    /// Looks on for so long.
    pub fn pass(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.look();
            sleep(OFTEN);
        }
    }

    /// Looks on until there is something, but no longer than this.
    pub fn until<T>(
        &mut self,
        at_most: Duration,
        mut find: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + at_most;
        loop {
            if let Some(found) = find() {
                return Some(found);
            }
            if Instant::now() > end {
                return None;
            }
            self.look();
            sleep(OFTEN);
        }
    }

    /// Waits until each connection has made `more` exchanges; returns the number of those that
    /// have not in time.
    pub fn stuck(&mut self, more: u64) -> usize {
        let before = self.talks.rounds();
        let end = Instant::now() + self.patience;
        loop {
            self.look();
            let pairs = before.iter().zip(&self.seen);
            let stuck = pairs.filter(|(before, (now, _))| *now < **before + more).count();
            if stuck == 0 || Instant::now() > end {
                return stuck;
            }
            sleep(OFTEN);
        }
    }
}
