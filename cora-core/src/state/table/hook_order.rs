//! The order in which hooks run: a heap of the ends of expired entries.

use super::codec::MOST_NAME;
use super::hooked::Expired;
use super::raw::RawTable;
use crate::key::EntryKey;
use crate::plain::Plain;

impl<K: EntryKey, V: Plain> Expired<K, V> {
    /// Adds an element to the heap.
    pub(super) fn sift_up(&mut self, new: (u64, u32)) {
        let mut at = self.waiting;
        self.waiting += 1;
        if self.order.len() < self.waiting {
            // As much space as for places, so this succeeds.
            let _ = self.order.push(new);
        }
        while at > 0 {
            let above = (at - 1) / 2;
            let Some(&parent) = self.order.get(above as u32) else { break };
            if !self.is_before(new, parent) {
                break;
            }
            self.put(at, parent);
            at = above;
        }
        self.put(at, new);
        self.note_next();
    }

    /// Takes the first element out of the heap.
    pub(super) fn sift_down(&mut self) {
        self.waiting -= 1;
        let Some(&last) = self.order.get(self.waiting as u32) else { return };
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut least = (at, last);
            for below in [left, right] {
                if below < self.waiting
                    && let Some(&child) = self.order.get(below as u32)
                    && self.is_before(child, least.1)
                {
                    least = (below, child);
                }
            }
            if least.0 == at {
                break;
            }
            self.put(at, least.1);
            at = least.0;
        }
        self.put(at, last);
        self.note_next();
    }

    fn put(&mut self, at: usize, element: (u64, u32)) {
        if let Some(place) = self.order.get_mut(at as u32) {
            *place = element;
        }
    }

    pub(super) fn note_next(&mut self) {
        let first = self.order.get(0).filter(|_| self.waiting > 0);
        self.next = first.map_or(u64::MAX, |(end, _)| *end);
    }

    /// Whether an entry's hook runs before another's.
    fn is_before(&self, one: (u64, u32), other: (u64, u32)) -> bool {
        if one.0 == other.0 {
            return self.has_lesser_name(one.1, other.1);
        }
        one.0 < other.0
    }

    #[cold]
    #[inline(never)]
    fn has_lesser_name(&self, one: u32, other: u32) -> bool {
        let name = |number: u32, bytes: &mut [u8; MOST_NAME]| {
            if let Some(place) = self.places.get(number) {
                RawTable::<K, V>::put_name(&place.whole.key, place.whole.of_second, bytes);
            }
        };
        let (mut a, mut b) = ([0; MOST_NAME], [0; MOST_NAME]);
        name(one, &mut a);
        name(other, &mut b);
        a < b
    }
}
