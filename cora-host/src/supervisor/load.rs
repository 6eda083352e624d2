//! Moves of buckets by load: observations for [`cora_switch::balance`], and an account of its
//! decisions.
//!
//! The supervisor counts the packets of each bucket as it passes them on, and looks at the rings
//! once per millisecond or so. An interval ends after [`INTERVAL_NS`]. While buckets move, nothing
//! is observed: queues are fuller then than the load alone would have them.

use cora_core::bucket::Bucket;
use cora_switch::balance::{Balancer, Decision, PerBucket, Seen, Settings};
use cora_switch::{Coordinator, Shard};

use crate::observe::buckets::{BucketsByLoad, LoadMove, LoadSide};
use crate::process::log::{self, Part};

/// Length of an interval: long enough for ten looks at each ring.
const INTERVAL_NS: u64 = 10_000_000;

/// How full a queue was in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// Sum of percents, one per look.
    percents: u32,
    looks: u32,
    /// Its shard did not work at some look.
    was_away: bool,
}

impl Queue {
    fn mean(self) -> Option<u8> {
        let mean = self.percents.checked_div(self.looks)?;
        (!self.was_away).then_some(mean.min(100) as u8)
    }
}

/// Observes an interval, and decides.
#[derive(Debug)]
pub(super) struct Load {
    balancer: Balancer,
    packets: PerBucket<u64>,
    queues: Vec<Queue>,
    /// Means of the queues.
    fills: Vec<Option<u8>>,
    /// When the interval began, of the dealer's time.
    begun_ns: u64,
    account: BucketsByLoad,
}

impl Load {
    /// Of so many shards.
    pub(super) fn new(shards: u16) -> Self {
        Self {
            balancer: Balancer::new(Settings::default()),
            packets: [0; Bucket::COUNT],
            queues: vec![Queue::default(); shards.into()],
            fills: vec![None; shards.into()],
            begun_ns: 0,
            account: BucketsByLoad::default(),
        }
    }

    /// A packet of this bucket went to its shard.
    #[inline]
    pub(super) const fn count(&mut self, bucket: Bucket) {
        self.packets[bucket.number()] += 1;
    }

    /// How full a shard's queue is now, in percent; `None` if the shard doesn't work.
    pub(super) fn look(&mut self, shard: usize, fill: Option<u8>) {
        let Some(queue) = self.queues.get_mut(shard) else { return };
        queue.looks += 1;
        queue.percents += u32::from(fill.unwrap_or(0));
        queue.was_away |= fill.is_none();
    }

    /// Begins an interval afresh: what was seen of this one says nothing of the load.
    pub(super) fn pause(&mut self, now_ns: u64) {
        self.packets.fill(0);
        self.queues.fill(Queue::default());
        self.begun_ns = now_ns;
    }

    /// Decides if the interval is over.
    pub(super) fn decide(&mut self, now_ns: u64, coordinator: &Coordinator) -> Option<Decision> {
        if now_ns < self.begun_ns.saturating_add(INTERVAL_NS) {
            return None;
        }
        for (fill, queue) in self.fills.iter_mut().zip(&self.queues) {
            *fill = queue.mean();
        }
        let owners: PerBucket<Shard> =
            std::array::from_fn(|bucket| coordinator.owner_of(Bucket::new(bucket as u8)));
        let seen = Seen { packets: &self.packets, owners: &owners, fills: &self.fills };
        let decision = self.balancer.decide(&seen);
        self.pause(now_ns);
        if let Some(decision) = &decision {
            self.note(decision);
        }
        decision
    }

    fn note(&mut self, decision: &Decision) {
        let side = |side: cora_switch::balance::Side| LoadSide {
            shard: side.shard.number() as u16,
            packets_percent: side.share,
            queue_percent: side.fill,
        };
        let buckets = decision.buckets.len() as u64;
        let told = LoadMove { buckets, from: side(decision.from), to: side(decision.to) };
        let LoadMove { from, to, .. } = told;
        log::note(
            Part::Moves,
            format_args!(
                "{buckets} buckets are to move by load, from shard {} ({} % of the packets, queue \
                 full by {} %) to shard {} ({} %, {} %)",
                from.shard,
                from.packets_percent,
                from.queue_percent,
                to.shard,
                to.packets_percent,
                to.queue_percent
            ),
        );
        self.account.moves += 1;
        self.account.buckets += buckets;
        self.account.first.get_or_insert(told);
        self.account.last = Some(told);
    }

    /// What was decided so far, and why.
    pub(super) fn account(&self) -> BucketsByLoad {
        let Settings { patience, .. } = *self.balancer.settings();
        BucketsByLoad {
            after_ms: u64::from(patience) * INTERVAL_NS / 1_000_000,
            elephants: self.balancer.elephants().len() as u64,
            ..self.account
        }
    }
}

#[cfg(test)]
mod tests {
    use cora_core::bucket::Bucket;
    use cora_switch::balance::Decision;
    use cora_switch::{Coordinator, Limits, Shard};

    use crate::supervisor::load::{INTERVAL_NS, Load};

    /// All buckets are at shard 0.
    fn coordinator() -> Coordinator {
        Coordinator::new(Limits::default(), 2, Shard::new(0)).expect("there is such a shard")
    }

    /// Two looks in an interval, in which each bucket gets ten packets.
    fn interval(load: &mut Load, end: u64, looks: [[Option<u8>; 2]; 2]) -> Option<Decision> {
        Bucket::all().for_each(|bucket| (0..10).for_each(|_| load.count(bucket)));
        for fills in looks {
            fills.into_iter().enumerate().for_each(|(shard, fill)| load.look(shard, fill));
        }
        assert_eq!(load.decide(end * INTERVAL_NS - 1, &coordinator()), None, "it is not over");
        load.decide(end * INTERVAL_NS, &coordinator())
    }

    #[test]
    fn queues_count_by_their_mean_and_the_account_says_why() {
        let mut load = Load::new(2);
        let looks = [[Some(100), Some(0)], [Some(60), Some(10)]];
        let decided: Vec<_> =
            (1..=4).filter_map(|end| Some((end, interval(&mut load, end, looks)?))).collect();
        assert!(matches!(&decided[..], [(4, decision)] if decision.buckets.len() == 8));
        let account = load.account();
        assert_eq!((account.moves, account.buckets, account.after_ms), (1, 8, 40));
        let first = account.first.expect("a move");
        assert_eq!((first.from.shard, first.from.queue_percent), (0, 80));
        assert_eq!((first.to.shard, first.to.queue_percent), (1, 5));
        assert_eq!((first.from.packets_percent, first.to.packets_percent), (100, 0));
        assert_eq!(account.last, account.first);
    }

    #[test]
    fn a_shard_that_was_away_gets_nothing() {
        let mut load = Load::new(2);
        let looks = [[Some(100), Some(0)], [Some(100), None]];
        assert!((1..=20).all(|end| interval(&mut load, end, looks).is_none()));
        let looks = [[Some(100), Some(0)]; 2];
        assert!((21..=24).any(|end| interval(&mut load, end, looks).is_some()));
    }

    #[test]
    fn what_is_seen_while_buckets_move_does_not_count() {
        let mut load = Load::new(2);
        Bucket::all().for_each(|bucket| (0..1_000).for_each(|_| load.count(bucket)));
        load.look(0, Some(100));
        load.pause(INTERVAL_NS);
        assert_eq!(load.packets, [0; Bucket::COUNT]);
        // Nobody looked in this one.
        assert_eq!(load.decide(2 * INTERVAL_NS, &coordinator()), None);
        assert_eq!(load.fills, [None, None]);
    }
}
