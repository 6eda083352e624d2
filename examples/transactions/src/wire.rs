//! The messages in datagrams between nodes, and between a client and a node. Clients include this
//! file: messages encode and decode themselves.

use cora::prelude::*;

/// Content of a row.
pub type Value = [u8; 40];

/// Most rows of a transaction.
pub const MOST_ROWS: usize = 4;

/// A transaction: the one with this number, of those that a client begins one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Plain)]
pub struct TransactionId {
    pub client: u64,
    pub number: u64,
}

/// A datagram to a node.
#[message(udp)]
#[derive(PartialEq, Eq, Debug)]
pub enum Said {
    /// To a row's node: a step of a transaction.
    Ask {
        #[key]
        row: u64,
        of: TransactionId,
        step: Step,
    },
    /// To the coordinator: the answer to a step.
    Vote {
        #[key]
        client: u64,
        number: u64,
        row: u64,
        vote: Vote,
    },
    /// To the coordinator, from a client: a whole transaction.
    Begin {
        #[key]
        client: u64,
        number: u64,
        wants: Wants,
    },
}

/// The rows of a transaction.
pub type Wants = [Want; MOST_ROWS];

/// A row, and the act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Want {
    pub row: u64,
    pub act: Act,
}

/// A transaction's act on a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Act {
    Nothing,
    Read,
    /// The row must still have this version.
    Check {
        version: u32,
    },
    /// Changes the row, if it still has this version.
    Put {
        version: u32,
        value: Value,
    },
    /// Adds to the [amount] of the row. The sum must not be below `floor`.
    Add {
        amount: i64,
        floor: i64,
    },
}

/// The amount of a row: its first eight bytes.
#[must_use]
pub fn amount(value: &Value) -> i64 {
    value.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

/// The same value with this amount.
#[must_use]
pub fn with_amount(mut value: Value, amount: i64) -> Value {
    if let Some(bytes) = value.first_chunk_mut() {
        *bytes = amount.to_le_bytes();
    }
    value
}

/// A step of a transaction for one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Step {
    Read,
    /// Locks the row if it has this version.
    Lock {
        version: u32,
    },
    /// Locks the row, whatever its version.
    Take,
    /// Asks whether the row has this version, and no other transaction the lock.
    Check {
        version: u32,
    },
    /// Changes the row from this version, and unlocks it.
    Commit {
        version: u32,
        value: Value,
    },
    /// Unlocks the row.
    Abort,
}

/// The answer to a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Vote {
    /// `locked`: another transaction has the lock.
    Is {
        seen: Seen,
        locked: bool,
    },
    Granted {
        seen: Seen,
    },
    Same,
    /// Refused: another transaction has the lock.
    Locked,
    /// Refused: the version is another one.
    Changed,
    Settled,
}

/// A row at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Seen {
    pub version: u32,
    pub value: Value,
}

impl Seen {
    /// A row that nobody has changed yet.
    pub const NEW: Self = Self { version: 0, value: [0; 40] };
}

/// A datagram to a client: the end of its transaction.
#[message(udp)]
#[derive(PartialEq, Eq, Debug)]
pub struct Outcome {
    pub of: TransactionId,
    pub ended: Ended,
    /// Each row as the transaction read it, before its own change.
    pub seen: [Seen; MOST_ROWS],
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Plain)]
pub enum Ended {
    Committed,
    /// Aborted: a row has another version.
    Changed,
    /// Aborted: another transaction has the lock of a row.
    Locked,
    /// Aborted: a sum is below its floor, or too large for 64 bits.
    TooLow,
    /// Aborted: a row's node does not answer.
    Unanswered,
}
