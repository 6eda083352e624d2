//! The policy that moves buckets by load: a function of its observations, without clock and chance.
//!
//! Once per interval it gets the packets of each bucket, and how full the queue of each shard is.
//! If the queue of one shard is more than half full for several intervals, and another's nearly
//! empty, it moves buckets from the one to the other.
//!
//! | module | concept |
//! | --- | --- |
//! | `seen` | observations |
//! | `decision` | a move, and why |
//! | `settings` | bounds of the policy |
//!
//! # Which buckets
//!
//! The difference of two shards is that of their packets of late. The policy moves the fewest
//! buckets that halve it, and never more than half of it, so that the other shard has no more
//! packets than the first one afterwards. The largest bucket is taken first. While less than a
//! quarter of the difference is taken, any bucket of less than a quarter fits, so larger ones are
//! passed over only if they are more than the half. So no other choice needs fewer buckets.
//!
//! # Why it comes to rest
//!
//! - Buckets go from more packets to fewer, and the order of the two shards never turns round.
//! - Shards that differ by less than an eighth stay as they are, however full their queues are.
//! - A bucket that moved rests.
//! - A bucket with more than half of its shard's packets stays: it would only overload another
//!   shard. The other buckets leave it.
//! - A move that takes too little to matter is not made.

mod decision;
mod seen;
mod settings;

use cora_core::bucket::{Bucket, BucketSet};

pub use decision::{Decision, Side};
pub use seen::{PerBucket, Seen};
pub use settings::Settings;

use crate::Shard;

/// How long a shard's queue has been so, in intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    full: u32,
    empty: u32,
}

/// The policy, with what it remembers.
///
/// ```
/// use cora_switch::Shard;
/// use cora_switch::balance::{Balancer, Seen, Settings};
///
/// let mut balancer = Balancer::new(Settings::default());
/// let seen = Seen {
///     packets: &[10; 256],
///     owners: &[Shard::new(0); 256],
///     fills: &[Some(90), Some(0)],
/// };
/// let decided = (1..=4).filter_map(|interval| Some((interval, balancer.decide(&seen)?)));
/// let decided: Vec<_> = decided.collect();
/// // The fourth interval in a row is the first that counts. Eight buckets go at a time.
/// assert!(matches!(&decided[..], [(4, decision)] if decision.buckets.len() == 8));
/// ```
#[derive(Clone, Debug)]
pub struct Balancer {
    settings: Settings,
    /// Packets of late: those of the latest interval count whole, those before half as much, and
    /// so on.
    loads: PerBucket<u64>,
    /// Intervals since the bucket moved.
    rested: PerBucket<u32>,
    since: Vec<Since>,
    elephants: BucketSet,
}

impl Balancer {
    /// A policy within these bounds that has seen nothing yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            loads: [0; Bucket::COUNT],
            rested: [u32::MAX; Bucket::COUNT],
            since: Vec::new(),
            elephants: BucketSet::EMPTY,
        }
    }

    /// Its bounds.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Buckets that stayed at an overloaded shard, because each had more than half of its packets.
    #[must_use]
    pub const fn elephants(&self) -> BucketSet {
        self.elephants
    }

    /// Notes an interval, and decides. The decision is to be carried out before the next interval.
    pub fn decide(&mut self, seen: &Seen<'_>) -> Option<Decision> {
        self.note(seen);
        let loads = self.loads_of_shards(seen);
        let patience = self.settings.patience.max(1);
        let with = |is_so: fn(&Since) -> u32| {
            let shards = self.since.iter().zip(&loads).enumerate();
            let such = shards.filter(move |(_, (since, _))| is_so(since) >= patience);
            such.map(|(shard, (_, load))| (*load, shard))
        };
        // Of equal shards the first.
        let (_, to) = with(|since| since.empty).min()?;
        let mut full: Vec<_> = with(|since| since.full).collect();
        full.sort_by_key(|(load, shard)| (std::cmp::Reverse(*load), *shard));
        let mut moves = full.into_iter().map(|(_, from)| (from, to));
        let ((from, to), buckets) =
            moves.find_map(|pair| Some((pair, self.choose(seen, &loads, pair)?)))?;
        for bucket in buckets.iter() {
            self.rested[bucket.number()] = 0;
        }
        // What the queues are like after the move is another matter.
        self.since.fill(Since::default());
        let side = |shard: usize| Side::of(shard, &loads, seen);
        Some(Decision { buckets, from: side(from), to: side(to) })
    }

    fn note(&mut self, seen: &Seen<'_>) {
        for (load, packets) in self.loads.iter_mut().zip(seen.packets) {
            *load = (*load / 2).saturating_add(*packets);
        }
        for rested in &mut self.rested {
            *rested = rested.saturating_add(1);
        }
        let Settings { full, empty, .. } = self.settings;
        self.since.resize(seen.fills.len(), Since::default());
        for (since, fill) in self.since.iter_mut().zip(seen.fills) {
            let lasts = |count: u32, is_so: bool| if is_so { count.saturating_add(1) } else { 0 };
            since.full = lasts(since.full, fill.is_some_and(|fill| fill > full));
            since.empty = lasts(since.empty, fill.is_some_and(|fill| fill <= empty));
        }
    }

    fn loads_of_shards(&self, seen: &Seen<'_>) -> Vec<u64> {
        let mut loads = vec![0_u64; seen.fills.len()];
        for (load, owner) in self.loads.iter().zip(seen.owners) {
            if let Some(sum) = loads.get_mut(owner.number()) {
                *sum = sum.saturating_add(*load);
            }
        }
        loads
    }

    /// The buckets that go from one shard to the other, if any should.
    fn choose(
        &mut self,
        seen: &Seen<'_>,
        loads: &[u64],
        (from, to): (usize, usize),
    ) -> Option<BucketSet> {
        let Settings { most, rest, least, .. } = self.settings;
        let whole = loads[from];
        let difference = whole.saturating_sub(loads[to]);
        if whole < least || difference < whole / Settings::DIFFERS {
            return None;
        }
        let from = Shard::new(from as u16);
        let of_it = Bucket::all().filter(|bucket| seen.owners[bucket.number()] == from);
        let with_load = of_it.map(|bucket| (self.loads[bucket.number()], bucket));
        let mut buckets: Vec<_> = with_load.filter(|(load, _)| *load > 0).collect();
        buckets.sort_by_key(|(load, bucket)| (std::cmp::Reverse(*load), *bucket));
        let half = difference / 2;
        let (mut taken, mut sum) = (BucketSet::EMPTY, 0);
        for (load, bucket) in buckets {
            if taken.len() >= most || sum >= half.div_ceil(2) {
                break;
            }
            if load > whole / 2 {
                self.elephants.add(bucket);
            } else if self.rested[bucket.number()] > rest && load <= half - sum {
                taken.add(bucket);
                sum += load;
            }
        }
        (sum > whole / Settings::MATTERS).then_some(taken)
    }
}
