//! The values that buckets begin with. A shard gets them behind the record that says that buckets
//! come, since any values that it had of them are old.

use cora_core::app::App;
use cora_core::bucket::{Bucket, BucketSet};
use cora_runtime::dealing::each_value;
use cora_runtime::link::message::Deals;

use super::Record;
use super::words::{encoded, told_as};
use crate::records::Told;
use crate::shard::Shard;

/// The values that buckets begin with.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// Of each bucket: the numbers of their states, and their pieces.
    values: Vec<Vec<(u16, Vec<u8>)>>,
    /// The buckets of the latest move.
    coming: BucketSet,
}

impl Beginnings {
    /// Those of this program, as its states are now.
    pub(super) fn of<A: App>(app: &mut A) -> Self {
        let values = Bucket::all().map(|bucket| {
            let mut values = Vec::new();
            each_value(app, bucket, &mut |state, piece| values.push((state, piece.to_vec())));
            values
        });
        Self { values: values.collect(), coming: BucketSet::EMPTY }
    }

    /// Gives a word to a shard to `push`, and behind it the values with which buckets begin.
    /// `now` is the time of the latest packet (ns of packet time).
    pub(super) fn tell(
        &mut self,
        shard: Shard,
        told: Told,
        now: u64,
        push: &mut dyn FnMut(Shard, Record),
    ) {
        let Self { values, coming } = self;
        push(shard, told_as(told, now));
        let epoch = match told {
            Told::Coming { epoch, buckets } => {
                *coming = buckets;
                epoch.number()
            }
            // They are no longer part of the move.
            Told::Stays { buckets, .. } => {
                *coming = coming.without(buckets);
                return;
            }
            Told::Void { epoch } => epoch.number(),
            _ => return,
        };
        // Any values that the shard had of them are old. They begin as any do, until others come.
        for (state, piece) in coming.iter().flat_map(|it| &values[it.number()]) {
            push(shard, encoded(Deals::Value { epoch, state: *state, piece }));
        }
    }
}
