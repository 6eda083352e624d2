//! An item, as far as it is known here.
//!
//! An answer of memcached's is believed only if no change of the item was under way since the
//! question. Of two changes that are under way at once, nobody here can tell which one will stand.

use cora::prelude::*;

use crate::said::{Name, Value};

/// A question: the client and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
pub struct Question {
    pub address: Address,
    pub port: u16,
    pub request: u16,
}

/// An item. One that remembers a change stays in a full table.
#[state(key = Name, capacity = 131_072, idle = "10m", assured_by = Self::is_changing)]
pub struct Item {
    is: Is,
    /// memcached's, or of a `set` that is under way.
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Is {
    /// A client asks; the answer has passed neither this place nor a change.
    Asked { by: Question, since: u64 },
    /// memcached had it then.
    Known { since: u64 },
    /// Changes are under way, the newest since then; `open` of them will be answered.
    Changing { open: Open, since: u64 },
}

/// Changes under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Open {
    /// A `set`, of which the value is kept.
    Set,
    /// So many, each of which is answered.
    Some { changes: u16 },
    /// Nothing tells when they are executed.
    Untold,
}

/// A change of an item.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    Set(&'a Value),
    Answered,
    Untold,
}

/// The present, and the times that count for an item.
#[derive(Clone, Copy, Debug)]
pub struct Present {
    pub now: u64,
    /// Nothing of before counts, and until then nothing is learned.
    pub quiet_until: u64,
    pub life: u64,
    pub settle: u64,
}

impl Present {
    /// Whether all is quiet.
    pub const fn is_quiet(&self) -> bool {
        self.now < self.quiet_until
    }

    /// Whether what was learned then counts, for so long.
    const fn counts(&self, since: u64, time: u64) -> bool {
        since >= self.quiet_until && self.is_within(since, time)
    }

    /// Whether the time since then has not passed.
    const fn is_within(&self, since: u64, time: u64) -> bool {
        self.now < since.saturating_add(time)
    }
}

impl Item {
    /// Whether changes are under way.
    pub const fn is_changing(&self) -> bool {
        matches!(self.is, Is::Changing { .. })
    }

    /// An item that a client asks for.
    pub const fn asked(by: Question, now: u64) -> Self {
        Self { is: Is::Asked { by, since: now }, value: Value::NONE }
    }

    /// An item that changes.
    pub fn changed(change: Change<'_>, now: u64) -> Self {
        let (open, value) = match change {
            Change::Set(value) => (Open::Set, *value),
            Change::Answered => (Open::Some { changes: 1 }, Value::NONE),
            Change::Untold => (Open::Untold, Value::NONE),
        };
        Self { is: Is::Changing { open, since: now }, value }
    }

    /// Its value, if that may be answered.
    pub fn answer(&self, at: &Present) -> Option<&Value> {
        let Is::Known { since } = self.is else { return None };
        at.counts(since, at.life).then_some(&self.value)
    }

    /// A client asks, and has to ask memcached.
    pub fn ask(&mut self, by: Question, at: &Present) {
        let waits = match self.is {
            // Of many that ask at once the first one's answer counts, or none ever would.
            Is::Asked { since, .. } => at.counts(since, at.settle),
            Is::Changing { since, .. } => at.is_within(since, at.settle),
            Is::Known { .. } => false,
        };
        if !waits {
            self.is = Is::Asked { by, since: at.now };
        }
    }

    /// memcached answers a question.
    pub fn told(&mut self, question: Question, value: &Value, at: &Present) {
        if let Is::Asked { by, since } = self.is
            && by == question
            && at.counts(since, at.settle)
        {
            *self = Self { is: Is::Known { since }, value: *value };
        }
    }

    /// A change passes.
    pub fn change(&mut self, change: Change<'_>, at: &Present) {
        let before = match self.is {
            Is::Changing { open, since } if at.is_within(since, at.settle) => match open {
                Open::Set => Some(1),
                Open::Some { changes } => Some(changes),
                Open::Untold => None,
            },
            _ => {
                *self = Self::changed(change, at.now);
                return;
            }
        };
        let open = match (before.and_then(|before: u16| before.checked_add(1)), change) {
            (Some(changes), Change::Set(_) | Change::Answered) => Open::Some { changes },
            _ => Open::Untold,
        };
        self.is = Is::Changing { open, since: at.now };
    }

    /// A change was executed. Says whether anything is known of the item now.
    pub fn settle(&mut self, stored: bool) -> bool {
        let Is::Changing { open, since } = &mut self.is else { return true };
        match open {
            // No other change was under way with it: memcached has this.
            Open::Set if stored => self.is = Is::Known { since: *since },
            Open::Set | Open::Some { changes: 0 | 1 } => return false,
            Open::Some { changes } => *changes -= 1,
            Open::Untold => {}
        }
        true
    }
}
