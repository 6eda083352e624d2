//! Rules of a flow table, and the operations that change them.
//!
//! A backend is hardware behind this trait, or the [`Emulated`](crate::Emulated) table. Its
//! contract is weak on purpose, since tables of NICs promise little:
//!
//! 1. The rule with the highest epoch of a bucket decides, or the default rule if there is none.
//! 2. An operation that was answered with `Ok` is in force. No later packet takes the old way.
//! 3. Operations are answered in the order in which they were asked for. They may be late, or lost
//!    without an answer. One that was done may be done again, at any later time.
//! 4. An operation that was refused has changed nothing, and never will. None is refused at once
//!    for want of room while an earlier one for the same rule is under way.
//!
//! Operations are idempotent: inserting a rule that is there, or removing one that isn't, is `Ok`.
//! A backend with few priorities maps epochs to them, and keeps their order.

use std::fmt;

use cora_core::bucket::Bucket;

use crate::Shard;

/// The number of a move, and the priority of its rules. Numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch of the default rule, below all others.
    pub const DEFAULT: Self = Self(0);

    /// The epoch with this number.
    #[inline]
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The next one, of a higher priority.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A rule: packets of a bucket go to a shard. Bucket and epoch are its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The bucket that it matches.
    pub bucket: Bucket,
    /// Its priority.
    pub epoch: Epoch,
    /// The shard that packets go to.
    pub to: Shard,
}

/// A change of a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The rule is added.
    Insert(Rule),
    /// The rule is removed.
    Remove(Rule),
}

impl Change {
    /// The rule that it adds or removes.
    #[must_use]
    pub const fn rule(&self) -> &Rule {
        match self {
            Self::Insert(rule) | Self::Remove(rule) => rule,
        }
    }
}

/// A change, asked for once. The same change may be asked for again, by another ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The asker's number for it.
    pub ticket: u64,
    /// The change.
    pub change: Change,
}

/// The answer to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The operation.
    pub operation: Operation,
    /// Whether it is in force.
    pub outcome: Result<(), Refused>,
}

/// Why a table refuses an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// The table is full.
    #[error("the flow table is full: remove a rule first")]
    NoRoom,
    /// Too many operations are under way. It may be asked for again later.
    #[error("the flow table has too many operations under way: ask again later")]
    Busy,
    /// A rule of the same bucket and epoch leads to another shard. Rules are never replaced.
    #[error("a rule of this bucket and epoch leads to {0}: insert one with a higher epoch")]
    Taken(Shard),
    /// The default rule can be neither inserted nor removed.
    #[error("epoch 0 is the default rule's: insert and remove rules with higher epochs")]
    Default,
}

/// Packets and bytes that took a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

impl Counts {
    /// Adds other counts.
    pub const fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// A flow table: see the [module](self) for its contract. It looks packets up by itself.
pub trait FlowTable {
    /// Asks for an operation, which [`poll`](Self::poll) will answer; or refuses it at once.
    fn ask(&mut self, operation: Operation, now_ns: u64) -> Result<(), Refused>;

    /// Tells each operation that was answered by now.
    fn poll(&mut self, now_ns: u64, answered: &mut dyn FnMut(Answer));

    /// Counts of a rule, found by bucket and epoch; `None` if it is not there.
    fn counts(&self, rule: &Rule) -> Option<Counts>;

    /// Counts of the default rule.
    fn default_counts(&self) -> Counts;
}
