//! Frames in transfer between the wire and a pair: several bursts, since waking a thread costs as
//! much as dozens of packets.

use cora_core::packet::{Meta, Port, ROOM, Roomy};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST, BURST_BYTES};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::payload::Parked;

use crate::memory::cache_padded::Apart;

/// Maximum number of frames per batch.
pub(crate) const FRAMES: usize = 4 * BURST;
/// Frames are aligned to cache lines.
const LINE: usize = 64;

/// Distance between frames, including tailroom.
const fn stride(length: usize) -> usize {
    (length + ROOM).next_multiple_of(LINE)
}

/// Frames with their stamps, in memory that only its owner writes.
pub(crate) struct Batch(Box<Apart<Packed>>);

#[repr(C)]
struct Packed {
    bytes: [u8; BURST_BYTES],
    /// Bytes in use.
    used: usize,
    /// Frames in use.
    count: usize,
    frames: [(Stamp, usize); FRAMES],
}

impl Batch {
    #[expect(clippy::large_stack_arrays, reason = "at start; it moves to the heap")]
    pub(crate) fn new() -> Self {
        const NONE: Stamp = Stamp {
            meta: Meta { time: 0, now: 0, port: Port::INSIDE },
            number: 0,
            horizon: 0,
            egress: Port::INSIDE,
            parked: Parked::NONE,
            missing: 0,
        };
        let frames = [(NONE, 0); FRAMES];
        Self(Box::new(Apart::new(Packed { bytes: [0; BURST_BYTES], used: 0, count: 0, frames })))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.0.count == 0
    }

    pub(crate) fn clear(&mut self) {
        self.0.0.used = 0;
        self.0.0.count = 0;
    }

    /// Copies a frame into the batch; returns whether there was space. An empty batch has space for
    /// any frame.
    pub(crate) fn push(&mut self, stamp: &Stamp, frame: &[u8]) -> bool {
        let Packed { bytes, used, count, frames } = &mut self.0.0;
        let (Some(place), Some(room)) = (frames.get_mut(*count), bytes.get_mut(*used..)) else {
            return false;
        };
        let stride = stride(frame.len());
        if stride > room.len() {
            return false;
        }
        room[..frame.len()].copy_from_slice(frame);
        *place = (*stamp, frame.len());
        *used += stride;
        *count += 1;
        true
    }

    /// Passes the frames as packets to `handle`, burst by burst, in place.
    pub(crate) fn each_burst<E>(
        &mut self,
        mut handle: impl FnMut(&mut Burst<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Packed { bytes, count, frames, .. } = &mut self.0.0;
        let mut rest = &mut bytes[..];
        for frames in frames[..*count].chunks(BURST) {
            let mut burst = Burst::new();
            for (stamp, length) in frames {
                let (frame, behind) = rest.split_at_mut(stride(*length));
                rest = behind;
                // There is space: a chunk has at most as many frames as a burst.
                burst.push_roomy(*stamp, Roomy::new(frame, *length));
            }
            handle(&mut burst)?;
        }
        Ok(())
    }
}

/// A batch with a read position.
pub(crate) struct Front {
    batch: Batch,
    /// Number of frames read, and offset of the next one.
    read: usize,
    at: usize,
}

impl Front {
    pub(crate) const fn of(batch: Batch) -> Self {
        Self { batch, read: 0, at: 0 }
    }

    /// The next frame, not consumed.
    pub(crate) fn peek(&self) -> Option<(&Stamp, &[u8])> {
        let Packed { bytes, count, frames, .. } = &self.batch.0.0;
        let (stamp, length) = frames[..*count].get(self.read)?;
        Some((stamp, bytes.get(self.at..self.at + length)?))
    }

    /// Consumes the next frame.
    pub(crate) fn pass(&mut self) {
        if let Some((_, frame)) = self.peek() {
            self.at += stride(frame.len());
            self.read += 1;
        }
    }

    /// The batch, emptied.
    pub(crate) fn into_empty(mut self) -> Batch {
        self.batch.clear();
        self.batch
    }
}
