//! The dealer of a run where each side receives its own buckets: the flow table, and the moves of
//! buckets between shards ([`cora_switch`]).
//!
//! The flow table is emulated, since the supervisor steers packets itself. It has the abilities of
//! the NIC's, as the plan knows them.

use std::fmt;
use std::time::Instant;

use cora_core::app::{App, FlowTableFacts};
use cora_core::bucket::{Bucket, BucketSet};
use cora_core::packet::Meta;
use cora_runtime::channel::ProtocolError;
use cora_runtime::dealing::each_value;
use cora_runtime::link::message::{Deals, Message, Stamp};
use cora_runtime::steering::Deal;
use cora_switch::coordinator::Totals;
use cora_switch::{
    Abilities, Coordinator, Emulated, Epoch, Fault, Limits, NoSuchShard, Relay, Said, Shard, Told,
};

use crate::ingress::feed;
use crate::observe::buckets::BucketMoves;
use crate::options::Moves;
use crate::supervisor::chance::Chance;
use crate::supervisor::load::Load;

/// A record of a ring: its kind, and its bytes.
pub(crate) type Record = (u16, Vec<u8>);

/// The dealer.
#[derive(Debug)]
pub(crate) struct Dealer {
    coordinator: Coordinator,
    table: Emulated,
    begun: Instant,
    beginnings: Beginnings,
    /// The time of the latest packet (ns of packet time).
    latest: u64,
    /// The periods of the program's timers (ns).
    periods: &'static [u64],
    /// The rules of the deal are in force.
    is_set_up: bool,
    mover: Mover,
}

/// The values that buckets begin with.
#[derive(Debug)]
struct Beginnings {
    /// Of each bucket, as records.
    values: Vec<Vec<Record>>,
    /// The buckets of the latest move.
    coming: BucketSet,
}

impl Beginnings {
    /// Gives what a shard is told to `push`, and behind it the values with which buckets begin.
    /// `now` is the time of the latest packet.
    fn tell(
        &mut self,
        shard: Shard,
        told: &Told<'_>,
        now: u64,
        push: &mut dyn FnMut(usize, Record),
    ) {
        let Self { values, coming } = self;
        let shard = shard.number();
        push(shard, told_as(told, now));
        let epoch = match *told {
            Told::Coming { epoch, buckets } => {
                *coming = buckets;
                epoch
            }
            // They are no longer part of the move.
            Told::Stays { buckets, .. } => {
                *coming = coming.without(buckets);
                return;
            }
            Told::Void { epoch } => epoch,
            _ => return,
        };
        // Whatever the shard had of them is old. They begin as any do, until others come.
        for (kind, bytes) in coming.iter().flat_map(|it| &values[it.number()]) {
            push(shard, (*kind, with_epoch(bytes, epoch)));
        }
    }
}

/// What becomes of a record that a shard said.
pub(super) enum Passed {
    /// It was for the dealer.
    Done,
    /// It goes on to this shard.
    Record(usize, Record),
    /// The packet goes on to this shard.
    Packet(usize, Stamp, Vec<u8>),
}

/// What is wrong with such a record.
pub(super) enum Lied {
    /// It can't be decoded, or is none of a shard's.
    Undecodable(u16),
    /// It has no place now.
    Fault(Fault),
}

/// Who moves buckets after the deal.
#[derive(Debug)]
enum Mover {
    Nobody,
    /// Chance, for tests.
    Chance(Chance),
    /// The policy that goes by load.
    Load(Box<Load>),
}

impl Mover {
    fn of(moves: &Moves, shards: u16) -> Self {
        match moves {
            Moves::Adapt(_) => Self::Load(Box::new(Load::new(shards))),
            Moves::Plan | Moves::Named(..) => match moves.by_chance() {
                Some(seed) => Self::Chance(Chance::new(seed, shards)),
                None => Self::Nobody,
            },
        }
    }
}

impl fmt::Display for Lied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undecodable(kind) => ProtocolError::undecodable(*kind).fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

/// The abilities of the plan's flow table. It takes as many operations at a time as are asked for.
const fn abilities(facts: FlowTableFacts, limits: &Limits) -> Abilities {
    let FlowTableFacts { entries, operations_per_s, delay_ns } = facts;
    Abilities { entries, operations_per_s, delay_ns, in_flight: limits.in_flight as u32 }
}

/// Limits of moves with this flow table. An answer that only takes its time is not lost: asked for
/// again, the operation would hold up the others.
fn limits(facts: FlowTableFacts) -> Limits {
    let usual = Limits::default();
    Limits { again_ns: usual.again_ns.max(facts.delay_ns.saturating_mul(4)), ..usual }
}

fn encoded(message: Deals<'_>) -> Record {
    feed::encoded(&message.into())
}

impl Dealer {
    /// A dealer with an empty flow table: the rules of the deal are to be inserted first.
    pub(crate) fn new<A: App>(
        app: &mut A,
        (deal, shards): (&Deal, u16),
        moves: &Moves,
    ) -> Result<Self, NoSuchShard> {
        let limits = limits(A::PLAN.flow_table);
        let abilities = abilities(A::PLAN.flow_table, &limits);
        let mut coordinator = Coordinator::new(limits, shards, Shard::new(0))?;
        for shard in 1..shards {
            coordinator.want(deal.buckets_of(shard.into()), Shard::new(shard))?;
        }
        let values = Bucket::all().map(|bucket| {
            let mut values = Vec::new();
            each_value(app, bucket, &mut |state, piece| {
                values.push(encoded(Deals::Value { epoch: 0, state, piece }));
            });
            values
        });
        let mover = Mover::of(moves, shards);
        Ok(Self {
            coordinator,
            table: Emulated::new(abilities, Shard::new(0)),
            begun: Instant::now(),
            beginnings: Beginnings { values: values.collect(), coming: BucketSet::EMPTY },
            latest: 0,
            periods: A::PERIODS,
            is_set_up: false,
            mover,
        })
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Whether a packet of this time must wait, and all behind it: `begins` says that an epoch of
    /// merges begins with it, which packets that are held can't be part of. Nor can they be before
    /// the tick of a timer that has run.
    pub(super) fn stops(&self, packet_ns: u64, begins: bool) -> bool {
        !self.is_set_up
            || self.coordinator.must_wait(packet_ns)
            || !self.is_quiet() && (begins || self.ticks_by(packet_ns))
    }

    /// Whether shards may be told that this much time has passed (ns of packet time).
    pub(super) fn may_tell(&self, now: u64) -> bool {
        self.is_quiet() || !self.ticks_by(now)
    }

    /// Whether a timer's tick is behind the latest packet, and not behind this time (ns of packet
    /// time).
    fn ticks_by(&self, now: u64) -> bool {
        let ticks = |time: u64, period: u64| time.checked_div(period);
        self.periods.iter().any(|period| ticks(now, *period) > ticks(self.latest, *period))
    }

    /// Whether no bucket moves, and none is to move.
    pub(super) fn is_quiet(&self) -> bool {
        self.coordinator.is_quiet()
    }

    /// The shard that gets packets of this bucket.
    pub(super) const fn shard_of(&self, bucket: Bucket) -> usize {
        self.table.queue_of(bucket).number()
    }

    /// The owner of each bucket.
    pub(super) fn deal(&self) -> Deal {
        let mut deal = Deal::even(1);
        for bucket in Bucket::all() {
            deal.give(bucket, self.coordinator.owner_of(bucket).number() as u8);
        }
        deal
    }

    /// The moves so far.
    pub(super) fn moves(&self) -> BucketMoves {
        let Totals { moves, voids, stayed, operations, strays, longest_ns, .. } =
            self.coordinator.report(self.now_ns()).totals;
        BucketMoves {
            moves,
            afresh: voids,
            stayed,
            rule_operations: operations,
            passed_on: strays,
            longest_us: longest_ns / 1000,
            by_load: match &self.mover {
                Mover::Load(load) => Some(load.account()),
                Mover::Nobody | Mover::Chance(_) => None,
            },
        }
    }

    /// A packet went to the shard of its bucket.
    pub(super) fn passed(&mut self, stamp: &Stamp, bytes: usize) {
        let bucket = stamp.meta.mark.bucket;
        self.latest = self.latest.max(stamp.meta.now);
        self.table.count(bucket, bytes);
        self.coordinator.passed(bucket, self.table.queue_of(bucket), bytes, stamp.meta.now);
        match &mut self.mover {
            Mover::Nobody => {}
            Mover::Load(load) => load.count(bucket),
            Mover::Chance(chance) => {
                if self.coordinator.is_quiet()
                    && let Some((buckets, to)) = chance.wish(bucket)
                {
                    // There is such a shard: it was drawn among them.
                    let _ = self.coordinator.want(buckets, to);
                }
            }
        }
    }

    /// Looks at the queues: each shard's number, and how full its queue is, in percent; `None` if
    /// the shard doesn't work. Buckets may move then by load.
    pub(super) fn look(&mut self, queues: impl Iterator<Item = (usize, Option<u8>)>) {
        let now = self.now_ns();
        let Mover::Load(load) = &mut self.mover else { return };
        if !self.is_set_up || !self.coordinator.is_quiet() {
            load.pause(now);
            return;
        }
        queues.for_each(|(shard, fill)| load.look(shard, fill));
        if let Some(decision) = load.decide(now, &self.coordinator) {
            // There is such a shard: it is one of those that were looked at.
            let _ = self.coordinator.want(decision.buckets, decision.to.shard);
        }
    }

    /// Goes on, and gives records for shards to `push`.
    pub(super) fn step(&mut self, push: &mut dyn FnMut(usize, Record)) {
        let now = self.now_ns();
        let Self { coordinator, table, beginnings, latest, is_set_up, .. } = self;
        let tell = |shard, told: Told<'_>| beginnings.tell(shard, &told, *latest, push);
        coordinator.step(now, table, tell);
        *is_set_up |= coordinator.is_quiet();
    }

    /// The half that receives the shard's packets was started again, and has nothing. What the one
    /// before said was taken. Gives records for shards to `push`: its first ones, behind which come
    /// packets that wait for it, before the next step.
    pub(super) fn restarted(&mut self, shard: usize, push: &mut dyn FnMut(usize, Record)) {
        let now = self.now_ns();
        let Self { coordinator, beginnings, latest, .. } = self;
        let shard = Shard::new(shard as u16);
        // There is such a shard: the supervisor has it.
        let _ = coordinator.restarted(shard, now, |shard, told| {
            beginnings.tell(shard, &told, *latest, push);
        });
    }

    /// A packet that the half before left unread, by its mark, its time and its length. Returns
    /// whether the shard takes it again. If not, it took an old rule, and is older than those that
    /// its bucket's owner has had since.
    pub(super) fn takes_again(&mut self, shard: usize, meta: &Meta, bytes: usize) -> bool {
        let (bucket, shard) = (meta.mark.bucket, Shard::new(shard as u16));
        let takes = self.coordinator.takes(bucket, shard);
        if takes {
            self.coordinator.passed(bucket, shard, bytes, meta.now);
        }
        takes
    }

    /// Takes a record that a shard said.
    pub(super) fn said(&mut self, shard: usize, (kind, bytes): Record) -> Result<Passed, Lied> {
        let Some(Message::Deals(message)) = Message::decode(kind, &bytes) else {
            return Err(Lied::Undecodable(kind));
        };
        let said = match message {
            Deals::Moved { epoch, piece, .. }
            | Deals::Waits { epoch, piece, .. }
            | Deals::Value { epoch, piece, .. } => {
                Said::Entry { epoch: Epoch::new(epoch), entry: piece }
            }
            Deals::Gone { epoch } => Said::Gone { epoch: Epoch::new(epoch) },
            Deals::Stray { stamp, frame } => {
                Said::Stray { bucket: stamp.meta.mark.bucket, bytes: frame.len() }
            }
            _ => return Err(Lied::Undecodable(kind)),
        };
        let by = Shard::new(shard as u16);
        let relay = self.coordinator.said(by, &said, self.now_ns()).map_err(Lied::Fault)?;
        Ok(match (relay, message) {
            (Relay::To(to), Deals::Stray { stamp, frame }) => {
                Passed::Packet(to.number(), stamp, frame.to_vec())
            }
            (Relay::To(to), _) => Passed::Record(to.number(), (kind, bytes)),
            (Relay::Done | Relay::Lost, _) => Passed::Done,
        })
    }
}

/// A value's record with the number of the move that it is for, which is its first field.
fn with_epoch(bytes: &[u8], epoch: Epoch) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(place) = bytes.first_chunk_mut() {
        *place = epoch.number().to_le_bytes();
    }
    bytes
}

/// What a shard is told, as a record. `now` is the time of the latest packet.
fn told_as(told: &Told<'_>, now: u64) -> Record {
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
        // The supervisor passes entries on as they are.
        Told::Entry { .. } => (0, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use cora_core::app::FlowTableFacts;
    use cora_core::bucket::BucketSet;
    use cora_switch::{Abilities, Coordinator, Emulated, Limits, Shard, Told};

    use crate::supervisor::dealer::{abilities, limits};

    #[test]
    fn the_flow_table_has_the_abilities_of_the_plan() {
        let facts = FlowTableFacts { entries: 300, operations_per_s: 50, delay_ns: 20_000_000 };
        let limits = Limits { in_flight: 7, ..Limits::default() };
        let expected =
            Abilities { entries: 300, operations_per_s: 50, delay_ns: 20_000_000, in_flight: 7 };
        assert_eq!(abilities(facts, &limits), expected);
    }
    /// Rule operations that were asked for again while all buckets go to another shard, with a
    /// table of so many operations a second.
    fn again(operations_per_s: u32) -> u64 {
        let delay_ns = 1_000_000_000 / u64::from(operations_per_s);
        let facts = FlowTableFacts { entries: 1_000, operations_per_s, delay_ns };
        let (limits, one) = (limits(facts), Shard::new(1));
        let mut coordinator = Coordinator::new(limits, 2, Shard::new(0)).expect("such a shard");
        let mut table = Emulated::new(abilities(facts, &limits), Shard::new(0));
        coordinator.want(BucketSet::ALL, one).expect("such a shard");
        let (mut now, mut goes) = (0, false);
        while !goes {
            coordinator.step(now, &mut table, |_, told| goes |= matches!(told, Told::Going { .. }));
            now += delay_ns / 10;
        }
        coordinator.report(now).totals.again
    }

    #[test]
    fn no_operation_of_a_slow_table_counts_as_lost() {
        for operations_per_s in [1, 2, 5, 20, 1_429, 100_000] {
            assert_eq!(again(operations_per_s), 0, "{operations_per_s}");
        }
    }
}
