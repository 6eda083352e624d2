//! Kills of halves. What a half took and had not shown is lost with it. What it said comes to the
//! coordinator before the coordinator learns of the half in its place, or never does.

use cora_core::state::commutative::epoch_end;
use cora_runtime::link::message::{Kind, Message};

use super::shard::is_frame;
use super::{Mistake, Run, ShardNumber, numbered};
use crate::apps::SimApp;
use crate::story;
use crate::traffic::Record;

/// What is lost with halves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lost {
    /// Packets without an outcome.
    pub(super) packets: u64,
    /// Packets with an outcome that would have left.
    pub(super) unsent: u64,
}

impl<A: SimApp> Run<'_, A> {
    /// A half dies, amid its work.
    pub(super) fn kill(&mut self, number: usize) -> Result<(), String> {
        if self.shards[number].is_dead() {
            return Ok(());
        }
        let shard = &mut self.shards[number];
        let before = shard.outbox.len();
        let some = 1 + self.random.below(self.conditions.most);
        shard.work(some as usize, &mut self.buffer)?;
        let shown = self.random.below((shard.outbox.len() - before) as u64 + 1) as usize;
        let remains = shard.die(&mut self.results, (before, shown));
        story::tell(|| format!("shard {number} is dead: {remains:?}"));
        self.lost.packets += remains.held;
        self.lost.unsent += remains.unsent;
        *(if shard.is_nic { &mut self.faults.nic_kills } else { &mut self.faults.host_kills }) += 1;
        Ok(())
    }

    /// Another half takes the place of a dead one. The wire feeds in again what the dead one left
    /// unread, as far as it may be this shard's.
    pub(super) fn revive(&mut self, number: usize) -> Result<(), String> {
        let is_early = !self.mistaken.is(Mistake::SaidByTheDead);
        if is_early {
            self.hear_the_dead(number)?;
        }
        let Self { shards, supply, case, conditions, dealer, mistaken, clock, .. } = self;
        shards[number].start(supply, case.seed, conditions.hold);
        let unread = std::mem::take(&mut shards[number].inbox);
        // The first records of the half are in front of all packets, and a marker is behind them.
        let mut push = |to: ShardNumber, record| shards[to.number()].inbox.push_back(record);
        let restarted = dealer.restarted(numbered(number), *clock, &mut |shard, record| {
            mistaken.told(shard, record, &mut push);
        });
        restarted.expect("there is such a shard");
        mistaken.told_all(&mut push);
        let mut again = Vec::new();
        for (kind, mut bytes) in unread {
            let Some((stamp, frame)) = Message::decode_frame(kind, &mut bytes) else {
                // Epochs begin for the new half, too. What was said of buckets is void.
                if kind == Kind::Turn {
                    again.push((kind, bytes));
                }
                continue;
            };
            let (shard, length) = (numbered(number), frame.len());
            if dealer.takes_again(shard, &stamp.meta, length) {
                again.push((kind, bytes));
            } else if mistaken.is(Mistake::UnreadFedAgain) {
                dealer.passed(&stamp.meta, shard, length);
                again.push((kind, bytes));
            } else {
                self.lost.packets += 1;
            }
        }
        if self.mistaken.is(Mistake::MarkerFirst) {
            self.clock += self.random.below(super::IDLE_STEP);
            self.settle();
        }
        if let Some(ends) = self.epoch_told_again(&mut again) {
            self.shards[number].epoch_begins(ends);
        }
        self.shards[number].inbox.extend(again);
        self.settle();
        if !is_early {
            self.hear_the_dead(number)?;
        }
        Ok(())
    }

    /// The end of the epoch that another half was not told of: that of the first packet that it
    /// gets again, or the latest.
    fn epoch_told_again(&self, again: &mut [Record]) -> Option<u64> {
        let first = again.first_mut().map(|(kind, bytes)| Message::decode_frame(*kind, bytes));
        let ends = match first {
            // An epoch is told in front of all packets.
            Some(None) => return None,
            Some(Some((stamp, _))) => epoch_end(stamp.meta.now).min(self.epoch_ends),
            None => self.epoch_ends,
        };
        (ends > 0).then_some(ends)
    }

    /// Reads what a dead half said, or loses it.
    fn hear_the_dead(&mut self, number: usize) -> Result<(), String> {
        let is_read = !self.random.once_in(4) || self.mistaken.is_any();
        let said = std::mem::take(&mut self.shards[number].outbox);
        for record in said {
            if is_read {
                self.heard(number, record)?;
                continue;
            }
            self.lost.packets += u64::from(record.0 == Kind::Stray);
            self.lost.unsent += u64::from(is_frame(record.0));
        }
        Ok(())
    }
}
