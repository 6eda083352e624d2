//! Which buckets are to be at which shard: the deal at the beginning, and wishes by chance.

use cora_core::bucket::{Bucket, BucketSet};
use cora_runtime::steering::Deal;

use super::conditions::Conditions;
use super::{Run, numbered};
use crate::apps::SimApp;
use crate::random::Random;
use crate::story;

/// Draws buckets, most of them among these, which packets are of.
fn some_of(buckets: &[Bucket], random: &mut Random) -> BucketSet {
    let one_in = random.pick(&[1, 2, 2, 4]);
    let own = buckets.iter().filter(|_| random.once_in(one_in));
    let mut drawn: BucketSet = own.copied().collect();
    for _ in 0..random.below(3) {
        drawn.add(Bucket::new(random.below(256) as u8));
    }
    drawn
}

/// The deal before the first packet: the plan's, or one by chance.
pub(super) fn first_deal<A: SimApp>(
    conditions: &Conditions,
    buckets: &[Bucket],
    random: &mut Random,
) -> Deal {
    let [nics, hosts] = conditions.shards;
    if conditions.by_plan && nics == hosts {
        return Deal::of_plan(&A::PLAN, nics);
    }
    let mut deal = Deal::even(1);
    for shard in 1..nics + hosts {
        some_of(buckets, random).iter().for_each(|bucket| deal.give(bucket, shard as u8));
    }
    deal
}

impl<A: SimApp> Run<'_, A> {
    /// Draws buckets, most of them such as packets are of.
    fn some_buckets(&mut self) -> BucketSet {
        some_of(&self.buckets, &mut self.random)
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
        self.dealer.coordinator().report(0).waiting <= most
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
