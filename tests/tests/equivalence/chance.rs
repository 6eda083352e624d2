//! How much is run with flows moved by chance.

use cora_tests::workshop::is_full;

use crate::table::Row;

/// What every program has to reach with every kind of NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    packets: u64,
    moves: u64,
    /// Whether captures also come in as fast as they can.
    pub(crate) whole: bool,
}

/// Rounds over all captures after which a goal is missed.
pub(crate) const ROUNDS: u64 = 64;

impl Goal {
    /// What a run of all tests has time for, unless everything is asked for.
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
