//! Who has a row: locks, versions and values.

use cora::prelude::*;

use crate::wire::{Seen, Step, TransactionId, Value, Vote};

/// A row.
#[state(key = u64, capacity = 1_048_576, idle = "never", durable)]
pub struct Row {
    pub version: u32,
    pub lock: Lock,
    pub value: Value,
}

/// The right to change a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Lock {
    Free,
    Held { by: TransactionId, from: Coordinator },
}

/// Who gets the votes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Coordinator {
    /// This node.
    Here,
    /// Another node, or a client that takes each step itself.
    There { at: Peer },
}

impl Row {
    pub const NEW: Self = Self { version: 0, lock: Lock::Free, value: [0; 40] };

    /// Takes a step. Each may come twice, since its answer may have been lost, and late.
    pub fn take(&mut self, by: TransactionId, from: Coordinator, step: Step) -> Vote {
        let holds = matches!(self.lock, Lock::Held { by: holder, .. } if holder == by);
        let is_locked = self.lock != Lock::Free && !holds;
        match step {
            Step::Read => Vote::Is { seen: self.seen(), locked: is_locked },
            Step::Lock { .. } | Step::Take | Step::Check { .. } if is_locked => Vote::Locked,
            Step::Lock { version } | Step::Check { version } if self.version != version => {
                Vote::Changed
            }
            Step::Lock { .. } | Step::Take => {
                self.lock = Lock::Held { by, from };
                Vote::Granted { seen: self.seen() }
            }
            Step::Check { .. } => Vote::Same,
            Step::Commit { version, value } => {
                // A lock that was asked for twice may be granted again after the change.
                if holds && self.version == version {
                    *self = Self { version: version.wrapping_add(1), value, ..*self };
                }
                self.free(holds)
            }
            Step::Abort => self.free(holds),
        }
    }

    fn free(&mut self, holds: bool) -> Vote {
        if holds {
            self.lock = Lock::Free;
        }
        Vote::Settled
    }

    pub const fn seen(&self) -> Seen {
        Seen { version: self.version, value: self.value }
    }
}

impl Vote {
    /// Whether another transaction's lock is in the way.
    #[must_use]
    pub const fn is_of_lock(&self) -> bool {
        matches!(self, Self::Locked | Self::Is { locked: true, .. })
    }
}
