//! The goal for runs with random moves of flows.

use cora_tests::workshop::is_full;

use crate::table::Row;

/// The goal of every program with every kind of NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    packets: u64,
    moves: u64,
    /// Whether captures also come in at full speed.
    pub(crate) whole: bool,
}

/// The goal is missed after this many rounds over all captures.
pub(crate) const ROUNDS: u64 = 64;

impl Goal {
    /// Returns the goal that a run of all tests has time for, or that of a full run.
    pub(crate) fn stated() -> Self {
        if is_full() {
            Self { packets: 1_000_000, moves: 10_000, whole: true }
        } else {
            Self { packets: 20_000, moves: 50, whole: false }
        }
    }

    pub(crate) fn is_reached(self, row: &Row) -> bool {
        row.packets >= self.packets && row.moves >= self.moves
    }
}
