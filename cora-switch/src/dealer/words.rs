//! Words of the coordinator and of shards, as records of the link.

use cora_runtime::link::message::{Deals, Message, Stamp};

use super::Record;
use crate::records::{Said, Told};
use crate::rules::Epoch;

/// A message as a record.
pub(super) fn encoded(message: Deals<'_>) -> Record {
    Message::from(message).encode(|kind, parts| (kind, parts.concat()))
}

/// A word to a shard, as a record. `now` is the time of the latest packet (ns of packet time).
pub(super) fn told_as(told: Told, now: u64) -> Record {
    match told {
        Told::Owns(buckets) => encoded(Deals::Owns { buckets: &buckets.to_bytes() }),
        Told::Leaving { epoch, buckets } => {
            encoded(Deals::Leaving { epoch: epoch.number(), now, buckets: &buckets.to_bytes() })
        }
        Told::Coming { epoch, buckets } => {
            encoded(Deals::Coming { epoch: epoch.number(), now, buckets: &buckets.to_bytes() })
        }
        Told::Stays { epoch, buckets } => {
            encoded(Deals::Stays { epoch: epoch.number(), buckets: &buckets.to_bytes() })
        }
        Told::Going { epoch } => encoded(Deals::Going { epoch: epoch.number() }),
        Told::Void { epoch } => encoded(Deals::Void { epoch: epoch.number() }),
        Told::Arrived { epoch } => encoded(Deals::Arrived { epoch: epoch.number() }),
    }
}

/// A word of a shard on its buckets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heard<'a> {
    /// Part of what a bucket has: an entry, one that ended, or a piece of a value.
    Part { epoch: Epoch, piece: &'a [u8] },
    /// That was all of the buckets that leave.
    Gone { epoch: Epoch },
    /// A packet that came to the shard, and is another's.
    Stray { stamp: Stamp, frame: &'a [u8] },
}

impl<'a> Heard<'a> {
    /// The word of a record; `None` if it can't be decoded, or no shard says it.
    pub(super) fn of((kind, bytes): &'a Record) -> Option<Self> {
        let Message::Deals(message) = Message::decode(*kind, bytes)? else { return None };
        match message {
            Deals::Moved { epoch, piece, .. }
            | Deals::Waits { epoch, piece, .. }
            | Deals::Value { epoch, piece, .. } => {
                Some(Self::Part { epoch: Epoch::new(epoch), piece })
            }
            Deals::Gone { epoch } => Some(Self::Gone { epoch: Epoch::new(epoch) }),
            Deals::Stray { stamp, frame } => Some(Self::Stray { stamp, frame }),
            _ => None,
        }
    }

    /// The same for the coordinator.
    pub(super) const fn said(self) -> Said<'a> {
        match self {
            Self::Part { epoch, piece } => Said::Entry { epoch, entry: piece },
            Self::Gone { epoch } => Said::Gone { epoch },
            Self::Stray { stamp, frame } => {
                Said::Stray { bucket: stamp.meta.mark.bucket, bytes: frame.len() }
            }
        }
    }
}
