//! A flow table in software, in the place of a NIC's.

use std::collections::VecDeque;

use cora_core::app::FlowTableFacts;
use cora_core::bucket::Bucket;

use crate::Shard;
use crate::coordinator::Limits;
use crate::rules::{Answer, Change, Counts, FlowTable, Operation, Refused, Rule};

/// Abilities of a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Abilities {
    /// Maximum number of rules, without the default rule.
    pub entries: u32,
    /// Operations per second; 0 for no limit.
    pub operations_per_s: u32,
    /// Time from asking to answering, of an operation that waits for no other one.
    pub delay_ns: u64,
    /// Maximum number of operations under way.
    pub in_flight: u32,
}

impl Abilities {
    /// The abilities of the plan's flow table. It takes as many operations at a time as moves with
    /// these limits ask for.
    #[must_use]
    pub const fn of_plan(facts: FlowTableFacts, limits: &Limits) -> Self {
        let FlowTableFacts { entries, operations_per_s, delay_ns } = facts;
        Self { entries, operations_per_s, delay_ns, in_flight: limits.in_flight as u32 }
    }
}

/// A rule that is there.
#[derive(Clone, Copy, Debug, Hash)]
struct Placed {
    rule: Rule,
    counts: Counts,
}

/// The emulated table.
///
/// ```
/// use cora_core::bucket::Bucket;
/// use cora_switch::{Abilities, Change, Emulated, Epoch, FlowTable, Operation, Rule, Shard};
///
/// let abilities = Abilities { entries: 512, operations_per_s: 0, delay_ns: 100, in_flight: 64 };
/// let mut table = Emulated::new(abilities, Shard::new(0));
/// let rule = Rule { bucket: Bucket::new(7), epoch: Epoch::new(1), to: Shard::new(2) };
/// table.ask(Operation { ticket: 1, change: Change::Insert(rule) }, 0)?;
/// table.poll(99, &mut |_| unreachable!("it takes 100 ns"));
/// assert_eq!(table.queue_of(rule.bucket), Shard::new(0));
/// table.poll(100, &mut |answer| assert!(answer.outcome.is_ok()));
/// assert_eq!(table.queue_of(rule.bucket), Shard::new(2));
/// # Ok::<(), cora_switch::Refused>(())
/// ```
#[derive(Clone, Debug, Hash)]
pub struct Emulated {
    /// The shard of each bucket's packets, by the rules in force.
    queues: [Shard; Bucket::COUNT],
    /// Rules of each bucket, the highest epoch first.
    rules: [Vec<Placed>; Bucket::COUNT],
    abilities: Abilities,
    default: Shard,
    default_counts: Counts,
    /// Counts of rules that were removed.
    removed_counts: Counts,
    /// Number of rules.
    entries: u32,
    /// Operations under way, and the times of their answers.
    asked: VecDeque<(u64, Operation)>,
    /// Time of the last answer so far.
    last_due_ns: u64,
}

impl Emulated {
    /// A table with these abilities. The default rule sends all buckets to this shard.
    #[must_use]
    pub const fn new(abilities: Abilities, default: Shard) -> Self {
        Self {
            queues: [default; Bucket::COUNT],
            rules: [const { Vec::new() }; Bucket::COUNT],
            abilities,
            default,
            default_counts: Counts { packets: 0, bytes: 0 },
            removed_counts: Counts { packets: 0, bytes: 0 },
            entries: 0,
            asked: VecDeque::new(),
            last_due_ns: 0,
        }
    }

    /// The shard that packets of this bucket go to: a read of an array.
    #[inline(always)]
    #[must_use]
    pub const fn queue_of(&self, bucket: Bucket) -> Shard {
        self.queues[bucket.number()]
    }

    /// Counts a packet of this bucket at the rule that decides.
    #[inline]
    pub fn count(&mut self, bucket: Bucket, bytes: usize) {
        let deciding = self.rules[bucket.number()].first_mut();
        let counts = deciding.map_or(&mut self.default_counts, |placed| &mut placed.counts);
        counts.add(Counts { packets: 1, bytes: bytes as u64 });
    }

    /// Number of rules, without the default rule.
    #[must_use]
    pub const fn entries(&self) -> u32 {
        self.entries
    }

    /// Counts of all rules that were removed, together.
    #[must_use]
    pub const fn removed_counts(&self) -> Counts {
        self.removed_counts
    }

    fn apply(&mut self, change: &Change) -> Result<(), Refused> {
        match change {
            Change::Insert(rule) => self.insert(rule)?,
            Change::Remove(rule) => self.remove(rule),
        }
        let bucket = change.rule().bucket.number();
        let deciding = self.rules[bucket].first();
        self.queues[bucket] = deciding.map_or(self.default, |placed| placed.rule.to);
        Ok(())
    }

    fn insert(&mut self, rule: &Rule) -> Result<(), Refused> {
        let rules = &mut self.rules[rule.bucket.number()];
        let place = rules.partition_point(|placed| placed.rule.epoch > rule.epoch);
        match rules.get(place).filter(|there| there.rule.epoch == rule.epoch) {
            Some(there) if there.rule.to == rule.to => return Ok(()),
            Some(there) => return Err(Refused::Taken(there.rule.to)),
            None if self.entries >= self.abilities.entries => return Err(Refused::NoRoom),
            None => rules.insert(place, Placed { rule: *rule, counts: Counts::default() }),
        }
        self.entries += 1;
        Ok(())
    }

    fn remove(&mut self, rule: &Rule) {
        let rules = &mut self.rules[rule.bucket.number()];
        if let Some(place) = rules.iter().position(|placed| placed.rule.epoch == rule.epoch) {
            self.removed_counts.add(rules.remove(place).counts);
            self.entries -= 1;
        }
    }

    /// Whether the insertion of a rule will find no room. Removals under way may make some, and an
    /// earlier insertion of the rule may have found the last.
    fn is_full_for(&self, rule: &Rule) -> bool {
        let may_differ = |(_, asked): &(u64, Operation)| match asked.change {
            Change::Remove(_) => true,
            Change::Insert(other) => (other.bucket, other.epoch) == (rule.bucket, rule.epoch),
        };
        let is_new = self.placed(rule).is_none();
        is_new && self.entries >= self.abilities.entries && !self.asked.iter().any(may_differ)
    }

    fn placed(&self, rule: &Rule) -> Option<&Placed> {
        self.rules[rule.bucket.number()].iter().find(|placed| placed.rule.epoch == rule.epoch)
    }
}

impl FlowTable for Emulated {
    fn ask(&mut self, operation: Operation, now_ns: u64) -> Result<(), Refused> {
        let rule = operation.change.rule();
        if rule.epoch == crate::Epoch::DEFAULT {
            return Err(Refused::Default);
        }
        if self.asked.len() >= self.abilities.in_flight as usize {
            return Err(Refused::Busy);
        }
        if matches!(operation.change, Change::Insert(_)) && self.is_full_for(rule) {
            return Err(Refused::NoRoom);
        }
        let apart_ns = 1_000_000_000_u64.checked_div(self.abilities.operations_per_s.into());
        let earliest_ns = self.last_due_ns.saturating_add(apart_ns.unwrap_or(0));
        self.last_due_ns = now_ns.saturating_add(self.abilities.delay_ns).max(earliest_ns);
        self.asked.push_back((self.last_due_ns, operation));
        Ok(())
    }

    fn poll(&mut self, now_ns: u64, answered: &mut dyn FnMut(Answer)) {
        while let Some((_, operation)) = self.asked.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
            let outcome = self.apply(&operation.change);
            answered(Answer { operation, outcome });
        }
    }

    fn counts(&self, rule: &Rule) -> Option<Counts> {
        self.placed(rule).map(|placed| placed.counts)
    }

    fn default_counts(&self) -> Counts {
        self.default_counts
    }
}
