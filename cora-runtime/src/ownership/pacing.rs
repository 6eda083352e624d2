//! Pacing: the number of entries of a large flow that go or come between two bursts from the wire.

use crate::ownership::AT_ONCE;

/// Entries between two bursts, while more packets wait than fit a burst. With entries of 2 KiB this
/// leaves three quarters of the core to packets.
const AMID_PACKETS: u32 = 2;

/// Most full bursts in a row with slow entries. After them, the load is more than the core can bear
/// beside any entries. Then the wire is full, packets are lost for as long as the handover lasts,
/// and a short one loses fewest.
const CROWDED: u32 = 1024;

/// Fits entries into the time that packets leave, if they leave enough: the wire holds few packets,
/// and loses all beyond those.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryPace {
    /// Full bursts in a row.
    full: u32,
}

impl EntryPace {
    /// No burst was full.
    pub const NEW: Self = Self { full: 0 };

    /// Entries that may go, and as many may come, before the next burst.
    #[must_use]
    pub const fn entries(self) -> u32 {
        if self.full.wrapping_sub(1) < CROWDED { AMID_PACKETS } else { AT_ONCE }
    }

    /// Notes whether a burst from the wire was full. A wire that was not read counts as not full.
    pub const fn read(&mut self, full: bool) {
        self.full = if full { self.full.saturating_add(1) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_packets_time_as_long_as_that_helps() {
        let mut pace = EntryPace::default();
        assert_eq!(pace.entries(), AT_ONCE);
        for _ in 0..CROWDED {
            pace.read(true);
            assert_eq!(pace.entries(), AMID_PACKETS);
        }
        pace.read(true);
        assert_eq!(pace.entries(), AT_ONCE);
        pace.read(false);
        assert_eq!(pace.entries(), AT_ONCE);
        pace.read(true);
        assert_eq!(pace.entries(), AMID_PACKETS);
    }
}
