//! The NIC's payload buffers, so few that some frames go to the host whole, and the number of
//! payloads that were ever parked.

use cora_runtime::link::payload::{BUFFER_BYTES, Parked, Parking, PayloadBuffers};

use crate::words::Words;

/// Bytes of the payload buffers.
pub(crate) const BYTES: usize = 4 * BUFFER_BYTES;

/// The payload buffers.
#[derive(Debug)]
pub struct Shelf {
    payloads: PayloadBuffers<Words>,
    pub parked: u64,
}

impl Shelf {
    /// Creates payload buffers in this memory, all free.
    pub(crate) fn new(memory: Words) -> Self {
        Self { payloads: PayloadBuffers::new(Some(memory)), parked: 0 }
    }

    /// Moves to payload buffers in another memory, all free.
    pub(crate) fn move_to(&mut self, memory: Words) {
        self.payloads = PayloadBuffers::new(Some(memory));
    }
}

impl Parking for Shelf {
    fn park(&mut self, rest: &[u8]) -> Parked {
        let parked = self.payloads.park(rest);
        self.parked += u64::from(parked.is_some());
        parked
    }
    fn take(&mut self, parked: Parked, to: &mut [u8]) -> bool {
        self.payloads.take(parked, to)
    }
    fn free(&mut self, parked: Parked) -> bool {
        self.payloads.free(parked)
    }
    fn recycle(&mut self) {
        self.payloads.recycle();
    }
}
