//! Observations of an interval.

use cora_core::bucket::Bucket;

use crate::Shard;

/// A value for each bucket, by its number.
pub type PerBucket<T> = [T; Bucket::COUNT];

/// What is known at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Packets of each bucket that came in the interval.
    pub packets: &'a PerBucket<u64>,
    /// The owner of each bucket.
    pub owners: &'a PerBucket<Shard>,
    /// By shard, how full its queue was on average, in percent; `None` for a shard that doesn't
    /// work, which neither gives nor gets buckets. There are no other shards.
    pub fills: &'a [Option<u8>],
}
