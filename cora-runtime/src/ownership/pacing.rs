//! How many entries of a flow with many go or come between two bursts from the wire.

use crate::ownership::AT_ONCE;

/// Entries between two bursts while more packets wait than a burst takes. With entries of 2 KiB
/// that leaves the packets three quarters of the core.
const AMID_PACKETS: u32 = 2;

/// Full bursts in a row, at most, for which entries go so slowly. Behind them the load is more than
/// the core bears beside any entries: the wire is full, packets are lost for as long as the move
/// lasts, and a short one loses fewest.
const CROWDED: u32 = 1024;

/// Entries take the time that packets leave, where they leave enough: the wire holds few packets,
/// and what it has no room for is lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryPace {
    /// Full bursts in a row.
    full: u32,
}

impl EntryPace {
    /// So many entries may go, and as many come, before the next burst.
    #[must_use]
    pub const fn entries(self) -> u32 {
        if self.full.wrapping_sub(1) < CROWDED { AMID_PACKETS } else { AT_ONCE }
    }

    /// A burst was read from the wire, full or not; if the wire was not looked at, it is as one
    /// that was not.
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
