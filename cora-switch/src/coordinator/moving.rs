//! A move of buckets from one shard to another.

use cora_core::bucket::{Bucket, BucketSet};

use super::asking::Asking;
use super::report::{Phase, UnderWay};
use crate::Shard;
use crate::rules::Epoch;

/// Frames that the new owner holds.
#[derive(Clone, Copy, Debug, Hash, Default)]
pub(super) struct Held {
    pub(super) frames: u64,
    pub(super) bytes: u64,
}

/// Entries on their way.
#[derive(Clone, Copy, Debug, Hash, Default)]
pub(super) struct Entries {
    /// Bytes that the old owner sent.
    pub(super) bytes: u64,
    /// The new owner, as it runs now, got some.
    pub(super) are_there: bool,
    /// Some were lost with the new owner, so the others are of no use.
    pub(super) are_void: bool,
}

/// The move.
#[derive(Clone, Debug, Hash)]
pub(super) struct Move {
    pub(super) epoch: Epoch,
    pub(super) from: Shard,
    pub(super) to: Shard,
    pub(super) buckets: BucketSet,
    pub(super) phase: Phase,
    /// Rule operations of this phase.
    pub(super) asking: Asking,
    pub(super) held: Held,
    pub(super) entries: Entries,
    pub(super) begun_ns: u64,
    /// Time of the latest packet at the beginning, or of the first one since.
    pub(super) packet_ns: Option<u64>,
}

impl Move {
    /// Whether the new owner holds frames of the move's buckets.
    pub(super) fn is_held(&self) -> bool {
        self.phase != Phase::Removing
    }

    /// Whether a shard handles or holds frames of this bucket that are pushed to it now; `None` if
    /// the bucket is not part of the move, or has moved.
    pub(super) fn is_taken(&self, bucket: Bucket, by: Shard) -> Option<bool> {
        let is_of_it = self.buckets.has(bucket) && self.is_held();
        let handles = self.phase == Phase::Inserting && by == self.from;
        is_of_it.then_some(by == self.to || handles)
    }

    /// Whether this shard may send entries now, and end this move.
    pub(super) fn is_handed(&self, epoch: Epoch, from: Shard) -> bool {
        self.phase == Phase::Handing && self.epoch == epoch && self.from == from
    }

    pub(super) fn under_way(&self, now_ns: u64) -> UnderWay {
        UnderWay {
            epoch: self.epoch,
            from: self.from,
            to: self.to,
            buckets: self.buckets.len(),
            phase: self.phase,
            unanswered: self.asking.unanswered(),
            held_bytes: self.held.bytes,
            for_ns: now_ns.saturating_sub(self.begun_ns),
        }
    }
}
