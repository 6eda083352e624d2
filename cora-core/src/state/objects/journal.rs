//! The undo log of the current run's writes to objects, for a punt.

use core::mem::MaybeUninit;

use super::super::memory::{Arena, bytes_for};
use super::super::{Memory, OutOfMemory};
use super::blocks::Unit;
use super::classes::UNIT;

/// Maximum number of writes of a run that can be undone. A run with more of them at the NIC punts.
pub(super) const WRITES: usize = 64;
/// Bytes of changed objects that can be undone.
pub(super) const KEPT: usize = 64 << 10;

/// One write, with the object's number in its flow: blocks move.
#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    /// The object was inserted.
    Insert(u32),
    /// The object was removed; its block is given back when the run is completed.
    Remove(u32),
    /// The object was about to change. Its memory is kept from this unit on, so many units.
    Change(u32, u32, u32),
}

/// The writes, in order.
#[derive(Debug)]
pub(super) struct Journal {
    writes: Arena<Write>,
    kept: &'static mut [MaybeUninit<Unit>],
    /// Units kept.
    filled: usize,
    overflowed: bool,
}

impl Journal {
    pub(super) const BYTES: usize = Arena::<Write>::bytes(WRITES) + bytes_for::<Unit>(KEPT / UNIT);

    pub(super) fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let writes = Arena::create(memory, WRITES)?;
        Ok(Self { writes, kept: memory.take(KEPT / UNIT)?, filled: 0, overflowed: false })
    }

    #[inline]
    pub(super) const fn clear(&mut self) {
        self.writes.clear();
        self.filled = 0;
        self.overflowed = false;
    }

    /// Logs a write; `false` if the log is full, and the write must not happen.
    pub(super) fn note(&mut self, write: Write) -> bool {
        let noted = self.writes.push(write).is_ok();
        self.overflowed |= !noted;
        noted
    }

    /// Logs the change of an object that has this memory now; `false` if there is no room, and the
    /// change must not happen.
    pub(super) fn note_change(&mut self, serial: u32, memory: &[MaybeUninit<Unit>]) -> bool {
        let (from, units) = (self.filled, memory.len());
        let Some(room) = self.kept.get_mut(from..from + units) else {
            self.overflowed = true;
            return false;
        };
        room.copy_from_slice(memory);
        self.filled += units;
        self.note(Write::Change(serial, from as u32, units as u32))
    }

    /// The memory that a change kept.
    pub(super) fn kept(&self, from: u32, units: u32) -> &[MaybeUninit<Unit>] {
        self.kept.get(from as usize..(from + units) as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    #[inline]
    pub(super) const fn len(&self) -> u32 {
        self.writes.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<Write> {
        self.writes.get(number).copied()
    }
}
