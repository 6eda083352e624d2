//! Frames that are offered to a shard: taken, waiting for room, or dropped for lack of it.

use std::time::{Duration, Instant};

use crate::ingress::elsewhere::Counts;

/// How long a frame of a live wire waits for room at one of several shards, while others wait
/// behind it. A NIC that takes a single frame in this time is only slow.
const MOST_WAIT: Duration = Duration::from_millis(20);

/// The fate of a frame that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    Taken,
    /// There is no room yet.
    Waits,
    /// It was dropped for lack of room, and counted.
    Dropped,
}

/// The counts of a shard's frames.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    /// Frames that were taken.
    pub(crate) taken: u64,
    /// Frames that were dropped for lack of room.
    pub(crate) nic_away: u64,
    /// Since when a frame waits for room.
    waits_since: Option<Instant>,
}

impl Offers {
    /// Adds frames that were offered at a card. It may tell any numbers.
    pub(crate) const fn add(&mut self, counts: &Counts) {
        self.taken = self.taken.saturating_add(counts.taken);
        self.nic_away = self.nic_away.saturating_add(counts.nic_away);
    }

    /// A frame was fed in.
    pub(crate) const fn took(&mut self) -> Offered {
        self.waits_since = None;
        self.taken += 1;
        Offered::Taken
    }

    /// A frame of a live wire was not: whether it waits. It is dropped if no NIC works, or if it
    /// would hold up other shards. `is_open`: there is no room, or nobody knows yet.
    pub(crate) fn did_not_take(&mut self, is_open: bool, works: bool, is_alone: bool) -> Offered {
        let waits_for = match self.waits_since {
            Some(since) => since.elapsed(),
            None if is_open => {
                self.waits_since = Some(Instant::now());
                Duration::ZERO
            }
            None => return Offered::Waits,
        };
        if !works || (!is_alone && waits_for > MOST_WAIT) {
            self.nic_away += 1;
            return Offered::Dropped;
        }
        Offered::Waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_waits_for_a_nic_that_works_and_not_for_long_before_others() {
        let mut offers = Offers::default();
        assert_eq!(offers.took(), Offered::Taken);
        // A shard that is no more than closed for a moment.
        assert_eq!(offers.did_not_take(false, false, true), Offered::Waits);
        assert_eq!(offers.did_not_take(true, true, false), Offered::Waits);
        std::thread::sleep(MOST_WAIT + Duration::from_millis(1));
        assert_eq!(offers.did_not_take(true, true, true), Offered::Waits, "nobody is behind it");
        assert_eq!(offers.did_not_take(true, true, false), Offered::Dropped);
        assert_eq!(offers.did_not_take(true, false, true), Offered::Dropped, "no NIC works");
        assert_eq!((offers.taken, offers.nic_away), (1, 2));
        offers.took();
        assert_eq!(offers.did_not_take(true, true, false), Offered::Waits, "it waits anew");
    }
}
