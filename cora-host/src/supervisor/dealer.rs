//! The dealer of a run where each side receives its own buckets: the flow table, and the moves of
//! buckets between shards ([`cora_switch`]).
//!
//! The flow table is emulated, since the supervisor steers packets itself. It has the abilities of
//! a BlueField-2's.

use std::fmt;
use std::time::Instant;

use cora_core::app::App;
use cora_core::bucket::{Bucket, BucketSet};
use cora_core::hash::FlowHasher;
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
use crate::observe::report::BucketMoves;

/// A record of a ring: its kind, and its bytes.
pub(crate) type Record = (u16, Vec<u8>);

/// The abilities of a BlueField-2's flow table: `nics/bluefield2.toml` has the sources. The delay
/// is that of one operation at this rate.
const ABILITIES: Abilities =
    Abilities { entries: 2_000_000, operations_per_s: 1_429, delay_ns: 700_000, in_flight: 64 };

/// The dealer.
#[derive(Debug)]
pub(crate) struct Dealer {
    coordinator: Coordinator,
    table: Emulated,
    begun: Instant,
    beginnings: Beginnings,
    /// The rules of the deal are in force.
    is_set_up: bool,
    chance: Option<Chance>,
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
    fn tell(&mut self, shard: Shard, told: &Told<'_>, push: &mut dyn FnMut(usize, Record)) {
        let Self { values, coming } = self;
        let shard = shard.number();
        push(shard, told_as(told));
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

/// Moves by chance, for tests.
#[derive(Debug)]
struct Chance {
    draws: FlowHasher,
    drawn: u64,
    shards: u16,
    /// Packets until the next wish.
    left: u64,
}

impl fmt::Display for Lied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undecodable(kind) => ProtocolError::undecodable(*kind).fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl Chance {
    /// The most buckets that move at a time, and the most packets between two moves.
    const MOST: (u64, u64) = (8, 600);

    fn below(&mut self, limit: u64) -> u64 {
        self.drawn += 1;
        self.draws.hash_pair([self.drawn, 0]) % limit
    }

    /// A wish once in a while. The bucket of the latest packet is among those that move.
    fn wish(&mut self, latest: Bucket) -> Option<(BucketSet, Shard)> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return None;
        }
        self.left = 1 + self.below(Self::MOST.1);
        let others = self.below(Self::MOST.0);
        let mut buckets: BucketSet =
            (0..others).map(|_| Bucket::new(self.below(256) as u8)).collect();
        buckets.add(latest);
        Some((buckets, Shard::new(self.below(self.shards.into()) as u16)))
    }
}

fn encoded(message: Deals<'_>) -> Record {
    feed::encoded(&message.into())
}

impl Dealer {
    /// A dealer with an empty flow table: the rules of the deal are to be inserted first. With a
    /// seed, buckets move by chance.
    pub(crate) fn new<A: App>(
        app: &mut A,
        (deal, shards): (&Deal, u16),
        seed: Option<u64>,
    ) -> Result<Self, NoSuchShard> {
        let mut coordinator = Coordinator::new(Limits::default(), shards, Shard::new(0))?;
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
        // Expired entries that wait for their hooks can't move yet.
        let chance = seed.filter(|_| const { !A::TIMED }).map(|seed| Chance {
            draws: FlowHasher::new(seed),
            drawn: 0,
            shards,
            left: 1,
        });
        Ok(Self {
            coordinator,
            table: Emulated::new(ABILITIES, Shard::new(0)),
            begun: Instant::now(),
            beginnings: Beginnings { values: values.collect(), coming: BucketSet::EMPTY },
            is_set_up: false,
            chance,
        })
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Whether a packet of this time must wait, and all behind it: `begins` says that an epoch of
    /// merges begins with it, which packets that are held can't be part of.
    pub(super) fn stops(&self, packet_ns: u64, begins: bool) -> bool {
        !self.is_set_up || self.coordinator.must_wait(packet_ns) || begins && !self.is_quiet()
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
        }
    }

    /// A packet went to the shard of its bucket.
    pub(super) fn passed(&mut self, stamp: &Stamp, bytes: usize) {
        let bucket = stamp.meta.mark.bucket;
        self.table.count(bucket, bytes);
        self.coordinator.passed(bucket, self.table.queue_of(bucket), bytes, stamp.meta.now);
        if self.coordinator.is_quiet()
            && let Some((buckets, to)) = self.chance.as_mut().and_then(|it| it.wish(bucket))
        {
            // There is such a shard: it was drawn among them.
            let _ = self.coordinator.want(buckets, to);
        }
    }

    /// Goes on, and gives records for shards to `push`.
    pub(super) fn step(&mut self, push: &mut dyn FnMut(usize, Record)) {
        let now = self.now_ns();
        let Self { coordinator, table, beginnings, is_set_up, .. } = self;
        coordinator.step(now, table, |shard, told| beginnings.tell(shard, &told, push));
        *is_set_up |= coordinator.is_quiet();
    }

    /// The half that receives the shard's packets was started again, and has nothing. What the one
    /// before said was taken. Gives records for shards to `push`: its first ones, behind which come
    /// packets that wait for it, before the next step.
    pub(super) fn restarted(&mut self, shard: usize, push: &mut dyn FnMut(usize, Record)) {
        let now = self.now_ns();
        let Self { coordinator, beginnings, .. } = self;
        let shard = Shard::new(shard as u16);
        // There is such a shard: the supervisor has it.
        let _ = coordinator.restarted(shard, now, |shard, told| {
            beginnings.tell(shard, &told, push);
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
            Deals::Moved { epoch, piece, .. } | Deals::Value { epoch, piece, .. } => {
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

/// What a shard is told, as a record.
fn told_as(told: &Told<'_>) -> Record {
    match told {
        Told::Owns(buckets) => encoded(Deals::Owns { buckets: &buckets.to_bytes() }),
        Told::Leaving { epoch, buckets } => {
            encoded(Deals::Leaving { epoch: epoch.number(), buckets: &buckets.to_bytes() })
        }
        Told::Coming { epoch, buckets } => {
            encoded(Deals::Coming { epoch: epoch.number(), buckets: &buckets.to_bytes() })
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
