//! # transactions: a participant of two-phase commit
//!
//! Optimistic transactions, as iPipe has them: a coordinator reads rows with their versions, locks
//! the rows that will change if the versions are still the same, and commits or aborts. Every step
//! may come twice, since an answer may have been lost. The log is the copy of each row that
//! `durable` keeps.
//!
//! Try it:  `cargo cora run transactions --nic native --in steps.pcap --out votes.pcap`
//!
//! Expect:  a row's entry is at one side at a time, and moves with the row's flow.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A step of a transaction for one row.
#[message(udp)]
struct Ask {
    #[key]
    row: u64,
    /// Number of the transaction; 0 is none.
    transaction: u64,
    step: Step,
}

/// The kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Step {
    Read,
    Lock { version: u32 },
    Commit { value: [u8; 40] },
    Abort,
}

/// The answer to a step.
#[message(udp)]
#[derive(PartialEq, Eq, Debug)]
enum Vote {
    Is { version: u32, value: [u8; 40] },
    Granted,
    Refused,
    Settled,
}

/// A row; `lock` is the transaction with the right to change the row.
#[state(key = u64, capacity = 1_048_576, idle = "1h", durable)]
struct Row {
    version: u32,
    lock: u64,
    value: [u8; 40],
}

/// Takes a step for one row.
#[flow_handler]
fn participant(ask: Ask, rows: &mut Table<Row>, votes: &mut Outbox<Vote>) -> Verdict {
    let row = rows.get_or_insert(ask.row, Row { version: 0, lock: 0, value: [0; 40] })?;
    let holds = row.lock == ask.transaction;
    votes.reply(match ask.step {
        Step::Read => Vote::Is { version: row.version, value: row.value },
        Step::Lock { version } if holds || row.lock == 0 && row.version == version => {
            row.lock = ask.transaction;
            Vote::Granted
        }
        Step::Lock { .. } => Vote::Refused,
        Step::Commit { value } => {
            if holds {
                *row = Row { version: row.version + 1, lock: 0, value };
            }
            Vote::Settled
        }
        Step::Abort => {
            if holds {
                row.lock = 0;
            }
            Vote::Settled
        }
    })?;
    Done
}

cora::app!(participant);
