//! Rule operations of one step of a move: asked for, and asked for again until all are answered.

use std::collections::BTreeMap;

use cora_core::bucket::{Bucket, BucketSet};

use crate::rules::{Answer, Change, Epoch, Operation, Refused, Rule};

/// An operation without an answer.
#[derive(Clone, Copy, Debug, Hash)]
struct Asked {
    ticket: u64,
    /// The ticket before, if it was asked for again: while the table is too busy for the later one,
    /// the answer to this one counts.
    earlier: Option<u64>,
    at_ns: u64,
}

/// The operations: one per bucket.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct Asking {
    changes: BTreeMap<Bucket, Change>,
    /// Buckets that are still to be asked for.
    waiting: BucketSet,
    /// By bucket, the latest operation.
    asked: BTreeMap<Bucket, Asked>,
    /// Buckets that the table refused.
    pub(super) refused: BucketSet,
    /// Time of the last answer.
    heard_ns: u64,
    /// No operation is asked for before: the table was busy.
    paused_until_ns: u64,
}

impl Asking {
    /// Insertions of these rules, or removals.
    pub(super) fn new(changes: impl IntoIterator<Item = Change>, now_ns: u64) -> Self {
        let by_bucket = |change: Change| (change.rule().bucket, change);
        let changes: BTreeMap<_, _> = changes.into_iter().map(by_bucket).collect();
        let waiting = changes.keys().copied().collect();
        Self { changes, waiting, heard_ns: now_ns, ..Self::default() }
    }

    /// Number of operations without an answer.
    pub(super) fn unanswered(&self) -> usize {
        self.asked.len() + self.waiting.len()
    }

    /// Notes an answer. Answers to operations of other steps are ignored: these are late ones, of
    /// operations that were done twice.
    pub(super) fn answered(&mut self, answer: &Answer, now_ns: u64, again_ns: u64) {
        let Operation { ticket, change } = answer.operation;
        let bucket = change.rule().bucket;
        if self.changes.get(&bucket) != Some(&change) {
            return;
        }
        if answer.outcome != Err(Refused::Busy) {
            self.heard_ns = now_ns;
        }
        let latest = self.asked.get_mut(&bucket).filter(|asked| asked.ticket == ticket);
        match (answer.outcome, latest) {
            (Ok(()), _) => {
                self.asked.remove(&bucket);
                self.waiting.remove(bucket);
                self.paused_until_ns = 0;
            }
            // Of an earlier operation: a later one may have found room.
            (Err(_), None) => {}
            (Err(Refused::NoRoom | Refused::Taken(_) | Refused::Default), Some(_)) => {
                self.asked.remove(&bucket);
                self.refused.add(bucket);
            }
            (Err(Refused::Busy), Some(asked)) => {
                if let Some(ticket) = asked.earlier {
                    *asked = Asked { ticket, earlier: None, at_ns: now_ns };
                } else {
                    self.asked.remove(&bucket);
                    self.waiting.add(bucket);
                    self.paused_until_ns = now_ns.saturating_add(again_ns);
                }
            }
        }
    }

    /// The next operation to ask for, by this ticket, and whether it was asked for before. There
    /// are never more than `most` without an answer. An operation without an answer is taken for
    /// lost if no answer came for `again_ns`: a slow table answers one after the other.
    pub(super) fn next(
        &mut self,
        ticket: u64,
        now_ns: u64,
        most: usize,
        again_ns: u64,
    ) -> Option<(Operation, bool)> {
        let is_lost =
            |asked: &Asked| now_ns.saturating_sub(asked.at_ns.max(self.heard_ns)) >= again_ns;
        let lost = self.asked.iter().find(|(_, asked)| is_lost(asked)).map(|(bucket, _)| *bucket);
        let can_ask = self.asked.len() < most && now_ns >= self.paused_until_ns;
        let bucket = lost.or_else(|| self.waiting.first().filter(|_| can_ask))?;
        let change = *self.changes.get(&bucket)?;
        self.waiting.remove(bucket);
        let earlier = self.asked.get(&bucket).map(|asked| asked.ticket);
        self.asked.insert(bucket, Asked { ticket, earlier, at_ns: now_ns });
        Some((Operation { ticket, change }, lost.is_some()))
    }
}

/// The rules of a move to insert.
pub(super) fn inserts(rules: impl Iterator<Item = Rule>, now_ns: u64) -> Asking {
    Asking::new(rules.map(Change::Insert), now_ns)
}

/// The rules of earlier moves to remove; the default rule stays.
pub(super) fn removals(rules: impl Iterator<Item = Rule>, now_ns: u64) -> Asking {
    let placed = rules.filter(|rule| rule.epoch != Epoch::DEFAULT);
    Asking::new(placed.map(Change::Remove), now_ns)
}
