//! A packet's run in the table: begin, then commit or rollback.

use super::super::Visit;
use super::ended::Why;
use super::journal::Write;
use super::raw::RawTable;
use super::wheel::Touched;
use crate::key::EntryKey;
use crate::plain::Plain;

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Begins a packet's run.
    #[inline(always)]
    pub fn begin(&mut self, visit: Visit) {
        self.visit = visit;
        if self.wheel.is_due(visit.horizon) {
            core::hint::cold_path();
            self.attend();
            // Stored again, so that the compiler knows the value at the look-ups.
            self.visit = visit;
        }
    }

    /// Does the work that is due when a packet's run begins.
    #[inline(never)]
    fn attend(&mut self) {
        self.probe_second_lines();
        self.expire(self.visit.horizon, None);
    }

    /// Commits the packet's writes.
    #[inline]
    pub fn commit(&mut self) {
        self.commit_visit(self.visit.undo);
    }

    /// The same; `undo` is the visit's.
    #[inline]
    pub(super) fn commit_visit(&mut self, undo: bool) {
        debug_assert_eq!(undo, self.visit.undo, "as the run began");
        if const { V::IDLE_VARIES } {
            self.reschedule_touched();
        }
        // Without undo, nothing was logged.
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

    /// Undoes the packet's writes, in reverse order.
    pub fn rollback(&mut self) {
        // The restored value has its old idle time, which the wheel slot matches: the entry may be
        // examined too early, but not too late.
        if const { V::IDLE_VARIES } {
            self.touched = Touched::NONE;
        }
        for number in (0..self.journal.len()).rev() {
            match self.journal.get(number) {
                Some(Write::Insert(entry)) => self.release(entry),
                // The slots of its keys are free again.
                Some(Write::Remove(entry)) => self.relink(entry),
                Some(Write::Change(entry, before)) => {
                    if let Some(entry) = self.entries.get_mut(entry) {
                        entry.value = before;
                    }
                    if const { V::LIVES } {
                        // It ends sooner than what the packet inserted over it, and may have been
                        // examined meanwhile.
                        self.schedule_again(entry);
                    }
                }
                None => {}
            }
        }
        self.journal.clear();
    }

    /// Whether the packet wrote more than can be undone.
    #[inline]
    pub const fn overflowed(&self) -> bool {
        self.journal.overflowed()
    }

    /// Removes an entry, in a way that can be undone until the packet is completed.
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
            self.unlink(number);
        }
        noted
    }

    /// Logs the entry's old value, once per packet; `false` if the log is full. Not inlined: few
    /// packets have undo, and every handler would contain a copy.
    #[inline(never)]
    pub(super) fn note_change(&mut self, number: u32) -> bool {
        if !self.visit.undo || self.journal.knows(number) {
            return true;
        }
        let Some(entry) = self.entries.get(number) else { return false };
        self.journal.note(Write::Change(number, entry.value))
    }
}
