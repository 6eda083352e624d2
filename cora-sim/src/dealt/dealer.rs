//! The dealer of a run: the coordinator of moves and the flow table, driven as the supervisor of a
//! run drives them. The mistakes of the wire are planted here.

use cora_core::app::App;
use cora_core::bucket::{Bucket, BucketSet};
use cora_runtime::dealing::each_value;
use cora_runtime::link::message::{Deals, Kind, Message, Stamp};
use cora_switch::coordinator::{Phase, Totals};
use cora_switch::{Coordinator, Epoch, Relay, Said, Shard, Told};

use super::conditions::Conditions;
use super::planted::Mistake;
use super::table::Table;
use crate::traffic::Record;

/// The dealer.
pub(super) struct Dealer {
    coordinator: Coordinator,
    pub(super) table: Table,
    teller: Teller,
    /// The rules of the deal are in force.
    is_set_up: bool,
    /// The move whose first entry a mistake concerned.
    concerned: u64,
}

/// What tells shards of moves.
struct Teller {
    /// For each bucket, the values that it begins with: their states, and their pieces.
    values: Vec<Vec<(u16, Vec<u8>)>>,
    /// The buckets of the latest move.
    coming: BucketSet,
    mistake: Option<Mistake>,
    /// The time of the latest packet.
    latest: u64,
    /// A record that a mistake keeps back, and its shard.
    kept: Option<(usize, Record)>,
}

impl Teller {
    /// Gives what a shard is told to `push`, with the mistakes that concern it.
    fn tell(&mut self, shard: usize, told: &Told<'_>, push: &mut dyn FnMut(usize, Record)) {
        match (self.mistake, told) {
            (Some(Mistake::LeavingLate), Told::Leaving { .. }) => {
                self.kept = Some((shard, told_as(told, self.latest)));
                return;
            }
            (Some(Mistake::LeavingLate), Told::Going { .. }) => {
                if let Some((shard, record)) = self.kept.take() {
                    push(shard, record);
                }
            }
            (Some(Mistake::HeldRunEarly), Told::Arrived { .. }) => return,
            _ => {}
        }
        let is_wrong = self.mistake == Some(Mistake::FloorNotHeld);
        let is_wrong = is_wrong && matches!(told, Told::Coming { .. });
        push(shard, told_as(told, if is_wrong { u64::MAX >> 1 } else { self.latest }));
        if matches!(told, Told::Arrived { .. })
            && let Some((shard, record)) = self.kept.take()
        {
            push(shard, record);
        }
        self.begin(shard, told, push);
    }

    /// Gives the values with which buckets begin, behind what says that they come.
    fn begin(&mut self, shard: usize, told: &Told<'_>, push: &mut dyn FnMut(usize, Record)) {
        let epoch = match *told {
            Told::Coming { epoch, buckets } => {
                self.coming = buckets;
                epoch.number()
            }
            // They are no longer part of the move.
            Told::Stays { buckets, .. } => {
                self.coming = self.coming.without(buckets);
                return;
            }
            Told::Void { epoch } => epoch.number(),
            _ => return,
        };
        // Whatever the shard had of them is old. They begin as any do, until others come.
        for (state, piece) in self.coming.iter().flat_map(|it| &self.values[it.number()]) {
            push(shard, encoded(&Deals::Value { epoch, state: *state, piece }.into()));
        }
        if self.mistake == Some(Mistake::HeldRunEarly) {
            push(shard, encoded(&Deals::Arrived { epoch }.into()));
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
    /// A packet is lost.
    Lost,
}

fn encoded(message: &Message<'_>) -> Record {
    message.encode(|kind, parts| (kind, parts.concat()))
}

impl Dealer {
    /// A dealer with an empty flow table, which takes the values that buckets begin with from
    /// `app`.
    pub(super) fn new<A: App>(
        app: &mut A,
        conditions: &Conditions,
        seed: u64,
        mistake: Option<Mistake>,
    ) -> Self {
        let shards = conditions.shards.iter().sum();
        let coordinator = Coordinator::new(conditions.limits, shards, Shard::new(0));
        let values = Bucket::all().map(|bucket| {
            let mut values = Vec::new();
            each_value(app, bucket, &mut |state, piece| values.push((state, piece.to_vec())));
            values
        });
        Self {
            coordinator: coordinator.expect("shard 0 is there"),
            table: Table::new(conditions.abilities, conditions.rule_fault_in, seed),
            teller: Teller {
                values: values.collect(),
                coming: BucketSet::EMPTY,
                mistake,
                latest: 0,
                kept: None,
            },
            is_set_up: false,
            concerned: 0,
        }
    }

    /// These buckets are to be at this shard.
    pub(super) fn want(&mut self, buckets: BucketSet, to: usize) {
        let wanted = self.coordinator.want(buckets, Shard::new(to as u16));
        wanted.expect("there is such a shard");
    }

    /// Whether the rules of the deal are in force, and at most so many buckets wait for a move.
    pub(super) fn takes_wishes(&self, most: usize) -> bool {
        self.is_set_up && self.coordinator.report(0).waiting <= most
    }

    /// Whether a packet of this time must wait for a move.
    pub(super) fn must_wait(&self, packet_ns: u64) -> bool {
        self.is_set_up && self.coordinator.must_wait(packet_ns)
    }

    /// Whether a packet of this time must wait for a move, or for the rules of the deal.
    pub(super) fn stops(&self, packet_ns: u64) -> bool {
        !self.is_set_up || self.must_wait(packet_ns)
    }

    /// Whether no bucket moves, and none is to move.
    pub(super) fn is_quiet(&self) -> bool {
        self.coordinator.is_quiet()
    }

    /// The owner of a bucket.
    pub(super) const fn owner_of(&self, bucket: Bucket) -> usize {
        self.coordinator.owner_of(bucket).number()
    }

    /// Totals of the moves so far.
    pub(super) fn totals(&self, now_ns: u64) -> Totals {
        self.coordinator.report(now_ns).totals
    }

    /// The move under way, in words.
    pub(super) fn report(&self, now_ns: u64) -> String {
        self.coordinator.report(now_ns).to_string()
    }

    /// Whether a shard handles or holds packets of this bucket.
    pub(super) fn takes(&self, bucket: Bucket, shard: usize) -> bool {
        self.coordinator.takes(bucket, Shard::new(shard as u16))
    }

    /// Whether a packet of this bucket may come to this shard by mistake, with no effect on order.
    /// The next owner would keep it. And while rules are inserted, it would go on to the old owner,
    /// even if the next one holds earlier packets.
    pub(super) fn may_stray(&self, bucket: Bucket, to: usize) -> bool {
        let under_way = self.coordinator.report(0).under_way;
        let inserts = under_way.is_some_and(|it| it.phase == Phase::Inserting);
        !(self.takes(bucket, to) || inserts && self.teller.coming.has(bucket))
    }

    /// A packet went to this shard.
    pub(super) fn passed(&mut self, stamp: &Stamp, to: usize, bytes: usize) {
        let to = Shard::new(to as u16);
        self.teller.latest = self.teller.latest.max(stamp.meta.now);
        self.coordinator.passed(stamp.meta.mark.bucket, to, bytes, stamp.meta.now);
    }

    /// Goes on, and gives records for shards to `push`.
    pub(super) fn step(&mut self, now_ns: u64, push: &mut dyn FnMut(usize, Record)) {
        let Self { coordinator, table, teller, .. } = self;
        coordinator.step(now_ns, table, |shard, told| teller.tell(shard.number(), &told, push));
        self.is_set_up |= self.coordinator.is_quiet();
    }

    /// The half of a shard was started again. Gives records for shards to `push`: its first ones,
    /// behind which come packets that wait for it, before the next step.
    pub(super) fn restarted(
        &mut self,
        shard: usize,
        now_ns: u64,
        push: &mut dyn FnMut(usize, Record),
    ) {
        let Self { coordinator, teller, .. } = self;
        let restarted = coordinator.restarted(Shard::new(shard as u16), now_ns, |shard, told| {
            teller.tell(shard.number(), &told, push);
        });
        restarted.expect("there is such a shard");
    }

    /// Takes a record that a shard said, and gives what comes of it to `pass`.
    pub(super) fn said(
        &mut self,
        shard: usize,
        (kind, bytes): Record,
        now_ns: u64,
        pass: &mut dyn FnMut(Passed),
    ) -> Result<(), String> {
        let message = match Message::decode(kind, &bytes) {
            Some(Message::Deals(message)) => message,
            message => return Err(format!("shard {shard} says {message:?}")),
        };
        let said = match message {
            Deals::Moved { epoch, piece, .. } | Deals::Value { epoch, piece, .. } => {
                Said::Entry { epoch: Epoch::new(epoch), entry: piece }
            }
            Deals::Gone { epoch } => Said::Gone { epoch: Epoch::new(epoch) },
            Deals::Stray { stamp, frame } => {
                Said::Stray { bucket: stamp.meta.mark.bucket, bytes: frame.len() }
            }
            message => return Err(format!("shard {shard} says {message:?}")),
        };
        let by = Shard::new(shard as u16);
        let relay = self.coordinator.said(by, &said, now_ns);
        let relay = relay.map_err(|fault| format!("an honest shard is blamed: {fault}"))?;
        match (relay, message) {
            (Relay::To(to), Deals::Stray { stamp, frame }) => {
                if self.teller.mistake != Some(Mistake::StrayDropped) {
                    pass(Passed::Packet(to.number(), stamp, frame.to_vec()));
                }
            }
            (Relay::Lost, Deals::Stray { .. }) => pass(Passed::Lost),
            (Relay::To(to), _) => self.relay(to.number(), (kind, bytes.clone()), said, pass),
            (Relay::Done | Relay::Lost, _) => pass(Passed::Done),
        }
        Ok(())
    }

    /// Passes an entry or a value on, with the mistakes that concern them.
    fn relay(&mut self, to: usize, record: Record, said: Said<'_>, pass: &mut dyn FnMut(Passed)) {
        let Said::Entry { epoch, .. } = said else { return };
        let is_entry = record.0 == Kind::Moved;
        let is_first =
            is_entry && std::mem::replace(&mut self.concerned, epoch.number()) != epoch.number();
        match self.teller.mistake {
            Some(Mistake::ArrivedEarly) if is_entry => {
                if let Some((to, record)) = self.teller.kept.replace((to, record)) {
                    pass(Passed::Record(to, record));
                }
            }
            Some(Mistake::EntryTwice) if is_first => {
                self.teller.kept = Some((to, record.clone()));
                pass(Passed::Record(to, record));
            }
            Some(Mistake::EntryLost) if is_first => {}
            Some(Mistake::ValuesLost) if !is_entry => {}
            _ => pass(Passed::Record(to, record)),
        }
    }
}

/// What a shard is told, as a record. `now` is the time of the latest packet.
fn told_as(told: &Told<'_>, now: u64) -> Record {
    let with = |make: &dyn for<'a> Fn(&'a [u8]) -> Deals<'a>, buckets: &BucketSet| {
        encoded(&make(&buckets.to_bytes()).into())
    };
    match told {
        Told::Owns(buckets) => with(&|buckets| Deals::Owns { buckets }, buckets),
        Told::Leaving { epoch, buckets } => {
            with(&|buckets| Deals::Leaving { epoch: epoch.number(), now, buckets }, buckets)
        }
        Told::Coming { epoch, buckets } => {
            with(&|buckets| Deals::Coming { epoch: epoch.number(), now, buckets }, buckets)
        }
        Told::Stays { epoch, buckets } => {
            with(&|buckets| Deals::Stays { epoch: epoch.number(), buckets }, buckets)
        }
        Told::Going { epoch } => encoded(&Deals::Going { epoch: epoch.number() }.into()),
        Told::Void { epoch } => encoded(&Deals::Void { epoch: epoch.number() }.into()),
        Told::Arrived { epoch } => encoded(&Deals::Arrived { epoch: epoch.number() }.into()),
        Told::Entry { .. } => unreachable!("entries are passed on as they are"),
    }
}
