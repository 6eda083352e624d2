//! The dealer of a run where each side receives its own buckets: [`cora_switch::dealer`], with the
//! run's clock, the one who moves buckets, and the account of moves.
//!
//! The flow table is emulated, since the supervisor steers packets itself. It has the abilities of
//! the NIC's, as the plan knows them.

use std::time::Instant;

use cora_core::app::App;
use cora_core::bucket::Bucket;
use cora_core::packet::Meta;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::Deal;
use cora_switch::coordinator::Totals;
use cora_switch::dealer::{Lied, Passed, Record};
use cora_switch::{Abilities, Emulated, Limits, NoSuchShard, Shard};

use crate::ingress::intake::Deals;
use crate::observe::buckets::BucketMoves;
use crate::options::Moves;
use crate::process::log::{self, Part};
use crate::supervisor::chance::Chance;
use crate::supervisor::load::Load;

/// The dealer.
#[derive(Debug)]
pub(crate) struct Dealer {
    switch: cora_switch::Dealer<Emulated>,
    begun: Instant,
    /// Number of NIC cores, and of host workers.
    number: u16,
    mover: Mover,
    /// Moves that the log has, and those of them after which buckets began afresh.
    told: (u64, u64),
}

/// Who moves buckets after the deal.
#[derive(Debug)]
enum Mover {
    Nobody,
    /// Chance, for tests.
    Chance(Chance),
    /// The policy that goes by load.
    Load(Box<Load>),
    /// Nobody: all buckets go to the host halves.
    Gathers,
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

/// The shard with this number.
const fn numbered(shard: usize) -> Shard {
    Shard::new(shard as u16)
}

impl Dealer {
    /// A dealer with an empty flow table, on so many NIC cores and host workers. The deal is that
    /// of the plan. A program that `follows` another one begins with all buckets at the
    /// [hosts](Self::gather), which have what is left of them, and moves the NIC's from there.
    pub(crate) fn new<A: App>(
        app: &mut A,
        number: u16,
        moves: &Moves,
        follows: bool,
    ) -> Result<Self, NoSuchShard> {
        let (planned, hosts) = (Deal::of_plan(&A::PLAN, number), Deal::of_hosts(number));
        let deal = if follows { &hosts } else { &planned };
        let shards = A::PLAN.sides.shards(number);
        let limits = Limits::of_plan(A::PLAN.flow_table);
        let abilities = Abilities::of_plan(A::PLAN.flow_table, &limits);
        let table = Emulated::new(abilities, Shard::new(0));
        let switch = cora_switch::Dealer::new(app, table, limits, (deal, shards))?;
        let mover = Mover::of(moves, shards);
        let mut new = Self { switch, begun: Instant::now(), number, mover, told: (0, 0) };
        new.want(&planned)?;
        Ok(new)
    }

    /// These are to be the owners.
    fn want(&mut self, deal: &Deal) -> Result<(), NoSuchShard> {
        for shard in 0..2 * self.number {
            self.switch.want(deal.buckets_of(shard.into()), Shard::new(shard))?;
        }
        Ok(())
    }

    /// Has the host halves get all buckets, and nobody move them any more. Returns whether they
    /// have them. A bucket for whose rule the flow table has no room stays where it is.
    pub(super) fn gather(&mut self) -> bool {
        if !matches!(self.mover, Mover::Gathers) {
            self.mover = Mover::Gathers;
            // There are such shards.
            let _ = self.want(&Deal::of_hosts(self.number));
        }
        self.is_quiet()
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Whether no bucket moves, and none is to move.
    pub(super) fn is_quiet(&self) -> bool {
        self.switch.is_quiet()
    }

    /// The owner of each bucket.
    pub(super) fn deal(&self) -> Deal {
        let mut deal = Deal::even(1);
        for bucket in Bucket::all() {
            deal.give(bucket, self.switch.coordinator().owner_of(bucket).number() as u8);
        }
        deal
    }

    /// The moves so far.
    pub(super) fn moves(&self) -> BucketMoves {
        let Totals { moves, voids, stayed, operations, strays, longest_ns, .. } =
            self.switch.coordinator().report(self.now_ns()).totals;
        BucketMoves {
            moves,
            afresh: voids,
            stayed,
            rule_operations: operations,
            passed_on: strays,
            longest_us: longest_ns / 1000,
            by_load: match &self.mover {
                Mover::Load(load) => Some(load.account()),
                Mover::Nobody | Mover::Chance(_) | Mover::Gathers => None,
            },
        }
    }

    /// Logs moves that are done, once nothing moves any more.
    pub(super) fn tell_moves(&mut self) {
        if !self.is_quiet() {
            return;
        }
        let Totals { moves, voids, .. } = self.switch.coordinator().report(self.now_ns()).totals;
        if moves > self.told.0 {
            let (moves_before, voids_before) = std::mem::replace(&mut self.told, (moves, voids));
            let (moves, voids) = (moves - moves_before, voids - voids_before);
            let afresh = match voids {
                0 => String::new(),
                voids => format!("; {voids} of them without entries, which are lost"),
            };
            log::note(
                Part::Moves,
                format_args!("buckets have been handed over, in {moves} moves{afresh}"),
            );
        }
    }

    /// Looks at the queues: each shard's number, and how full its queue is, in percent; `None` if
    /// the shard doesn't work. Buckets may move then by load.
    pub(super) fn look(&mut self, queues: impl Iterator<Item = (usize, Option<u8>)>) {
        let now = self.now_ns();
        let Self { switch, mover: Mover::Load(load), .. } = self else { return };
        if !switch.is_quiet() {
            load.pause(now);
            return;
        }
        queues.for_each(|(shard, fill)| load.look(shard, fill));
        if let Some(decision) = load.decide(now, switch.coordinator()) {
            // There is such a shard: it is one of those that were looked at.
            let _ = switch.want(decision.buckets, decision.to.shard);
        }
    }

    /// Goes on, and gives records for shards to `push`.
    pub(super) fn step(&mut self, push: &mut dyn FnMut(usize, Record)) {
        let now = self.now_ns();
        self.switch.step(now, &mut |shard, record| push(shard.number(), record));
    }

    /// The half that receives the shard's packets was started again: see
    /// [`cora_switch::Dealer::restarted`].
    pub(super) fn restarted(&mut self, shard: usize, push: &mut dyn FnMut(usize, Record)) {
        let (now, shard) = (self.now_ns(), numbered(shard));
        let mut push = |shard: Shard, record| push(shard.number(), record);
        // There is such a shard: the supervisor has it.
        let _ = self.switch.restarted(shard, now, &mut push);
    }

    /// Whether the shard takes a packet again that the half before left unread: see
    /// [`cora_switch::Dealer::takes_again`].
    pub(super) fn takes_again(&mut self, shard: usize, meta: &Meta, bytes: usize) -> bool {
        self.switch.takes_again(numbered(shard), meta, bytes)
    }

    /// Takes a record that a shard said.
    pub(super) fn said(&mut self, shard: usize, record: Record) -> Result<Passed, Lied> {
        let now = self.now_ns();
        self.switch.said(numbered(shard), record, now)
    }
}

impl Deals for Dealer {
    fn stops(&self, packet_ns: u64, begins: bool) -> bool {
        self.switch.stops(packet_ns, begins)
    }

    fn may_tell(&self, now: u64) -> bool {
        self.switch.may_tell(now)
    }

    fn shard_of(&self, bucket: Bucket) -> usize {
        self.switch.table().queue_of(bucket).number()
    }

    fn passed(&mut self, stamp: &Stamp, bytes: usize) {
        let Self { switch, mover, .. } = self;
        let bucket = stamp.meta.mark.bucket;
        let table = switch.table_mut();
        table.count(bucket, bytes);
        let to = table.queue_of(bucket);
        switch.passed(&stamp.meta, to, bytes);
        match mover {
            Mover::Nobody | Mover::Gathers => {}
            Mover::Load(load) => load.count(bucket),
            Mover::Chance(chance) => {
                if switch.is_quiet()
                    && let Some((buckets, to)) = chance.wish(bucket)
                {
                    // There is such a shard: it was drawn among them.
                    let _ = switch.want(buckets, to);
                }
            }
        }
    }
}
