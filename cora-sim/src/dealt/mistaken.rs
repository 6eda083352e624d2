//! What a planted mistake does to the records between the dealer and the shards. The dealer itself
//! is the one of the product, without any mistake.

use cora_runtime::link::message::{Deals, Kind, Message};
use cora_switch::Shard;
use cora_switch::dealer::{Passed, Record};

use super::Mistake;

/// The way of records between the dealer and the shards.
#[derive(Default)]
pub(super) struct Mistaken {
    mistake: Option<Mistake>,
    /// A record that the mistake keeps back, and its shard.
    kept: Option<(Shard, Record)>,
    /// A record that comes too early, behind values that buckets begin with, and its shard.
    early: Option<(Shard, Record)>,
    /// The move whose first entry the mistake concerned.
    concerned: u64,
}

fn encoded(message: Deals<'_>) -> Record {
    Message::from(message).encode(|kind, parts| (kind, parts.concat()))
}

impl Mistaken {
    /// A way with this mistake, or without any.
    pub(super) fn new(mistake: Option<Mistake>) -> Self {
        Self { mistake, ..Self::default() }
    }

    /// Whether it is this mistake.
    pub(super) fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Whether there is any.
    pub(super) const fn is_any(&self) -> bool {
        self.mistake.is_some()
    }

    /// A shard is told this. Gives what comes of it to `push`.
    pub(super) fn told(
        &mut self,
        shard: Shard,
        record: Record,
        push: &mut dyn FnMut(Shard, Record),
    ) {
        if record.0 != Kind::Value {
            self.told_all(push);
        }
        let Some(Message::Deals(message)) = Message::decode(record.0, &record.1) else {
            unreachable!("the dealer tells of buckets");
        };
        match (self.mistake, message) {
            (Some(Mistake::LeavingLate), Deals::Leaving { .. }) => {
                self.kept = Some((shard, record));
                return;
            }
            (Some(Mistake::LeavingLate), Deals::Going { .. })
            | (Some(Mistake::EndTwice), Deals::Arrived { .. }) => self.give_kept(push),
            (Some(Mistake::HeldRunEarly), Deals::Coming { epoch, .. } | Deals::Void { epoch }) => {
                self.early = Some((shard, encoded(Deals::Arrived { epoch })));
            }
            (Some(Mistake::HeldRunEarly), Deals::Arrived { .. }) => return,
            (Some(Mistake::FloorNotHeld), Deals::Coming { epoch, buckets, .. }) => {
                let now = u64::MAX >> 1;
                push(shard, encoded(Deals::Coming { epoch, now, buckets }));
                return;
            }
            _ => {}
        }
        let is_over = record.0 == Kind::Arrived;
        push(shard, record);
        if is_over {
            self.give_kept(push);
        }
    }

    /// Shards were told all that there is now.
    pub(super) fn told_all(&mut self, push: &mut dyn FnMut(Shard, Record)) {
        if let Some((shard, record)) = self.early.take() {
            push(shard, record);
        }
    }

    fn give_kept(&mut self, push: &mut dyn FnMut(Shard, Record)) {
        if let Some((shard, record)) = self.kept.take() {
            push(shard, record);
        }
    }

    /// What a shard said is passed on, or what becomes of that.
    pub(super) fn passes(&mut self, passed: Passed) -> Passed {
        match passed {
            Passed::Packet(..) if self.is(Mistake::StrayDropped) => Passed::Done,
            Passed::Record(to, record) => self.relay(to, record),
            passed => passed,
        }
    }

    /// What becomes of an entry, or a piece of a value.
    fn relay(&mut self, to: Shard, record: Record) -> Passed {
        let is_first = self.is_first(&record);
        match (self.mistake, Kind::of(record.0)) {
            (Some(Mistake::ArrivedEarly), Some(Kind::Moved)) => {
                let before = self.kept.replace((to, record));
                before.map_or(Passed::Done, |(to, record)| Passed::Record(to, record))
            }
            (Some(Mistake::EntryTwice), _) if is_first => {
                self.kept = Some((to, record.clone()));
                Passed::Record(to, record)
            }
            (Some(Mistake::EntryLost), _) if is_first => Passed::Done,
            (Some(Mistake::EndTwice), Some(Kind::Waits)) => {
                self.kept.get_or_insert_with(|| (to, record.clone()));
                Passed::Record(to, record)
            }
            (Some(Mistake::EndsLost), Some(Kind::Waits))
            | (Some(Mistake::ValuesLost), Some(Kind::Value)) => Passed::Done,
            _ => Passed::Record(to, record),
        }
    }

    /// Whether it is the first entry of a move.
    fn is_first(&mut self, (kind, bytes): &Record) -> bool {
        let Some(Message::Deals(Deals::Moved { epoch, .. })) = Message::decode(*kind, bytes) else {
            return false;
        };
        std::mem::replace(&mut self.concerned, epoch) != epoch
    }
}
