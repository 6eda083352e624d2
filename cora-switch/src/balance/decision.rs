//! A move, and why.

use cora_core::bucket::BucketSet;

use super::Seen;
use crate::Shard;

/// A move of buckets between two shards, and what they were like before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The buckets.
    pub buckets: BucketSet,
    /// The overloaded shard, which owns them.
    pub from: Side,
    /// The shard that gets them.
    pub to: Side,
}

/// One of the two shards of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The shard.
    pub shard: Shard,
    /// How full its queue was in the latest interval, in percent.
    pub fill: u8,
    /// Its share of the packets of late, in percent.
    pub share: u8,
}

impl Side {
    pub(super) fn of(shard: usize, loads: &[u64], seen: &Seen<'_>) -> Self {
        let all: u128 = loads.iter().map(|load| u128::from(*load)).sum();
        let share = (u128::from(loads[shard]) * 100).checked_div(all).unwrap_or(0);
        Self {
            shard: Shard::new(shard as u16),
            fill: seen.fills[shard].unwrap_or(0),
            share: share as u8,
        }
    }
}
