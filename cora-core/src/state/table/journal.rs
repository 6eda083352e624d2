//! The undo log of the current packet's writes to a table, for a punt.

use super::super::memory::Arena;
use super::super::{Memory, OutOfMemory};

/// Maximum number of writes per packet that can be undone. A packet with more writes on the NIC
/// punts.
pub(super) const CAPACITY: usize = 64;

/// One write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Write<V> {
    /// The entry was inserted.
    Insert(u32),
    /// The entry was removed; it is freed when the packet is completed.
    Remove(u32),
    /// The entry's value was about to change; this is the old value.
    Change(u32, V),
}

/// The writes, in order.
#[derive(Debug)]
pub(super) struct Journal<V: 'static> {
    writes: Arena<Write<V>>,
    overflowed: bool,
}

impl<V: Copy + 'static> Journal<V> {
    pub(super) const BYTES: usize = Arena::<Write<V>>::bytes(CAPACITY);

    pub(super) fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { writes: Arena::create(memory, CAPACITY)?, overflowed: false })
    }

    #[inline]
    pub(super) const fn clear(&mut self) {
        self.writes.clear();
        self.overflowed = false;
    }

    /// Logs a write; `false` if the log is full, and the write must not happen.
    #[inline]
    pub(super) fn note(&mut self, write: Write<V>) -> bool {
        let noted = self.writes.push(write).is_ok();
        self.overflowed |= !noted;
        noted
    }

    /// Whether the log has the entry's value before the packet, or its insertion.
    #[inline]
    pub(super) fn knows(&self, entry: u32) -> bool {
        (0..self.writes.len() as u32).rev().any(|number| match self.writes.get(number) {
            Some(Write::Insert(noted) | Write::Change(noted, _)) => *noted == entry,
            _ => false,
        })
    }

    /// Marks the packet as impossible to handle here, regardless of its further writes.
    #[inline]
    pub(super) const fn give_up(&mut self) {
        self.overflowed = true;
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
    pub(super) fn get(&self, number: u32) -> Option<Write<V>> {
        self.writes.get(number).copied()
    }
}
