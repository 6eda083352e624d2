//! Errors of the coordinator's inputs, each with the one that is at fault.

use crate::Shard;
use crate::rules::Epoch;

/// A shard said a thing that no sound shard says. The coordinator has ignored it. The supervisor
/// should end the shard, and tell that it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{shard} {lie}")]
pub struct Fault {
    /// The shard at fault.
    pub shard: Shard,
    /// The fault.
    pub lie: Lie,
}

/// A fault of a shard's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Lie {
    /// An entry outside of a move, or of another move, or from another shard than it leaves.
    #[error("sends an entry of move {0}: only the shard that buckets leave may, after its marker")]
    Entry(Epoch),
    /// An end of a move that is not under way, or from another shard than it leaves.
    #[error("ends move {0}: only the shard that buckets leave may, after its marker")]
    Gone(Epoch),
    /// More bytes of entries than all buckets of a move may have.
    #[error("sends more than {0} bytes of entries: a move may have that many")]
    Entries(u64),
    /// It returns more frames than it got of buckets that were not its own.
    #[error("returns a frame, but got no other frame that it should not handle itself")]
    Stray,
    /// It was told to be dead, or was never there.
    #[error("speaks, but is not running: start it again, and tell that")]
    Down,
}

/// There is no such shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("there is no {shard}: shards are numbered from 0 to {last}")]
pub struct NoSuchShard {
    /// The number that was given.
    pub shard: Shard,
    /// The highest number.
    pub last: usize,
}
