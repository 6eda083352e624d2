//! The flow table of a run: the emulated one. Operations get lost, and are done twice, at random.

use cora_core::bucket::Bucket;
use cora_switch::{
    Abilities, Answer, Counts, Emulated, FlowTable, Operation, Refused, Rule, Shard,
};

use crate::random::Random;

/// The table.
pub(super) struct Table {
    emulated: Emulated,
    random: Random,
    /// One operation in so many is lost, or done again; `u64::MAX` for none.
    once_in: u64,
    /// Operations to be done again, and when.
    again: Vec<(u64, Operation)>,
    /// Operations that were lost, or done again.
    pub(super) faults: u64,
}

impl Table {
    /// A table whose default rule leads to shard 0.
    pub(super) const fn new(abilities: Abilities, once_in: u64, seed: u64) -> Self {
        let emulated = Emulated::new(abilities, Shard::new(0));
        Self { emulated, random: Random::new(seed), once_in, again: Vec::new(), faults: 0 }
    }

    /// The shard that packets of this bucket go to.
    pub(super) const fn shard_of(&self, bucket: Bucket) -> usize {
        self.emulated.queue_of(bucket).number()
    }
}

impl FlowTable for Table {
    fn ask(&mut self, operation: Operation, now_ns: u64) -> Result<(), Refused> {
        if self.random.once_in(self.once_in) {
            self.faults += 1;
            return Ok(());
        }
        self.emulated.ask(operation, now_ns)
    }

    fn poll(&mut self, now_ns: u64, answered: &mut dyn FnMut(Answer)) {
        let Self { emulated, random, again, once_in, faults } = self;
        for (_, operation) in again.extract_if(.., |(due_ns, _)| *due_ns <= now_ns) {
            *faults += 1;
            // A table that is busy doesn't do it again.
            let _ = emulated.ask(operation, now_ns);
        }
        emulated.poll(now_ns, &mut |answer| {
            if answer.outcome.is_ok() && random.once_in(*once_in) {
                again.push((now_ns + random.below(5_000), answer.operation));
            }
            answered(answer);
        });
    }

    fn counts(&self, rule: &Rule) -> Option<Counts> {
        self.emulated.counts(rule)
    }

    fn default_counts(&self) -> Counts {
        self.emulated.default_counts()
    }
}
