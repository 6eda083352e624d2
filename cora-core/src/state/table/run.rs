//! A packet's run, as the table sees it: it begins, and what it wrote stays or is taken back.

use super::super::Visit;
use super::endings::Why;
use super::journal::Write;
use super::raw::RawTable;
use super::wheel::Touched;
use crate::key::Key;
use crate::plain::Plain;

impl<K: Key, V: Plain> RawTable<K, V> {
    /// A packet's run begins.
    #[inline(always)]
    pub fn begin(&mut self, visit: Visit) {
        self.visit = visit;
        if self.wheel.is_due(visit.horizon) {
            core::hint::cold_path();
            self.attend();
            // Once more, so that the compiler knows what stands there when it comes to the
            // look-ups.
            self.visit = visit;
        }
    }

    /// Does what is due when a packet's run begins.
    #[inline(never)]
    fn attend(&mut self) {
        self.guess_elsewhere();
        self.expire(self.visit.horizon, None);
    }

    /// What the packet wrote stays.
    #[inline]
    pub fn commit(&mut self) {
        self.commit_visit(self.visit.undo);
    }

    /// Likewise; `undo` is the visit's.
    #[inline]
    pub(super) fn commit_visit(&mut self, undo: bool) {
        debug_assert_eq!(undo, self.visit.undo, "as the run began");
        if const { V::IDLE_VARIES } {
            self.settle_touched();
        }
        // Otherwise nothing was noted.
        if undo {
            self.commit_noted();
        }
    }

    #[inline]
    fn commit_noted(&mut self) {
        for number in 0..self.journal.len() {
            let write = self.journal.get(number);
            if let Some(Write::Remove(entry)) = write {
                if const { V::RECORDED } {
                    self.note_end(entry, Why::Removed);
                }
                self.free(entry);
            }
            if const { V::DURABLE } {
                match write {
                    Some(Write::Insert(entry)) => self.note(entry),
                    Some(Write::Change(entry, before)) => self.note_unless_same(entry, &before),
                    Some(Write::Remove(_)) | None => {}
                }
            }
        }
        self.journal.clear();
    }

    /// What the packet wrote is taken back, last write first.
    pub fn rollback(&mut self) {
        // What it was before, it was when it was hung: it may be looked at too early, not too late.
        if const { V::IDLE_VARIES } {
            self.touched = Touched::NONE;
        }
        for number in (0..self.journal.len()).rev() {
            match self.journal.get(number) {
                Some(Write::Insert(entry)) => self.release(entry),
                // The places that its keys had are free again.
                Some(Write::Remove(entry)) => self.show_again(entry),
                Some(Write::Change(entry, before)) => {
                    if let Some(entry) = self.entries.get_mut(entry) {
                        entry.value = before;
                    }
                }
                None => {}
            }
        }
        self.journal.clear();
    }

    /// Whether the packet wrote more than can be taken back.
    #[inline]
    pub const fn overflowed(&self) -> bool {
        self.journal.overflowed()
    }

    /// Takes an entry out, so that it can be put back until the packet is through.
    pub(super) fn take_out_noted(&mut self, number: u32) -> bool {
        if !self.visit.undo {
            if const { V::RECORDED } {
                self.note_end(number, Why::Removed);
            }
            self.release(number);
            return true;
        }
        let noted = self.journal.note(Write::Remove(number));
        if noted {
            self.hide(number);
        }
        noted
    }

    /// Notes what the entry's value was, once per packet; `false` when there is no room for that.
    /// By itself: few packets may be taken back, and all handlers would have it.
    #[inline(never)]
    pub(super) fn note_change(&mut self, number: u32) -> bool {
        if !self.visit.undo || self.journal.knows(number) {
            return true;
        }
        let Some(entry) = self.entries.get(number) else { return false };
        self.journal.note(Write::Change(number, entry.value))
    }
}
