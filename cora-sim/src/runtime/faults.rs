//! Counts of the faults of a run, by kind.

use std::fmt;

/// Counts of faults and other events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A side paused.
    pub delays: u64,
    /// A side was served again before the others were.
    pub reordered: u64,
    /// The NIC waited for room on a ring.
    pub nic_waits: u64,
    /// A message of the host waited for room on the ring.
    pub host_waits: u64,
    /// The wire was held back.
    pub wire_waits: u64,
    /// Frames that sent only their heads to the host.
    pub heads: u64,
    /// Orders to move a flow, or to admit others.
    pub orders: u64,
    /// The NIC was killed.
    pub nic_kills: u64,
    /// The host was killed.
    pub host_kills: u64,
    /// A half sent other records than it should, or omitted one.
    pub lies: u64,
    /// An error was detected while a half lied.
    pub lies_noticed: u64,
    /// The wall clock was set.
    pub wall_steps: u64,
    /// Buckets were wished to another shard.
    pub wishes: u64,
    /// Moves of buckets that are over.
    pub bucket_moves: u64,
    /// Moves whose buckets began afresh, since a half died.
    pub afresh: u64,
    /// Buckets stayed, because the flow table had no room for their rules.
    pub stayed: u64,
    /// Operations of the flow table were lost, or done twice.
    pub rule_faults: u64,
    /// A packet came to the wrong shard.
    pub strays: u64,
    /// Expired entries went along with their buckets, before their hooks ran.
    pub ends_moved: u64,
    /// An operator listed places of a table, or removed an entry.
    pub questions: u64,
}

/// Names of the counts, for reports.
pub const FAULTS: [&str; 20] = [
    "delays",
    "reordered",
    "nic-waits",
    "host-waits",
    "wire-waits",
    "heads",
    "orders",
    "nic-kills",
    "host-kills",
    "lies",
    "lies-noticed",
    "wall-steps",
    "wishes",
    "bucket-moves",
    "afresh",
    "stayed",
    "rule-faults",
    "strays",
    "ends-moved",
    "questions",
];

impl Faults {
    /// Returns the counts in the order of [`FAULTS`].
    pub const fn counts(&self) -> [u64; FAULTS.len()] {
        let Self {
            delays,
            reordered,
            nic_waits,
            host_waits,
            wire_waits,
            heads,
            orders,
            nic_kills,
            host_kills,
            lies,
            lies_noticed,
            wall_steps,
            wishes,
            bucket_moves,
            afresh,
            stayed,
            rule_faults,
            strays,
            ends_moved,
            questions,
        } = *self;
        [
            delays,
            reordered,
            nic_waits,
            host_waits,
            wire_waits,
            heads,
            orders,
            nic_kills,
            host_kills,
            lies,
            lies_noticed,
            wall_steps,
            wishes,
            bucket_moves,
            afresh,
            stayed,
            rule_faults,
            strays,
            ends_moved,
            questions,
        ]
    }

    /// Adds the counts of another run.
    pub const fn add(&mut self, other: &Self) {
        self.delays += other.delays;
        self.reordered += other.reordered;
        self.nic_waits += other.nic_waits;
        self.host_waits += other.host_waits;
        self.wire_waits += other.wire_waits;
        self.heads += other.heads;
        self.orders += other.orders;
        self.nic_kills += other.nic_kills;
        self.host_kills += other.host_kills;
        self.lies += other.lies;
        self.lies_noticed += other.lies_noticed;
        self.wall_steps += other.wall_steps;
        self.wishes += other.wishes;
        self.bucket_moves += other.bucket_moves;
        self.afresh += other.afresh;
        self.stayed += other.stayed;
        self.rule_faults += other.rule_faults;
        self.strays += other.strays;
        self.ends_moved += other.ends_moved;
        self.questions += other.questions;
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, count)) in FAULTS.iter().zip(self.counts()).enumerate() {
            write!(f, "{}{name} {count}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
