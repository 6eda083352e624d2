//! Deficit round robin over the classes with messages that wait.

use super::Classes;
use super::piece::{Piece, Pieces};

/// A round: the classes with messages, and those still to have their turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// A bit for each class with messages; some of them may have none any more.
    runnable: u64,
    /// Those that have their turn in this round.
    rest: u64,
    /// The one that has its turn.
    turn: Option<u8>,
    /// The time of each (ns).
    quantum: u64,
}

impl Round {
    pub(super) const NEW: Self = Self { runnable: 0, rest: 0, turn: None, quantum: 0 };

    /// Messages wait for this class.
    #[inline(always)]
    pub(super) const fn is_runnable(&mut self, class: u8) {
        self.runnable |= 1 << (class % 64);
    }

    /// The classes with messages.
    pub(super) fn runnable(self) -> impl Iterator<Item = u8> {
        let mut rest = self.runnable;
        core::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
            rest &= rest - 1;
            Some(next)
        })
    }

    /// The class that has its turn, and whether that just began.
    #[inline]
    const fn turn(&mut self) -> Option<(u8, bool)> {
        if let Some(turn) = self.turn {
            return Some((turn, false));
        }
        if self.rest == 0 {
            return None;
        }
        let turn = self.rest.trailing_zeros() as u8;
        self.rest &= self.rest - 1;
        self.turn = Some(turn);
        Some((turn, true))
    }
}

impl Classes {
    /// Begins a round: its time goes to the classes in equal parts.
    #[inline]
    pub(crate) fn begin_round(&mut self) {
        let Round { runnable, .. } = self.round;
        let classes = u64::from(runnable.count_ones()).max(1);
        let quantum = self.limits.round / classes;
        self.round = Round { runnable, rest: runnable, turn: None, quantum };
    }

    /// The next message of the round, its flow's place, its class, and whether it is timed. `None`:
    /// the round is over.
    #[inline]
    pub(crate) fn next(&mut self, pieces: &mut Pieces) -> Option<(Piece, u32, u8, bool)> {
        while let Some((number, is_new)) = self.round.turn() {
            let quantum = self.round.quantum;
            let class = self.class(number)?;
            class.deficit += if is_new { quantum } else { 0 };
            let cost = class.book.cost();
            let affords = class.deficit >= cost && !class.mailbox.is_empty();
            if affords && let Some(piece) = pieces.pop(&mut class.mailbox) {
                class.deficit -= cost;
                let (place, class) = self.left(&piece);
                let is_timed = self.sample.takes();
                return Some((piece, place, class, is_timed));
            }
            if class.mailbox.is_empty() {
                class.deficit = 0;
                self.round.runnable &= !(1 << (number % 64));
            }
            self.round.turn = None;
        }
        self.find_oldest(pieces);
        None
    }
}
