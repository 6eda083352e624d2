//! The deal that a run begins with: its rules are inserted before the first packet, so no bucket
//! has to be handed over.

use cora_core::bucket::Bucket;

use super::asking::{self, Asking};
use super::{Coordinator, NoSuchShard};
use crate::rules::{Epoch, Rule};
use crate::{Limits, Shard, Told};

/// Rules on their way.
#[derive(Clone, Debug, Hash)]
pub(super) struct Placing {
    pub(super) asking: Asking,
    /// Where the default rule leads to.
    default: Shard,
}

impl Coordinator {
    /// As [`new`](Self::new), but each bucket is at the shard that `owner_of` gives. The first
    /// [steps](Self::step) insert the rules. Until all are in force, every packet
    /// [must wait](Self::must_wait), and shards are told nothing: then each hears of its buckets. A
    /// bucket whose rule is refused is at the default shard.
    pub fn dealt(
        limits: Limits,
        shards: u16,
        default: Shard,
        owner_of: impl Fn(Bucket) -> Shard,
    ) -> Result<Self, NoSuchShard> {
        let mut new = Self::new(limits, shards, default)?;
        new.told.clear();
        let epoch = new.epoch.next();
        let mut rules = Vec::new();
        for bucket in Bucket::all() {
            let to = owner_of(bucket);
            new.check(to)?;
            if to != default {
                new.owners.change(bucket, to, epoch);
                rules.push(Rule { bucket, epoch, to });
            }
        }
        if !rules.is_empty() {
            new.epoch = epoch;
        }
        new.placing = Some(Placing { asking: asking::inserts(rules.into_iter(), 0), default });
        Ok(new)
    }

    /// Whether packets may come: no rule of the deal is on its way.
    pub(super) fn is_placed(&mut self) -> bool {
        let Some(placing) = &mut self.placing else { return true };
        if placing.asking.unanswered() > 0 {
            return false;
        }
        let refused = std::mem::take(&mut placing.asking.refused);
        for bucket in refused.iter() {
            self.owners.change(bucket, placing.default, Epoch::DEFAULT);
        }
        self.totals.stayed += refused.len() as u64;
        self.placing = None;
        self.tell_owners();
        true
    }

    /// Tells each shard of its buckets.
    pub(super) fn tell_owners(&mut self) {
        for shard in (0..self.peers.len()).map(|number| Shard::new(number as u16)) {
            self.tell(shard, Told::Owns(self.owners.owned_by(shard)));
        }
    }
}
