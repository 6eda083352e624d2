//! Flow tables for tests: one whose steps are chosen one by one, and one that misbehaves at random.

use std::collections::VecDeque;

use cora_core::bucket::Bucket;
use cora_switch::{
    Abilities, Answer, Change, Counts, Emulated, Epoch, FlowTable, Operation, Refused, Rule, Shard,
};

use crate::random::Random;
use crate::world::Sabotage;

/// A table that deals packets, too.
pub(crate) trait Switch: FlowTable + Clone + std::hash::Hash {
    fn queue_of(&self, bucket: Bucket) -> Shard;

    /// Steps that can be taken, and whether anything hangs on them.
    fn choices(&self) -> Vec<Step>;

    fn go(&mut self, step: Step);
}

/// A step of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The next operation takes effect.
    Apply,
    /// It is refused.
    Refuse,
    /// It gets lost.
    Lose,
    /// An operation that took effect is answered.
    Answer,
    /// An earlier operation takes effect again.
    Again(usize),
}

impl Step {
    /// Whether the table takes it sooner or later.
    pub(crate) fn is_due(self) -> bool {
        matches!(self, Self::Apply | Self::Answer)
    }
}

/// Remaining misdeeds of a table.
#[derive(Clone, Copy, Debug, Hash, Default)]
pub(crate) struct Misdeeds {
    pub(crate) losses: u8,
    pub(crate) refusals: u8,
    pub(crate) doubles: u8,
}

/// A table whose steps are chosen.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Stepped {
    default: Shard,
    rules: Vec<Rule>,
    asked: VecDeque<Operation>,
    applied: VecDeque<Answer>,
    answered: Vec<Answer>,
    done: Vec<Change>,
    misdeeds: Misdeeds,
    sabotage: Sabotage,
}

/// The ticket of an operation that nobody asked for.
const NOBODY: u64 = u64::MAX;

impl Stepped {
    pub(crate) fn new(default: Shard, misdeeds: Misdeeds, sabotage: Sabotage) -> Self {
        Self {
            default,
            rules: Vec::new(),
            asked: VecDeque::new(),
            applied: VecDeque::new(),
            answered: Vec::new(),
            done: Vec::new(),
            misdeeds,
            sabotage,
        }
    }

    fn deciding(&self, bucket: Bucket) -> Option<&Rule> {
        // Of equal epochs, the older rule decides.
        let rules = self.rules.iter().rev().filter(|rule| rule.bucket == bucket);
        rules.max_by_key(|rule| rule.epoch)
    }

    /// The rule that decides, if an insertion would replace it.
    fn replaced(&self, change: &Change) -> Option<Rule> {
        let Change::Insert(new) = change else { return None };
        self.deciding(new.bucket).filter(|old| old.epoch < new.epoch).copied()
    }

    fn apply(&mut self, change: Change) {
        let equal = self.sabotage == Sabotage::EqualEpochs;
        let epoch_of = |rule: &Rule| if equal { Epoch::new(1) } else { rule.epoch };
        match change {
            Change::Insert(mut rule) => {
                rule.epoch = epoch_of(&rule);
                if !self.rules.contains(&rule) {
                    self.rules.push(rule);
                }
            }
            Change::Remove(rule) => {
                let name = (rule.bucket, epoch_of(&rule));
                self.rules.retain(|rule| (rule.bucket, rule.epoch) != name);
            }
        }
        // The order of rules says something for equal epochs only.
        if !equal {
            self.rules.sort_by_key(|rule| (rule.bucket, rule.epoch));
        }
    }
}

impl FlowTable for Stepped {
    fn ask(&mut self, operation: Operation, _: u64) -> Result<(), Refused> {
        if self.sabotage == Sabotage::OldRuleFirst
            && let Some(old) = self.replaced(&operation.change)
        {
            self.asked.push_back(Operation { ticket: NOBODY, change: Change::Remove(old) });
        }
        if self.sabotage == Sabotage::EarlyMarker {
            self.answered.push(Answer { operation, outcome: Ok(()) });
        }
        self.asked.push_back(operation);
        Ok(())
    }

    fn poll(&mut self, _: u64, answered: &mut dyn FnMut(Answer)) {
        self.answered.drain(..).filter(|it| it.operation.ticket != NOBODY).for_each(answered);
    }

    fn counts(&self, _: &Rule) -> Option<Counts> {
        None
    }

    fn default_counts(&self) -> Counts {
        Counts::default()
    }
}

impl Switch for Stepped {
    fn queue_of(&self, bucket: Bucket) -> Shard {
        self.deciding(bucket).map_or(self.default, |rule| rule.to)
    }

    fn choices(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let Misdeeds { losses, refusals, doubles } = self.misdeeds;
        if let Some(next) = self.asked.front() {
            steps.push(Step::Apply);
            if losses > 0 {
                steps.push(Step::Lose);
            }
            let is_there = self.rules.contains(next.change.rule());
            if refusals > 0 && matches!(next.change, Change::Insert(_)) && !is_there {
                steps.push(Step::Refuse);
            }
        }
        if !self.applied.is_empty() {
            steps.push(Step::Answer);
        }
        if doubles > 0 {
            steps.extend((0..self.done.len()).map(Step::Again));
        }
        steps
    }

    fn go(&mut self, step: Step) {
        match step {
            Step::Apply => {
                let Some(operation) = self.asked.pop_front() else { return };
                let replaces = [Sabotage::ReplaceInPlace, Sabotage::StrayDropped];
                let old = self.replaced(&operation.change);
                if let Some(old) = old.filter(|_| replaces.contains(&self.sabotage)) {
                    // The rest of the update is another step.
                    self.apply(Change::Remove(old));
                    self.asked.push_front(operation);
                    return;
                }
                self.apply(operation.change);
                self.applied.push_back(Answer { operation, outcome: Ok(()) });
                if self.misdeeds.doubles > 0 {
                    self.done.push(operation.change);
                }
            }
            Step::Refuse => {
                let Some(operation) = self.asked.pop_front() else { return };
                self.misdeeds.refusals -= 1;
                self.applied.push_back(Answer { operation, outcome: Err(Refused::NoRoom) });
            }
            Step::Lose => {
                self.asked.pop_front();
                self.misdeeds.losses -= 1;
            }
            Step::Answer => self.answered.extend(self.applied.pop_front()),
            Step::Again(which) => {
                let change = self.done.remove(which);
                self.misdeeds.doubles -= 1;
                if self.misdeeds.doubles == 0 {
                    self.done.clear();
                }
                self.apply(change);
            }
        }
    }
}

/// The emulated table, whose operations get lost or are done twice at random.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Rough {
    pub(crate) inner: Emulated,
    random: Random,
    /// One operation in so many is lost, or done again; 0 for none.
    once_in: u64,
    again: Vec<(u64, Operation)>,
}

impl Rough {
    pub(crate) fn new(
        abilities: Abilities,
        default: Shard,
        mut random: Random,
        once_in: u64,
    ) -> Self {
        let random = Random::new(random.next());
        Self { inner: Emulated::new(abilities, default), random, once_in, again: Vec::new() }
    }
}

impl FlowTable for Rough {
    fn ask(&mut self, operation: Operation, now_ns: u64) -> Result<(), Refused> {
        if self.once_in > 0 && self.random.once_in(self.once_in) {
            return Ok(());
        }
        self.inner.ask(operation, now_ns)
    }

    fn poll(&mut self, now_ns: u64, answered: &mut dyn FnMut(Answer)) {
        let due = self.again.extract_if(.., |(due_ns, _)| *due_ns <= now_ns);
        for (_, operation) in due {
            // A table that is busy doesn't do it again.
            self.inner.ask(operation, now_ns).unwrap_or_default();
        }
        let Self { inner, random, again, .. } = self;
        inner.poll(now_ns, &mut |answer| {
            if answer.outcome.is_ok() && self.once_in > 0 && random.once_in(self.once_in) {
                again.push((now_ns + random.below(5_000), answer.operation));
            }
            answered(answer);
        });
    }

    fn counts(&self, rule: &Rule) -> Option<Counts> {
        self.inner.counts(rule)
    }

    fn default_counts(&self) -> Counts {
        self.inner.default_counts()
    }
}

impl Switch for Rough {
    fn queue_of(&self, bucket: Bucket) -> Shard {
        self.inner.queue_of(bucket)
    }

    fn choices(&self) -> Vec<Step> {
        Vec::new()
    }

    fn go(&mut self, _: Step) {}
}
