//! Losses of a tap: copies without room, and packets that busy sides passed by.

use std::collections::BTreeMap;

/// The counts of all halves.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Copies that found no room, by shard and place.
    missed: BTreeMap<(u16, &'static str), u64>,
    /// Packets that were passed by, by shard and side.
    passed: BTreeMap<(u16, &'static str), u64>,
}

impl Lost {
    /// A half told its counts so far.
    pub(super) fn note(&mut self, shard: u16, side: &'static str, missed: u32, passed: u32) {
        self.missed.insert((shard, side), missed.into());
        self.passed.insert((shard, side), passed.into());
    }

    /// So many copies found no room behind a shard's halves.
    pub(super) fn on_the_way(&mut self, shard: u16, copies: u64) {
        self.missed.insert((shard, "way"), copies);
    }

    pub(super) fn missed(&self) -> u64 {
        self.missed.values().sum()
    }

    pub(super) fn passed_by(&self) -> u64 {
        self.passed.values().sum()
    }
}
