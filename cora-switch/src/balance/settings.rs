//! Bounds of the policy.

/// Bounds of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A shard with a fuller queue is overloaded, in percent.
    pub full: u8,
    /// A queue that is no fuller is nearly empty, in percent.
    pub empty: u8,
    /// Intervals in a row that queues are so, before buckets move.
    pub patience: u32,
    /// Most buckets of a move.
    pub most: usize,
    /// Intervals that a bucket stays after a move.
    pub rest: u32,
    /// Packets of late of an overloaded shard, below which they say nothing.
    pub least: u64,
}

impl Settings {
    /// Shards whose packets differ by less than this part of the greater number are equal.
    pub const DIFFERS: u64 = 8;
    /// A move takes more than this part of its shard's packets, or is not worth its cost.
    pub const MATTERS: u64 = 64;
}

impl Default for Settings {
    fn default() -> Self {
        Self { full: 50, empty: 20, patience: 4, most: 8, rest: 25, least: 64 }
    }
}
