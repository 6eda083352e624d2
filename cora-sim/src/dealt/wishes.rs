//! Which buckets are to be at which shard: the deal at the beginning, and wishes by chance.

use cora_core::bucket::{Bucket, BucketSet};
use cora_runtime::steering::Deal;

use super::{Run, numbered};
use crate::apps::SimApp;
use crate::story;

impl<A: SimApp> Run<'_, A> {
    /// Deals the buckets before the first packet: as the plan does, or some of them by chance.
    pub(super) fn deal_first(&mut self) {
        let shards = self.shards.len();
        if self.conditions.by_plan && self.conditions.shards[0] == self.conditions.shards[1] {
            let deal = Deal::of_plan(&A::PLAN, self.conditions.shards[0]);
            (1..shards).for_each(|shard| self.want(deal.buckets_of(shard), shard));
            return;
        }
        for shard in 1..shards {
            let buckets = self.some_buckets();
            self.want(buckets, shard);
        }
    }

    /// Draws buckets, most of them such as packets are of.
    fn some_buckets(&mut self) -> BucketSet {
        let one_in = self.random.pick(&[1, 2, 2, 4]);
        let own = self.buckets.iter().filter(|_| self.random.once_in(one_in));
        let mut drawn: BucketSet = own.copied().collect();
        for _ in 0..self.random.below(3) {
            drawn.add(Bucket::new(self.random.below(256) as u8));
        }
        drawn
    }

    /// These buckets are to be at this shard.
    fn want(&mut self, buckets: BucketSet, to: usize) {
        self.dealer.want(buckets, numbered(to)).expect("there is such a shard");
    }

    /// Whether buckets may be wished to another shard now: mostly when none waits for its move.
    pub(super) fn may_wish(&mut self) -> bool {
        let most = self.case.packets.len() as u64;
        self.faults.wishes < most
            && self.random.once_in(self.conditions.wish_in)
            && self.takes_wishes()
    }

    fn takes_wishes(&mut self) -> bool {
        let most = if self.random.once_in(4) { Bucket::COUNT } else { 0 };
        self.dealer.is_set_up() && self.dealer.coordinator().report(0).waiting <= most
    }

    /// Random buckets are to be at a random shard.
    pub(super) fn wish(&mut self) {
        let buckets = self.some_buckets();
        let to = self.random.below(self.shards.len() as u64) as usize;
        story::tell(|| format!("wish: {buckets:?} to shard {to}"));
        self.faults.wishes += 1;
        self.want(buckets, to);
    }
}
