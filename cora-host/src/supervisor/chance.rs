//! Moves of buckets by chance, for tests.

use cora_core::bucket::{Bucket, BucketSet};
use cora_core::hash::FlowHasher;
use cora_switch::Shard;

/// Moves by chance.
#[derive(Debug)]
pub(super) struct Chance {
    draws: FlowHasher,
    drawn: u64,
    shards: u16,
    /// Packets until the next wish.
    left: u64,
}

impl Chance {
    /// The most buckets that move at a time, and the most packets between two moves.
    const MOST: (u64, u64) = (8, 600);

    /// Moves between so many shards. The same seed draws the same.
    pub(super) const fn new(seed: u64, shards: u16) -> Self {
        Self { draws: FlowHasher::new(seed), drawn: 0, shards, left: 1 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.drawn += 1;
        self.draws.hash_pair([self.drawn, 0]) % limit
    }

    /// A wish once in a while. The bucket of the latest packet is among those that move.
    pub(super) fn wish(&mut self, latest: Bucket) -> Option<(BucketSet, Shard)> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return None;
        }
        self.left = 1 + self.below(Self::MOST.1);
        let others = self.below(Self::MOST.0);
        let mut buckets: BucketSet =
            (0..others).map(|_| Bucket::new(self.below(256) as u8)).collect();
        buckets.add(latest);
        Some((buckets, Shard::new(self.below(self.shards.into()) as u16)))
    }
}
