//! Connections under watch: whether they go on, and how long they stand still.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::conversations::Conversations;

/// How long a connection may stand still. TCP doubles its waits while a link is cut.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Connections, and how long the slowest of them stood still.
#[derive(Debug)]
pub struct Watch {
    /// The connections.
    pub talks: Conversations,
    /// The exchanges of each, and since when.
    seen: Vec<(u64, Instant)>,
    /// How long the slowest stood still so far.
    pub worst: Duration,
}

impl Watch {
    /// Begins to look.
    pub fn over(talks: Conversations) -> Self {
        let seen = talks.rounds().into_iter().map(|rounds| (rounds, Instant::now())).collect();
        Self { talks, seen, worst: Duration::ZERO }
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
            sleep(Duration::from_millis(5));
        }
    }

    /// Waits until each connection has made `more` exchanges, and returns the number of those that
    /// have not in time.
    pub fn stuck(&mut self, more: u64) -> usize {
        let before = self.talks.rounds();
        let end = Instant::now() + PATIENCE;
        loop {
            self.look();
            let pairs = before.iter().zip(&self.seen);
            let stuck = pairs.filter(|(before, (now, _))| *now < **before + more).count();
            if stuck == 0 || Instant::now() > end {
                return stuck;
            }
            sleep(Duration::from_millis(5));
        }
    }
}
