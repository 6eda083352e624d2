//! The owner of each bucket, and the rule that leads to it.

use std::hash::{Hash, Hasher};

use cora_core::bucket::{Bucket, BucketSet};

use crate::Shard;
use crate::rules::{Epoch, Rule};

/// An owner, and the epoch of the rule that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owner {
    shard: Shard,
    epoch: Epoch,
}

/// The owners of all buckets.
#[derive(Clone, Debug)]
pub(super) struct Owners([Owner; Bucket::COUNT]);

impl Owners {
    /// All buckets at one shard, by the default rule.
    pub(super) const fn all_at(shard: Shard) -> Self {
        Self([Owner { shard, epoch: Epoch::DEFAULT }; Bucket::COUNT])
    }

    #[inline]
    pub(super) const fn of(&self, bucket: Bucket) -> Shard {
        self.0[bucket.number()].shard
    }

    /// The buckets of a shard.
    pub(super) fn owned_by(&self, shard: Shard) -> BucketSet {
        Bucket::all().filter(|bucket| self.of(*bucket) == shard).collect()
    }

    /// Changes the owner, and returns the rule that led to the old one.
    pub(super) const fn change(&mut self, bucket: Bucket, to: Shard, epoch: Epoch) -> Rule {
        let owner = &mut self.0[bucket.number()];
        let old = Rule { bucket, epoch: owner.epoch, to: owner.shard };
        *owner = Owner { shard: to, epoch };
        old
    }
}

/// By runs of equal owners: a model checker hashes millions of states, and few buckets move.
impl Hash for Owners {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for run in self.0.chunk_by(PartialEq::eq) {
            (run.len(), run.first()).hash(state);
        }
    }
}
