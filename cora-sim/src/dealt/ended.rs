//! What is checked: during a run, and at its end.

use std::collections::BTreeSet;

use cora_core::bucket::{Bucket, BucketSet};
use cora_core::state::Kind;

use super::Run;
use crate::apps::SimApp;
use crate::result::text_of;
use crate::runtime::{Faults, Ran};

impl<A: SimApp> Run<'_, A> {
    /// The time of the latest packet.
    fn latest(&self) -> u64 {
        self.fed.checked_sub(1).map_or(0, |last| self.case.packets[last].0.meta.now)
    }

    /// Checks that no key is at two shards.
    pub(super) fn check_keys(&mut self) -> Result<(), String> {
        let (mut keys, now) = (BTreeSet::new(), self.latest());
        for (shard, app) in self.shards.iter_mut().map(|it| it.app()).enumerate() {
            let Some(app) = app else { continue };
            for number in 0..A::STATES {
                if app.state(number).kind() != Kind::Keyed {
                    continue;
                }
                let mut twice = false;
                app.described(number).describe(now, &mut |key, _| {
                    twice |= !keys.insert((number, key.to_vec()));
                });
                if twice {
                    return Err(format!("a key of state {number} is at shard {shard} and another"));
                }
            }
        }
        Ok(())
    }

    /// Checks the end of the run, and returns its totals.
    pub(super) fn ended(&mut self) -> Result<Ran, String> {
        for (number, shard) in self.shards.iter().enumerate() {
            if !shard.is_drained() {
                return Err(format!("shard {number} waits for a move that is over"));
            }
        }
        for bucket in Bucket::all() {
            let to = self.dealer.table().shard_of(bucket);
            let owner = self.dealer.coordinator().owner_of(bucket).number();
            if to != owner {
                return Err(format!("packets of bucket {bucket} go to {to}, not to {owner}"));
            }
        }
        self.gather()?;
        let all = self.case.packets.len() as u64;
        let had_kills = self.faults.nic_kills + self.faults.host_kills > 0;
        if had_kills {
            self.check_invariants(all)?;
        } else if let Some(difference) = self.results.difference(&self.case.expected) {
            return Err(difference);
        }
        let totals = self.dealer.coordinator().report(self.clock).totals;
        let faults = Faults {
            stayed: totals.stayed,
            afresh: totals.voids,
            rule_faults: self.dealer.table().faults,
            bucket_moves: totals.moves,
            wall_steps: self.case.wall_steps,
            ..self.faults
        };
        Ok(Ran { faults, packets: all, lost: self.lost.packets, ..Ran::default() })
    }

    /// Gathers the results of all shards: entries, merged replicas, and each bucket's values from
    /// its owner.
    fn gather(&mut self) -> Result<(), String> {
        let now = self.latest();
        let Self { shards, dealer, home, results, .. } = self;
        for (shard, half) in shards.iter_mut().enumerate() {
            half.pass_time(now);
            half.count(results);
            let Some(app) = half.app() else { continue };
            results.wait(app, now);
            let owner = |bucket| dealer.coordinator().owner_of(bucket).number();
            let own: BucketSet = Bucket::all().filter(|it| owner(*it) == shard).collect();
            app.keeps_all(own)?;
            for number in 0..A::STATES {
                let mut pieces = Vec::new();
                let mut take = |piece: &[u8]| pieces.push(piece.to_vec());
                match app.state(number).kind() {
                    Kind::PerBucket => {
                        own.iter().for_each(|it| app.state(number).export_bucket(it, &mut take));
                    }
                    _ => app.state(number).export(now, &mut take),
                }
                for piece in pieces {
                    let taken = home.described(number).import(&piece, now, &mut |key, describe| {
                        results.note(number, key, text_of(describe));
                    });
                    taken.map_err(|_| format!("a piece of state {number} is refused"))?;
                }
            }
        }
        results.hold(home, now);
        Ok(())
    }

    /// Checks what no death may change.
    fn check_invariants(&self, all: u64) -> Result<(), String> {
        let lost = self.lost;
        if let Some(unsound) = self.results.unsound(all - lost.packets) {
            return Err(format!("{unsound}; {lost:?}"));
        }
        let left: usize = self.results.frames.values().map(Vec::len).sum();
        let forwarded = ["transmit", "pass", "redirect"].iter();
        let forwarded: u64 = forwarded.filter_map(|name| self.results.outcomes.get(name)).sum();
        if left as u64 + lost.unsent != forwarded {
            return Err(format!("{forwarded} packets were to leave, {left} left; {lost:?}"));
        }
        Ok(())
    }
}
