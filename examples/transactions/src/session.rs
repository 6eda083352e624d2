//! The newest transaction of a client, as its coordinator sees it: a machine of phases, which takes
//! votes and says the steps to ask for.
//!
//! | phase | asks | goes on when all have answered |
//! | --- | --- | --- |
//! | locking | for the lock of rows that change, and to read the others | to checking |
//! | checking | whether rows that were read are the same, and not locked | to settling |
//! | settling | to commit, or to abort, rows that change | to over |
//!
//! A vote against it leads from the first two to settling. Between locking and settling there is a
//! moment at which all rows have the versions that the transaction read, so transactions are
//! serialisable in an order that respects their times.

use core::time::Duration;

use cora::prelude::*;

use crate::wire::{
    Act, Ended, MOST_ROWS, Outcome, Seen, Step, TransactionId, Vote, Want, Wants, amount,
    with_amount,
};

/// How long to wait for the first answers; twice as long for each time more, up to the second.
const AGAIN: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(640);
/// How often it asks again before it aborts: for 2.5 seconds.
const TRIES: u8 = 8;
/// How long the last outcome of a client is known.
const KNOWN: Duration = Duration::from_hours(1);

/// The newest transaction of a client.
#[state(key = u64, capacity = 65_536, idle = "never", idle_by = Self::idle, durable)]
pub struct Session {
    number: u64,
    /// Who gets the outcome.
    pub asker: Peer,
    phase: Phase,
    wants: Wants,
    seen: [Seen; MOST_ROWS],
    /// A bit for each row: it has answered in this phase.
    answered: u8,
    /// How often it has asked again.
    tries: u8,
    asked_at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Phase {
    Locking,
    Checking,
    Settling { ended: Ended },
    Over { ended: Ended },
}

impl Session {
    /// A transaction begins.
    pub fn begin(number: u64, asker: Peer, wants: Wants, now: u64) -> Self {
        let seen = [Seen::NEW; MOST_ROWS];
        let phase = Phase::Locking;
        let mut begun =
            Self { number, asker, phase, wants, seen, answered: 0, tries: 0, asked_at: now };
        begun.go_on();
        begun
    }

    /// An unfinished one is never forgotten.
    fn idle(&self) -> Duration {
        if self.is_over() { KNOWN } else { Duration::MAX }
    }

    pub const fn number(&self) -> u64 {
        self.number
    }

    pub const fn tries(&self) -> u8 {
        self.tries
    }

    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    /// The steps that are not answered yet, each with its row.
    pub fn steps(&self) -> impl Iterator<Item = (u64, Step)> {
        let rows = self.wants.iter().zip(&self.seen).enumerate();
        rows.filter_map(|(at, (want, seen))| {
            let is_answered = self.answered & 1 << at != 0;
            let step = if is_answered { None } else { self.step(&want.act, seen) };
            step.map(|step| (want.row, step))
        })
    }

    /// The phase's step for a row.
    fn step(&self, act: &Act, seen: &Seen) -> Option<Step> {
        Some(match (self.phase, *act) {
            (Phase::Locking, Act::Read) => Step::Read,
            (Phase::Locking, Act::Put { version, .. }) => Step::Lock { version },
            (Phase::Locking, Act::Add { .. }) => Step::Take,
            // One row that is read, and nothing else, is the same as itself.
            (Phase::Checking, Act::Read) if self.rows() > 1 => {
                Step::Check { version: seen.version }
            }
            (Phase::Checking, Act::Check { version }) => Step::Check { version },
            (Phase::Settling { ended: Ended::Committed }, Act::Put { version, value }) => {
                Step::Commit { version, value }
            }
            (Phase::Settling { ended: Ended::Committed }, Act::Add { amount: by, .. }) => {
                let sum = amount(&seen.value).wrapping_add(by);
                Step::Commit { version: seen.version, value: with_amount(seen.value, sum) }
            }
            (Phase::Settling { .. }, Act::Put { .. } | Act::Add { .. }) => Step::Abort,
            _ => return None,
        })
    }

    fn rows(&self) -> usize {
        self.wants.iter().filter(|want| want.act != Act::Nothing).count()
    }

    /// Goes on to the first phase that asks for something.
    fn go_on(&mut self) {
        while self.steps().next().is_none() {
            self.phase = match self.phase {
                Phase::Locking => Phase::Checking,
                Phase::Checking => Phase::Settling { ended: Ended::Committed },
                Phase::Settling { ended } => Phase::Over { ended },
                Phase::Over { .. } => return,
            };
            self.answered = 0;
        }
    }

    /// Takes the vote of a row. Returns whether another phase begins.
    pub fn hear(&mut self, row: u64, vote: Vote) -> bool {
        let before = self.phase;
        let rows = self.wants.iter().zip(&mut self.seen).enumerate();
        let mut asked = rows.filter(|(_, (want, _))| want.row == row && want.act != Act::Nothing);
        let Some((at, (want, seen))) = asked.next() else { return false };
        let bit = 1 << at;
        if self.answered & bit != 0 {
            return false;
        }
        match (self.phase, want.act, vote) {
            (Phase::Locking, Act::Read, Vote::Is { seen: is, locked: false }) => *seen = is,
            (Phase::Locking, Act::Put { .. }, Vote::Granted { seen: is }) => *seen = is,
            (Phase::Locking, Act::Add { amount: by, floor }, Vote::Granted { seen: is }) => {
                *seen = is;
                let sum = amount(&is.value).checked_add(by);
                if sum.is_none_or(|sum| sum < floor) {
                    // This row has a lock to give back.
                    self.abort(Ended::TooLow, 0);
                    return true;
                }
            }
            (Phase::Checking, Act::Read | Act::Check { .. }, Vote::Same) => {}
            (Phase::Settling { .. }, Act::Put { .. } | Act::Add { .. }, Vote::Settled) => {}
            (Phase::Locking | Phase::Checking, _, Vote::Locked | Vote::Is { locked: true, .. }) => {
                self.abort(Ended::Locked, bit);
                return true;
            }
            (Phase::Locking | Phase::Checking, _, Vote::Changed) => {
                self.abort(Ended::Changed, bit);
                return true;
            }
            // Late: the answer to an earlier phase.
            _ => return false,
        }
        if let (Act::Check { version }, Phase::Checking) = (want.act, self.phase) {
            seen.version = version;
        }
        self.answered |= bit;
        self.go_on();
        self.phase != before
    }

    /// Unlocks all rows that change but those of these bits.
    fn abort(&mut self, ended: Ended, answered: u8) {
        self.phase = Phase::Settling { ended };
        self.answered = answered;
        self.go_on();
    }

    /// How long to wait for answers before it asks again.
    pub fn patience(&self) -> Duration {
        let times = 1_u32.checked_shl(self.tries.into()).unwrap_or(u32::MAX);
        AGAIN.saturating_mul(times).min(LONGEST)
    }

    /// Whether answers are so late that its timer must have been lost, with the half where it was.
    pub fn is_overdue(&self, now: u64) -> bool {
        let waited = Duration::from_nanos(now.saturating_sub(self.asked_at));
        !self.is_over() && waited > self.patience().saturating_mul(2)
    }

    /// Asks again. Before anything is decided, only so often.
    pub fn ask_again(&mut self, now: u64) {
        self.tries = self.tries.saturating_add(1);
        self.asked_at = now;
        if self.tries > TRIES && matches!(self.phase, Phase::Locking | Phase::Checking) {
            self.abort(Ended::Unanswered, 0);
        }
    }

    /// The answer to the client: that all is settled, or the decision if that takes long.
    pub fn outcome(&self, client: u64) -> Option<Outcome> {
        let ended = match self.phase {
            Phase::Over { ended } => ended,
            Phase::Settling { ended } if self.tries > TRIES => ended,
            _ => return None,
        };
        let of = TransactionId { client, number: self.number };
        Some(Outcome { of, ended, seen: self.seen })
    }
}

/// Whether two of the rows are one.
pub fn has_twice(wants: &Wants) -> bool {
    let asked = |want: &&Want| want.act != Act::Nothing;
    let mut rows = wants.iter().filter(asked).enumerate();
    rows.any(|(at, one)| wants.iter().filter(asked).skip(at + 1).any(|it| it.row == one.row))
}
