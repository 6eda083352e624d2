//! The outcomes of packets that the NIC had when it ended.
//!
//! A NIC counts outcomes itself, and sends them at its end; one that is killed sends nothing.
//! Packets of its own that left are counted at the wire anyway, separately from those that the host
//! handled, which are marked. All others are counted as [`LOST`]: packets inside the NIC or on its
//! rings, and those that its handlers dropped.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Sub};

use cora_core::packet::Port;
use cora_runtime::link::message::{Kind, Stamp};

/// The outcome of packets with a fate known only to a dead NIC.
pub(crate) const LOST: &str = "lost-with-nic";

/// Packets by egress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) transmit: u64,
    pub(crate) redirect: u64,
}

impl Ways {
    /// Counts a packet that leaves.
    pub(crate) fn note(&mut self, from: Port, egress: Port) {
        if egress == from.opposite() {
            self.transmit += 1;
        } else {
            self.redirect += 1;
        }
    }

    pub(crate) const fn total(self) -> u64 {
        self.transmit + self.redirect
    }
}

impl AddAssign for Ways {
    fn add_assign(&mut self, other: Self) {
        self.transmit += other.transmit;
        self.redirect += other.redirect;
    }
}

impl Sub for Ways {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            transmit: self.transmit.saturating_sub(other.transmit),
            redirect: self.redirect.saturating_sub(other.redirect),
        }
    }
}

/// Counters of the wire's end during the life of one NIC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Frames fed in.
    pub(crate) fed: u64,
    /// Packets that the NIC handled, and that left.
    pub(crate) from_nic: Ways,
    /// Packets that the host handled, and that left.
    pub(crate) from_host: Ways,
}

impl Tally {
    /// Counts a packet that left, in a message of this kind.
    #[inline]
    pub(crate) fn left(&mut self, kind: u16, stamp: &Stamp) {
        let ways = if kind == Kind::Send { &mut self.from_host } else { &mut self.from_nic };
        ways.note(stamp.meta.port, stamp.egress);
    }
}

/// Corrections to the reported outcomes, for NICs that reported none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    /// Packets without another outcome.
    lost: u64,
    /// Packets that the NIC handled, and that left.
    left: Ways,
    /// Packets that the host handled, but that did not leave: their outcome changes.
    stuck: Ways,
}

impl Losses {
    /// Adds the losses of a NIC that ended. `fed` frames were fed in and not returned, `handled` of
    /// them ended at the host, of which `sent` were to leave.
    pub(crate) fn add(&mut self, tally: &Tally, handled: u64, sent: Ways) {
        let stuck = sent - tally.from_host;
        self.left += tally.from_nic;
        self.stuck += stuck;
        let known = handled + tally.from_nic.total();
        self.lost += tally.fed.saturating_sub(known) + stuck.total();
    }

    /// Corrects the outcomes.
    pub(crate) fn mend(&self, outcomes: &mut BTreeMap<String, u64>) {
        for (name, more, less) in [
            ("transmit", self.left.transmit, self.stuck.transmit),
            ("redirect", self.left.redirect, self.stuck.redirect),
            (LOST, self.lost, 0),
        ] {
            if more > 0 || less > 0 {
                let count = outcomes.entry(name.into()).or_default();
                *count = (*count + more).saturating_sub(less);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_has_one_outcome() {
        let tally = Tally {
            fed: 100,
            from_nic: Ways { transmit: 40, redirect: 5 },
            from_host: Ways { transmit: 18, redirect: 0 },
        };
        let mut losses = Losses::default();
        // The host handled 30: 7 dropped, 23 sent, of which 5 stuck in the NIC. 25 are in it, or
        // were dropped there.
        losses.add(&tally, 30, Ways { transmit: 20, redirect: 3 });
        let told = [("transmit", 20), ("redirect", 3), ("not-ip", 7)];
        let mut outcomes = BTreeMap::from(told.map(|(name, count)| (name.to_owned(), count)));
        losses.mend(&mut outcomes);
        let all: Vec<_> = outcomes.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(all, [(LOST, 30), ("not-ip", 7), ("redirect", 5), ("transmit", 58)]);
        assert_eq!(outcomes.values().sum::<u64>(), 100);
    }
}
