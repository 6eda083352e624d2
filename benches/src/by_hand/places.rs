//! A table in one stretch of memory: open addressing, half full at most, one place per entry.
//!
//! What was unused for the idle time is as good as absent, and its place is given to the next entry
//! that comes by; so nothing is ever moved or taken out. What never comes by keeps its place until
//! a sweep from time to time, which is left to a slow path.

use cora_core::prefetch::prefetch;

/// One place of a table.
pub(crate) trait Place: Copy + Default {
    /// When a packet last came, in milliseconds; 0 in an empty place.
    fn used(&self) -> u32;
}

/// The table.
#[derive(Debug)]
pub(crate) struct Places<P> {
    all: Vec<P>,
    mask: usize,
    /// Empty places that may still be filled.
    room: u64,
    /// How long an entry lives unused, in milliseconds.
    idle: u32,
}

impl<P: Place> Places<P> {
    pub(crate) fn new(most: u64, idle: u32) -> Self {
        let places = (most as usize * 2).next_power_of_two();
        Self { all: vec![P::default(); places], mask: places - 1, room: most, idle }
    }

    /// Asks for the line where the search begins.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.all[hash as usize & self.mask]);
    }

    /// The entry that is `wanted`, or where it would stand.
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

    /// Puts an entry where [`Self::find`] said; `None` if the table is full.
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
