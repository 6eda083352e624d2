//! The end of a flow's objects: it was idle for long, was evicted, or went to the other side.

use super::super::table::NEVER;
use super::blocks::NOWHERE;
use super::travel::{Coming, Going};
use super::{ObjectState, Objects};

/// Objects of flows that ended that a run frees: their blocks need not be free at once.
const AT_ONCE: u32 = 8;

impl<S: ObjectState> Objects<S> {
    /// Whether a flow's objects have ended by `now`.
    #[inline]
    pub(super) fn has_expired(&self, number: u32, now: u64) -> bool {
        if const { S::IDLE == NEVER } {
            return false;
        }
        let used = self.store.owners.get(number).map_or(u64::MAX, |owner| owner.used);
        now.checked_sub(used).is_some_and(|unused| unused >= S::IDLE)
    }

    /// The work of a run: examines a flow, and frees some objects of those that ended.
    #[inline]
    pub(super) fn attend(&mut self) {
        if const { S::IDLE != NEVER } {
            let made = self.store.owners.made();
            self.hand = if self.hand + 1 < made { self.hand + 1 } else { 0 };
            if self.has_expired(self.hand, self.visit.horizon) {
                core::hint::cold_path();
                self.expire(self.hand);
            }
        }
        if self.store.owners.ended().is_some() {
            core::hint::cold_path();
            self.store.free_ended(AT_ONCE);
        }
    }

    /// Ends the objects of a flow.
    #[inline(never)]
    pub(super) fn end(&mut self, number: u32) {
        if self.store.owners.get(number).is_none() {
            return;
        }
        self.by_flow.leave(number);
        self.store.owners.end(number);
        self.going = Going::unless(self.going, number);
        self.coming = Coming::unless(self.coming, number);
        if self.current == number {
            self.current = NOWHERE;
        }
        self.store.free_ended(AT_ONCE);
    }

    /// The same of a flow that was idle for long.
    pub(super) fn expire(&mut self, number: u32) {
        self.expired += u64::from(self.store.owners.get(number).is_some());
        self.end(number);
    }

    /// There is no room: frees the objects of all flows that have ended.
    #[cold]
    #[inline(never)]
    pub(super) fn end_expired(&mut self) {
        for number in 0..self.store.owners.made() {
            if self.has_expired(number, self.visit.horizon) && number != self.current {
                self.expire(number);
            }
        }
        self.store.free_ended(u32::MAX);
    }

    /// Ends the objects of a flow other than this one, for one that comes back. Returns whether
    /// there was any.
    #[cold]
    pub(super) fn evict(&mut self, but: u32) -> bool {
        let made = self.store.owners.made();
        for _ in 0..made {
            self.hand = if self.hand + 1 < made { self.hand + 1 } else { 0 };
            let number = self.hand;
            let moves = [but, self.going.owner, self.coming.owner, self.current].contains(&number);
            if !moves && self.store.owners.get(number).is_some() {
                self.end(number);
                self.store.free_ended(u32::MAX);
                self.evicted += 1;
                return true;
            }
        }
        false
    }
}
