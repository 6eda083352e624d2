//! Control records between the supervisor and shards, without their encoding.

use cora_core::bucket::{Bucket, BucketSet};

use crate::rules::Epoch;

/// A record for a shard, in order with the frames of its in-queue. Entries of buckets that come are
/// further records there: they are passed on as their old owner [said](Said::Entry) them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// These buckets are the shard's. It is the first record of a shard that starts, which has no
    /// entries yet.
    Owns(BucketSet),
    /// A move takes these buckets away from the shard. It goes on handling them, but must not let
    /// entries expire ahead of their packets' time: the new owner may have older packets.
    Leaving {
        /// The move.
        epoch: Epoch,
        /// Its buckets.
        buckets: BucketSet,
    },
    /// A move brings these buckets to the shard. It holds their frames from now on.
    Coming {
        /// The move.
        epoch: Epoch,
        /// Its buckets.
        buckets: BucketSet,
    },
    /// These buckets stay after all, since the flow table has no room for their rules. The shard
    /// that they left has them as before. The shard that they came to returns any held frames.
    Stays {
        /// The move.
        epoch: Epoch,
        /// The buckets that stay.
        buckets: BucketSet,
    },
    /// No frame of the move's buckets follows. The shard sends their entries, then [`Said::Gone`].
    Going {
        /// The move.
        epoch: Epoch,
    },
    /// Entries of this move that came so far are to be dropped: they are no longer complete.
    Void {
        /// The move.
        epoch: Epoch,
    },
    /// All entries are there. The shard handles the held frames in their order, and owns the
    /// buckets.
    Arrived {
        /// The move.
        epoch: Epoch,
    },
}

/// A record of a shard, in order with the output frames of its out-queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Said<'a> {
    /// An entry of buckets that go.
    Entry {
        /// The move.
        epoch: Epoch,
        /// The entry's encoding.
        entry: &'a [u8],
    },
    /// All frames of the move's buckets were handled, and all entries sent.
    Gone {
        /// The move.
        epoch: Epoch,
    },
    /// The shard returns a frame, because it neither owns nor expects the frame's bucket.
    Stray {
        /// The frame's bucket.
        bucket: Bucket,
        /// Length of the frame.
        bytes: usize,
    },
}
