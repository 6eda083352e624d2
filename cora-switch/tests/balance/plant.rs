//! Shards as queues: what the policy moves, and what becomes of it.

use cora_core::bucket::Bucket;
use cora_switch::Shard;
use cora_switch::balance::{Balancer, Decision, PerBucket, Seen, Settings};

/// Packets that a shard handles in an interval.
pub(crate) const SERVED: u64 = 10_000;
/// Packets that a queue has room for.
const ROOM: u64 = 4_000;

/// Anything that decides as the policy does.
pub(crate) trait Decides {
    fn decide(&mut self, seen: &Seen<'_>) -> Option<Decision>;
}

impl Decides for Balancer {
    fn decide(&mut self, seen: &Seen<'_>) -> Option<Decision> {
        Self::decide(self, seen)
    }
}

impl<F: FnMut(&Seen<'_>) -> Option<Decision>> Decides for F {
    fn decide(&mut self, seen: &Seen<'_>) -> Option<Decision> {
        self(seen)
    }
}

/// What packets come.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Packets of each bucket in an interval.
    pub(crate) rates: PerBucket<u64>,
    /// All others wait while one queue is full, as on a capture. Otherwise what finds no room is
    /// lost, as on a live wire.
    pub(crate) waits: bool,
}

/// Shards, and all decisions so far.
#[derive(Clone, Debug)]
pub(crate) struct Plant {
    pub(crate) owners: PerBucket<Shard>,
    queues: Vec<u64>,
    moved_at: PerBucket<Option<u64>>,
    interval: u64,
    pub(crate) decisions: Vec<Decision>,
}

impl Plant {
    pub(crate) fn new(owners: &PerBucket<Shard>, shards: u16) -> Self {
        Self {
            owners: *owners,
            queues: vec![0; shards.into()],
            moved_at: [None; Bucket::COUNT],
            interval: 0,
            decisions: Vec::new(),
        }
    }

    /// The packets of each shard in an interval.
    pub(crate) fn loads(&self, rates: &PerBucket<u64>) -> Vec<u64> {
        let mut loads = vec![0; self.queues.len()];
        for (owner, rate) in self.owners.iter().zip(rates) {
            loads[owner.number()] += rate;
        }
        loads
    }

    /// Runs for so many intervals. The error says which rule a decision broke.
    pub(crate) fn run(
        &mut self,
        by: &mut impl Decides,
        load: &Load,
        intervals: u64,
    ) -> Result<(), String> {
        (0..intervals).try_for_each(|_| self.step(by, load))
    }

    fn step(&mut self, by: &mut impl Decides, load: &Load) -> Result<(), String> {
        self.interval += 1;
        let mut packets = load.rates;
        let loads = self.loads(&load.rates);
        if load.waits {
            // The wire stands still behind the slowest shard.
            let part = |(queue, load): (&u64, &u64)| {
                let most = ROOM + SERVED - queue;
                if *load > most { most as f64 / *load as f64 } else { 1.0 }
            };
            let part = self.queues.iter().zip(&loads).map(part).fold(1.0, f64::min);
            packets = packets.map(|rate| (rate as f64 * part) as u64);
        }
        let mut fills = Vec::new();
        let came = self.loads(&packets);
        for (queue, came) in self.queues.iter_mut().zip(came) {
            *queue = (*queue + came).saturating_sub(SERVED).min(ROOM);
            fills.push(Some((*queue * 100 / ROOM) as u8));
        }
        let seen = Seen { packets: &packets, owners: &self.owners, fills: &fills };
        let Some(decision) = by.decide(&seen) else { return Ok(()) };
        self.check(&decision, &loads, load, &fills)?;
        for bucket in decision.buckets.iter() {
            self.owners[bucket.number()] = decision.to.shard;
            self.moved_at[bucket.number()] = Some(self.interval);
        }
        self.decisions.push(decision);
        Ok(())
    }

    /// The rules that hold for every decision.
    fn check(
        &self,
        decision: &Decision,
        loads: &[u64],
        load: &Load,
        fills: &[Option<u8>],
    ) -> Result<(), String> {
        let Settings { full, empty, most, rest, .. } = Settings::default();
        let (from, to) = (decision.from.shard, decision.to.shard);
        let wrong = |what: &str| Err(format!("interval {}: {what}: {decision:?}", self.interval));
        if decision.buckets.is_empty() || decision.buckets.len() > most {
            return wrong("too many buckets, or none");
        }
        let [of_from, of_to] = [from, to].map(|it| fills.get(it.number()).copied().flatten());
        let is_so = |fill: Option<u8>, is_so: &dyn Fn(u8) -> bool| fill.is_some_and(is_so);
        if !is_so(of_from, &|fill| fill > full) || !is_so(of_to, &|fill| fill <= empty) {
            return wrong("the queues are not full and empty");
        }
        let (x, y) = (loads[from.number()], loads[to.number()]);
        // Decisions go by packets of late, which may differ a little.
        if x * 9 < y * 10 {
            return wrong("the shards are balanced");
        }
        for bucket in decision.buckets.iter() {
            if self.owners[bucket.number()] != from {
                return wrong("a bucket is another's");
            }
            let moved = self.moved_at[bucket.number()];
            if moved.is_some_and(|moved| self.interval - moved <= u64::from(rest)) {
                return wrong("a bucket has not rested");
            }
            if load.rates[bucket.number()] * 100 > x * 52 {
                return wrong("an elephant moves");
            }
        }
        Ok(())
    }
}
