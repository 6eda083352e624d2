//! The dealer of a run where each side receives its own buckets: the [`Coordinator`] and the flow
//! table, driven in one place, and their words as [records](Record) of the link's queues.
//!
//! The dealer has no input and output. The owner of the queues gives it the time, the records of
//! shards, and the packets that went to shards. The dealer gives records to a closure, to be pushed
//! in their order. The supervisor of a run and the simulator both drive it, each with a flow table
//! of its own, and each decides which buckets move: see [`Dealer::want`].
//!
//! | module | concept |
//! | --- | --- |
//! | `beginnings` | the values that buckets begin with |
//! | `words` | words of the coordinator and of shards, as records |

mod beginnings;
mod words;

use cora_core::app::App;
use cora_core::bucket::BucketSet;
use cora_core::packet::Meta;
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::Deal;

use crate::coordinator::{Coordinator, Fault, Limits, NoSuchShard, Relay};
use crate::rules::FlowTable;
use crate::shard::Shard;
use beginnings::Beginnings;
use words::Heard;

/// A record of a queue: its kind, and its bytes.
pub type Record = (u16, Vec<u8>);

/// The way of a record that a shard said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It was for the dealer, or of a move that begins afresh.
    Done,
    /// It goes on to this shard.
    Record(Shard, Record),
    /// The packet, which came to a wrong shard, goes on to this one.
    Packet(Shard, Stamp, Vec<u8>),
}

/// The fault of a record that a shard said. The dealer has ignored the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lied {
    /// It can't be decoded, or no shard says it. Its kind.
    #[error("{}", ProtocolError::undecodable(*.0))]
    Undecodable(u16),
    /// It has no place now.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The dealer.
#[derive(Debug)]
pub struct Dealer<T> {
    coordinator: Coordinator,
    table: T,
    beginnings: Beginnings,
    /// The time of the latest packet (ns of packet time).
    latest: u64,
    /// The periods of the program's timers (ns).
    periods: &'static [u64],
}

impl<T: FlowTable> Dealer<T> {
    /// A dealer of so many shards, which all run. The flow table has no rule but the default one,
    /// which leads to shard 0: those of `deal` are in force before the first packet comes. The
    /// values that buckets begin with are those of `app`.
    ///
    /// # Errors
    /// If there is no shard, or not one that has a bucket.
    pub fn new<A: App>(
        app: &mut A,
        table: T,
        limits: Limits,
        (deal, shards): (&Deal, u16),
    ) -> Result<Self, NoSuchShard> {
        let owner_of = |bucket| Shard::new(deal.shard_of(bucket) as u16);
        Ok(Self {
            coordinator: Coordinator::dealt(limits, shards, Shard::new(0), owner_of)?,
            table,
            beginnings: Beginnings::of(app),
            latest: 0,
            periods: A::PERIODS,
        })
    }

    /// These buckets are to be at this shard.
    ///
    /// # Errors
    /// If there is no such shard.
    pub fn want(&mut self, buckets: BucketSet, to: Shard) -> Result<(), NoSuchShard> {
        self.coordinator.want(buckets, to)
    }

    /// The coordinator, which knows owners, the move under way, and totals.
    #[inline]
    #[must_use]
    pub const fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// The flow table.
    #[inline]
    #[must_use]
    pub const fn table(&self) -> &T {
        &self.table
    }

    /// The flow table, to count packets in it. Its rules are the coordinator's.
    #[inline]
    pub const fn table_mut(&mut self) -> &mut T {
        &mut self.table
    }

    /// Whether the deal is in force, no bucket moves, and none is to move.
    #[inline]
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.coordinator.is_quiet()
    }

    /// Whether a packet of this time (ns of packet time) must wait, and all behind it. `begins`
    /// says that an epoch of merges begins with it, which packets that are held can't be part of.
    /// Nor can they be before the tick of a timer that has run.
    #[inline]
    #[must_use]
    pub fn stops(&self, packet_ns: u64, begins: bool) -> bool {
        self.coordinator.must_wait(packet_ns)
            || !self.is_quiet() && (begins || self.ticks_by(packet_ns))
    }

    /// Whether shards may be told that this much time has passed (ns of packet time).
    #[must_use]
    pub fn may_tell(&self, now: u64) -> bool {
        self.is_quiet() || !self.ticks_by(now)
    }

    /// Whether a timer's tick is behind the latest packet, and not behind this time.
    fn ticks_by(&self, now: u64) -> bool {
        let ticks = |time: u64, period: u64| time.checked_div(period);
        self.periods.iter().any(|period| ticks(now, *period) > ticks(self.latest, *period))
    }

    /// A packet of so many bytes went to this shard.
    #[inline]
    pub fn passed(&mut self, meta: &Meta, to: Shard, bytes: usize) {
        self.latest = self.latest.max(meta.now);
        self.coordinator.passed(meta.mark.bucket, to, bytes, meta.now);
    }

    /// Goes on, and gives records for shards to `push`. It is called before a packet is passed on,
    /// if a shard said something or time has passed. `now_ns` is the flow table's time.
    pub fn step(&mut self, now_ns: u64, push: &mut dyn FnMut(Shard, Record)) {
        let Self { coordinator, table, beginnings, latest, .. } = self;
        let tell = |shard, told| beginnings.tell(shard, told, *latest, push);
        coordinator.step(now_ns, table, tell);
    }

    /// The half that receives the shard's packets was started again, and has nothing. The records
    /// of the one before were taken. Gives records for shards to `push`: its first ones, behind
    /// which come packets that wait for it, before the next step.
    ///
    /// # Errors
    /// If there is no such shard.
    pub fn restarted(
        &mut self,
        shard: Shard,
        now_ns: u64,
        push: &mut dyn FnMut(Shard, Record),
    ) -> Result<(), NoSuchShard> {
        let Self { coordinator, beginnings, latest, .. } = self;
        let tell = |shard, told| beginnings.tell(shard, told, *latest, push);
        coordinator.restarted(shard, now_ns, tell)
    }

    /// A packet of so many bytes, which the half before left unread. Returns whether the shard
    /// takes it again. If not, it took an old rule, and is older than those that its bucket's owner
    /// has had since.
    pub fn takes_again(&mut self, shard: Shard, meta: &Meta, bytes: usize) -> bool {
        let takes = self.coordinator.takes(meta.mark.bucket, shard);
        if takes {
            self.passed(meta, shard, bytes);
        }
        takes
    }

    /// Takes a record that a shard said, and returns its way.
    ///
    /// # Errors
    /// If no sound shard says it now.
    pub fn said(&mut self, by: Shard, record: Record, now_ns: u64) -> Result<Passed, Lied> {
        let heard = Heard::of(&record).ok_or(Lied::Undecodable(record.0))?;
        let relay = self.coordinator.said(by, &heard.said(), now_ns)?;
        Ok(match (relay, heard) {
            (Relay::To(to), Heard::Stray { stamp, frame }) => {
                Passed::Packet(to, stamp, frame.to_vec())
            }
            (Relay::To(to), _) => Passed::Record(to, record),
            // A shard is told of when it runs again, so none is down. Entries of a move that begins
            // afresh have no place.
            (Relay::Done | Relay::Lost, _) => Passed::Done,
        })
    }
}
