//! The NIC's lots, so few that some frames go whole, and how many rests of frames they ever had.

use cora_runtime::link::payload::{LOT_BYTES, Lots, Parked, Parking};

use crate::words::Words;

/// Bytes of the lots.
pub(crate) const BYTES: usize = 4 * LOT_BYTES;

/// The lots.
#[derive(Debug)]
pub struct Shelf {
    lots: Lots<Words>,
    pub parked: u64,
}

impl Shelf {
    /// Lots in this memory, all free.
    pub(crate) fn new(memory: Words) -> Self {
        Self { lots: Lots::new(Some(memory)), parked: 0 }
    }

    /// From now on the lots are there, all free.
    pub(crate) fn move_to(&mut self, memory: Words) {
        self.lots = Lots::new(Some(memory));
    }
}

impl Parking for Shelf {
    fn park(&mut self, rest: &[u8]) -> Parked {
        let parked = self.lots.park(rest);
        self.parked += u64::from(parked.is_some());
        parked
    }
    fn take(&mut self, parked: Parked, to: &mut [u8]) -> bool {
        self.lots.take(parked, to)
    }
    fn free(&mut self, parked: Parked) -> bool {
        self.lots.free(parked)
    }
    fn recycle(&mut self) {
        self.lots.recycle();
    }
}
