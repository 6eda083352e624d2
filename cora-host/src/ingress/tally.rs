//! Packets that left, by the side that handled them: the wire knows them even if a side dies before
//! it can report its counts.

use cora_core::message::ELSEWHERE;
use cora_runtime::link::message::{Kind, Stamp};

/// Packets by egress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) transmit: u64,
    pub(crate) redirect: u64,
    /// Packets that handlers sent besides those that they handled.
    pub(crate) made: u64,
    /// Messages for flows of other shards.
    pub(crate) crossed: u64,
}

impl Ways {
    /// Counts a packet that leaves.
    pub(crate) fn note(&mut self, stamp: &Stamp) {
        if stamp.leaves_at() == ELSEWHERE {
            self.crossed += 1;
        } else if stamp.is_made() {
            self.made += 1;
        } else if stamp.egress == stamp.meta.port.opposite() {
            self.transmit += 1;
        } else {
            self.redirect += 1;
        }
    }

    /// Packets that came and left.
    pub(crate) const fn handled(self) -> u64 {
        self.transmit.saturating_add(self.redirect)
    }

    /// Everything that left.
    pub(crate) const fn total(self) -> u64 {
        self.handled().saturating_add(self.made).saturating_add(self.crossed)
    }
}

/// Counters of the wire's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Packets that the NIC handled, and that left.
    pub(crate) from_nic: Ways,
    /// Packets that the host handled, and that left.
    pub(crate) from_host: Ways,
}

impl std::ops::AddAssign for Ways {
    fn add_assign(&mut self, more: Self) {
        // A card may tell any numbers.
        self.transmit = self.transmit.saturating_add(more.transmit);
        self.redirect = self.redirect.saturating_add(more.redirect);
        self.made = self.made.saturating_add(more.made);
        self.crossed = self.crossed.saturating_add(more.crossed);
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.from_nic += more.from_nic;
        self.from_host += more.from_host;
    }
}

impl Tally {
    /// Counts a packet that left, in a message of this kind.
    #[inline]
    pub(crate) fn left(&mut self, kind: u16, stamp: &Stamp) {
        let ways = if kind == Kind::Send { &mut self.from_host } else { &mut self.from_nic };
        ways.note(stamp);
    }
}
