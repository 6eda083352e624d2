//! Wishes that wait for their moves.

use std::collections::VecDeque;

use cora_core::bucket::BucketSet;

use super::owners::Owners;
use crate::Shard;

/// A wish: these buckets are to be at this shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wish {
    pub(super) buckets: BucketSet,
    pub(super) to: Shard,
}

/// Wishes, the oldest first. Each bucket is in one at most, so there are never more than buckets.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Wishes(VecDeque<Wish>);

impl Wishes {
    /// Adds a wish, which replaces older wishes for its buckets.
    pub(super) fn add(&mut self, wish: Wish) {
        for older in &mut self.0 {
            older.buckets = older.buckets.without(wish.buckets);
        }
        self.0.push_back(wish);
        self.0.retain(|wish| !wish.buckets.is_empty());
    }

    /// Takes the oldest wish that a move can begin for: its buckets that one shard owns, and that
    /// shard. Buckets of other owners go on waiting. Wishes for shards that are `down` do, too.
    pub(super) fn take(
        &mut self,
        owners: &Owners,
        is_down: impl Fn(Shard) -> bool,
    ) -> Option<(Shard, Wish)> {
        // A wish that came true already is nothing.
        for wish in &mut self.0 {
            let there = wish.buckets.iter().filter(|it| owners.of(*it) == wish.to);
            wish.buckets = wish.buckets.without(there.collect());
        }
        self.0.retain(|wish| !wish.buckets.is_empty());
        let wish = self.0.iter_mut().find(|wish| !is_down(wish.to))?;
        let from = wish.buckets.first().map(|first| owners.of(first))?;
        let of_it = wish.buckets.iter().filter(|it| owners.of(*it) == from);
        let buckets: BucketSet = of_it.collect();
        let taken = Wish { buckets, to: wish.to };
        wish.buckets = wish.buckets.without(buckets);
        self.0.retain(|wish| !wish.buckets.is_empty());
        Some((from, taken))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of buckets that wait.
    pub(super) fn buckets(&self) -> usize {
        self.0.iter().map(|wish| wish.buckets.len()).sum()
    }
}
