//! A contiguous table: open addressing, half full at most, one place per entry.
//!
//! An entry that was unused for the idle time counts as absent, and the next new entry on its way
//! takes its place. So nothing is ever moved or removed. Other expired entries keep their places
//! until a sweep from time to time, which is left to a slow path.

use cora_core::prefetch::prefetch;

/// One place of a table.
pub(crate) trait Place: Copy + Default {
    /// Returns the time of the last packet, in milliseconds; 0 in an empty place.
    fn used(&self) -> u32;
}

/// The table.
#[derive(Debug)]
pub(crate) struct Places<P> {
    all: Vec<P>,
    mask: usize,
    /// Empty places that may still be filled.
    room: u64,
    /// Idle time of an entry, in milliseconds.
    idle: u32,
}

impl<P: Place> Places<P> {
    pub(crate) fn new(most: u64, idle: u32) -> Self {
        let places = (most as usize * 2).next_power_of_two();
        Self { all: vec![P::default(); places], mask: places - 1, room: most, idle }
    }

    /// Prefetches the line at which the search begins.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.all[hash as usize & self.mask]);
    }

    /// Returns the entry that is `wanted`, or the place for it.
    #[inline(always)]
    pub(crate) fn find(
        &mut self,
        hash: u64,
        now: u32,
        wanted: impl Fn(&P) -> bool,
    ) -> Result<&mut P, usize> {
        let mut at = hash as usize & self.mask;
        let mut left_behind = None;
        loop {
            let place = &self.all[at];
            if place.used() == 0 {
                return Err(left_behind.unwrap_or(at));
            }
            let is_alive = now.wrapping_sub(place.used()) < self.idle;
            if wanted(place) {
                return if is_alive { Ok(&mut self.all[at]) } else { Err(at) };
            }
            if !is_alive && left_behind.is_none() {
                left_behind = Some(at);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Puts an entry at the place that [`Self::find`] returned; `None` if the table is full.
    #[inline]
    pub(crate) fn fill(&mut self, at: usize, entry: P) -> Option<&mut P> {
        let place = &mut self.all[at];
        if place.used() == 0 {
            self.room = self.room.checked_sub(1)?;
        }
        *place = entry;
        Some(place)
    }
}
