//! A tap under way at all halves: for a capture, or for packets that are followed.

use cora_runtime::link::message::Questions;

use crate::inspect::tapping::Tapping;
use crate::inspect::tracing::Tracing;

/// A tap under way.
pub(super) enum Watching {
    Tap(Box<Tapping>),
    Trace(Tracing),
}

impl Watching {
    /// The order for halves.
    pub(super) fn order(&self) -> Questions<'_> {
        match self {
            Self::Tap(tapping) => tapping.order(),
            Self::Trace(tracing) => tracing.order(),
        }
    }

    /// The order that ends any.
    pub(super) const fn end() -> Questions<'static> {
        Questions::Tap { tap: 0, points: 0, every: 1, snap: 0, left: 0, filter: &[] }
    }

    /// Takes a record of a shard's halves.
    pub(super) fn take(&mut self, shard: u16, told: &Questions<'_>) {
        match self {
            Self::Tap(tapping) => tapping.take(shard, told),
            Self::Trace(tracing) => tracing.take(shard, told),
        }
    }

    /// Whether it is over. Now and then writes waiting records.
    pub(super) fn is_over(&mut self) -> bool {
        match self {
            Self::Tap(tapping) => tapping.is_over(),
            Self::Trace(tracing) => tracing.is_over(),
        }
    }
}
