//! The coordinator of moves: a state machine of the supervisor, without input and output.
//!
//! The supervisor tells it of wishes, answers of the flow table, records of shards, deaths and
//! starts. After each of these it calls [`Coordinator::step`], which asks the flow table for
//! operations and gives records to push into in-queues. The [crate] has the protocol.
//!
//! | module | concept |
//! | --- | --- |
//! | `placing` | the deal that a run begins with |
//! | `wishes` | wishes that wait for their moves |
//! | `owners` | the owner of each bucket |
//! | `moving` | the move under way |
//! | `asking` | rule operations until they are answered |
//! | `changes` | steps of the move, and effects of deaths |
//! | `limits` | limits of moves |
//! | `fault` | errors, each with the one at fault |
//! | `report` | totals, and the move under way |

mod asking;
mod changes;
mod fault;
mod limits;
mod moving;
mod owners;
mod placing;
mod report;
mod wishes;

use std::collections::VecDeque;

use cora_core::bucket::{Bucket, BucketSet};

pub use fault::{Fault, Lie, NoSuchShard};
pub use limits::Limits;
pub use report::{Phase, Report, Totals, UnderWay};

use crate::Shard;
use crate::records::{Said, Told};
use crate::rules::{Answer, Epoch, FlowTable, Operation};
use moving::Move;
use owners::Owners;
use placing::Placing;
use wishes::{Wish, Wishes};

/// A shard, as the coordinator knows it.
#[derive(Clone, Copy, Debug, Hash)]
struct Peer {
    is_up: bool,
    /// Frames that were pushed to it although it should not handle them. It may return as many.
    strays: u64,
}

fn is_up(peers: &[Peer], shard: Shard) -> bool {
    peers.get(shard.number()).is_some_and(|peer| peer.is_up)
}

/// Where the supervisor passes a record on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relay {
    /// Nowhere: the record was for the coordinator.
    Done,
    /// To this shard's in-queue: an entry as it is, a frame as a frame.
    To(Shard),
    /// Nowhere: the shard that should have it is down, or has lost other entries of the move.
    Lost,
}

/// The coordinator.
#[derive(Clone, Debug, Hash)]
pub struct Coordinator {
    limits: Limits,
    peers: Vec<Peer>,
    owners: Owners,
    /// Before the first packet.
    placing: Option<Placing>,
    wishes: Wishes,
    moving: Option<Move>,
    /// The last epoch that was used.
    epoch: Epoch,
    /// The last ticket that was used.
    ticket: u64,
    /// Records to push.
    told: VecDeque<(Shard, Told)>,
    /// Time of the latest packet.
    packet_ns: Option<u64>,
    totals: Totals,
}

impl Coordinator {
    /// A coordinator of so many shards, counted from 0, which all run. The default rule of the flow
    /// table leads to `default`, which owns all buckets: see [`want`](Self::want).
    pub fn new(limits: Limits, shards: u16, default: Shard) -> Result<Self, NoSuchShard> {
        let mut new = Self {
            limits,
            peers: vec![Peer { is_up: true, strays: 0 }; shards.into()],
            owners: Owners::all_at(default),
            placing: None,
            wishes: Wishes::default(),
            moving: None,
            epoch: Epoch::DEFAULT,
            ticket: 0,
            told: VecDeque::new(),
            packet_ns: None,
            totals: Totals::default(),
        };
        new.check(default)?;
        new.tell_owners();
        Ok(new)
    }

    /// These buckets are to be at this shard. A later wish replaces an earlier one, which is not
    /// under way yet. Buckets that are there already stay as they are.
    pub fn want(&mut self, buckets: BucketSet, to: Shard) -> Result<(), NoSuchShard> {
        self.check(to)?;
        self.wishes.add(Wish { buckets, to });
        Ok(())
    }

    /// Goes on: hears the answers of the flow table, asks it for operations, and gives records to
    /// `push` into the in-queues of shards, in this order. The supervisor calls it after each other
    /// call, before it moves any frame, and when time has passed.
    pub fn step<T: FlowTable>(
        &mut self,
        now_ns: u64,
        table: &mut T,
        mut push: impl FnMut(Shard, Told),
    ) {
        table.poll(now_ns, &mut |answer| self.answered(&answer, now_ns));
        loop {
            self.go_on(now_ns);
            self.push_told(&mut push);
            // The records of a move are in front of the frames that its rules redirect.
            let Some(operation) = self.next_operation(now_ns) else { break };
            if let Err(refused) = table.ask(operation, now_ns) {
                self.answered(&Answer { operation, outcome: Err(refused) }, now_ns);
            }
        }
    }

    /// Notes a frame that was pushed to a shard, and its packet's time.
    #[inline]
    pub fn passed(&mut self, bucket: Bucket, to: Shard, bytes: usize, packet_ns: u64) {
        self.packet_ns = self.packet_ns.max(Some(packet_ns));
        if let Some(moving) = &mut self.moving {
            moving.packet_ns.get_or_insert(packet_ns);
        }
        self.pushed(bucket, to, bytes);
    }

    /// Whether a packet of this time must wait on the wire, and all behind it: until the rules of
    /// the [deal](Self::dealt) are in force, or the move under way has come to its new owner.
    #[must_use]
    pub fn must_wait(&self, packet_ns: u64) -> bool {
        if self.placing.is_some() {
            return true;
        }
        self.moving.as_ref().filter(|moving| moving.is_held()).is_some_and(|moving| {
            let late = |begun: u64| packet_ns > begun.saturating_add(self.limits.packet_ns);
            moving.held.bytes >= self.limits.held_bytes || moving.packet_ns.is_some_and(late)
        })
    }

    /// Takes a record of a shard's out-queue, and returns where it is passed on to.
    pub fn said(&mut self, by: Shard, said: &Said<'_>, now_ns: u64) -> Result<Relay, Fault> {
        let fault = |lie| Fault { shard: by, lie };
        if !self.is_up(by) {
            return Err(fault(Lie::Down));
        }
        match *said {
            Said::Entry { epoch, entry } => self.relay_entry(by, epoch, entry.len()).map_err(fault),
            Said::Gone { epoch } => {
                let moving = self.moving.as_ref();
                if !moving.is_some_and(|moving| moving.is_handed(epoch, by)) {
                    return Err(fault(Lie::Gone(epoch)));
                }
                self.arrive(false, now_ns);
                Ok(Relay::Done)
            }
            Said::Stray { bucket, bytes } => self.relay_stray(by, bucket, bytes).map_err(fault),
        }
    }

    /// A shard died: its in-queue, its entries and frames that it held are lost. Its out-queue was
    /// read before, or never will be. Until it [restarts](Self::restarted), frames for it are lost.
    pub fn died(&mut self, shard: Shard, now_ns: u64) -> Result<(), NoSuchShard> {
        self.check(shard)?;
        self.set_up(shard, false);
        self.told.retain(|(to, _)| *to != shard);
        self.lose(shard, now_ns);
        Ok(())
    }

    /// A shard runs again, with an empty in-queue. Gives its first records to `push`. Frames that
    /// wait for it, as far as it [takes](Self::takes) them, are pushed behind these and before the
    /// next [`step`](Self::step), which may push the marker. If nobody told that the shard
    /// [died](Self::died), it did so just before.
    pub fn restarted(
        &mut self,
        shard: Shard,
        now_ns: u64,
        push: impl FnMut(Shard, Told),
    ) -> Result<(), NoSuchShard> {
        self.check(shard)?;
        if self.is_up(shard) {
            self.died(shard, now_ns)?;
        }
        self.set_up(shard, true);
        if self.placing.is_none() {
            self.told.push_back((shard, Told::Owns(self.owners.owned_by(shard))));
        }
        self.rejoin(shard);
        self.push_told(push);
        Ok(())
    }

    /// The owner of a bucket.
    #[inline]
    #[must_use]
    pub const fn owner_of(&self, bucket: Bucket) -> Shard {
        self.owners.of(bucket)
    }

    /// Whether a shard handles or holds a frame of this bucket that is pushed to it now. If so,
    /// frames that it left unread when it died may be pushed to it again. Others took an old rule,
    /// and are older than those that their owner has had since: they are lost.
    #[inline]
    #[must_use]
    pub fn takes(&self, bucket: Bucket, by: Shard) -> bool {
        let moving = self.moving.as_ref();
        let taken = moving.and_then(|moving| moving.is_taken(bucket, by));
        taken.unwrap_or_else(|| self.owner_of(bucket) == by)
    }

    /// Whether the rules of the deal are in force, no move is under way, and none waits.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.placing.is_none() && self.moving.is_none() && self.wishes.is_empty()
    }

    /// Totals, and the move under way.
    #[must_use]
    pub fn report(&self, now_ns: u64) -> Report {
        let under_way = self.moving.as_ref().map(|moving| moving.under_way(now_ns));
        Report { totals: self.totals, under_way, waiting: self.wishes.buckets() }
    }
}

/// Shards and their frames.
impl Coordinator {
    fn check(&self, shard: Shard) -> Result<(), NoSuchShard> {
        let last = self.peers.len().saturating_sub(1);
        if shard.number() < self.peers.len() { Ok(()) } else { Err(NoSuchShard { shard, last }) }
    }

    fn is_up(&self, shard: Shard) -> bool {
        is_up(&self.peers, shard)
    }

    fn set_up(&mut self, shard: Shard, is_up: bool) {
        if let Some(peer) = self.peers.get_mut(shard.number()) {
            *peer = Peer { is_up, strays: 0 };
        }
    }

    fn push_told(&mut self, mut push: impl FnMut(Shard, Told)) {
        while let Some((to, told)) = self.told.pop_front() {
            push(to, told);
        }
    }

    /// Tells a shard that runs. One that starts hears all by [`rejoin`](Self::rejoin).
    fn tell(&mut self, shard: Shard, told: Told) {
        if self.is_up(shard) {
            self.told.push_back((shard, told));
        }
    }

    /// Accounts for a frame in a shard's in-queue: one of the held, or one to be returned.
    #[inline]
    fn pushed(&mut self, bucket: Bucket, to: Shard, bytes: usize) {
        let is_taken = self.takes(bucket, to);
        if let Some(moving) = self.moving.as_mut().filter(|it| it.is_taken(bucket, to).is_some())
            && to == moving.to
        {
            moving.held.frames += 1;
            moving.held.bytes = moving.held.bytes.saturating_add(bytes as u64);
        }
        if !is_taken {
            self.expect_strays(to, 1);
        }
    }

    fn expect_strays(&mut self, from: Shard, frames: u64) {
        if let Some(peer) = self.peers.get_mut(from.number()).filter(|peer| peer.is_up) {
            peer.strays += frames;
        }
    }

    /// A frame that a shard returned goes to its bucket's owner. While the owner changes, that is
    /// the new one, and before the marker still the old one.
    fn relay_stray(&mut self, by: Shard, bucket: Bucket, bytes: usize) -> Result<Relay, Lie> {
        // A frame that is passed on reaches a shard that takes it. So none goes round in a circle.
        let peer = self.peers.get_mut(by.number()).ok_or(Lie::Down)?;
        peer.strays = peer.strays.checked_sub(1).ok_or(Lie::Stray)?;
        let owner = self.owner_of(bucket);
        let changing = self.moving.as_ref().filter(|it| it.is_held() && it.buckets.has(bucket));
        let to = changing.map_or(owner, |moving| {
            let is_old = moving.phase == Phase::Inserting && self.is_up(moving.from);
            if is_old { moving.from } else { moving.to }
        });
        if !self.is_up(to) {
            self.totals.lost_strays += 1;
            return Ok(Relay::Lost);
        }
        self.totals.strays += 1;
        self.pushed(bucket, to, bytes);
        Ok(Relay::To(to))
    }

    fn relay_entry(&mut self, by: Shard, epoch: Epoch, bytes: usize) -> Result<Relay, Lie> {
        let most = self.limits.entry_bytes;
        let (peers, moving) = (&self.peers, self.moving.as_mut());
        let moving = moving.filter(|it| it.is_handed(epoch, by)).ok_or(Lie::Entry(epoch))?;
        let entries = &mut moving.entries;
        // Entries without a byte are a flood, too.
        entries.bytes = entries.bytes.saturating_add(bytes.max(1) as u64);
        if entries.bytes > most {
            return Err(Lie::Entries(most));
        }
        entries.are_void |= !is_up(peers, moving.to);
        if entries.are_void {
            return Ok(Relay::Lost);
        }
        entries.are_there = true;
        Ok(Relay::To(moving.to))
    }

    fn next_operation(&mut self, now_ns: u64) -> Option<Operation> {
        let Limits { again_ns, in_flight, .. } = self.limits;
        let asking = match (&mut self.placing, &mut self.moving) {
            (Some(placing), _) => &mut placing.asking,
            (None, moving) => &mut moving.as_mut()?.asking,
        };
        let (operation, is_again) = asking.next(self.ticket + 1, now_ns, in_flight, again_ns)?;
        self.ticket += 1;
        self.totals.operations += 1;
        self.totals.again += u64::from(is_again);
        Some(operation)
    }

    fn answered(&mut self, answer: &Answer, now_ns: u64) {
        let again_ns = self.limits.again_ns;
        if let Some(placing) = &mut self.placing {
            placing.asking.answered(answer, now_ns, again_ns);
        } else if let Some(moving) = &mut self.moving {
            moving.asking.answered(answer, now_ns, again_ns);
        }
    }
}
