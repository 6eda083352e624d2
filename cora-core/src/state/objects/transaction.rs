//! A run that takes objects: begin, then commit or rollback.

use super::super::table::Travelling;
use super::super::{Announced, Home, Kind, Malformed, Visit};
use super::blocks::{NOWHERE, Noted};
use super::journal::Write;
use super::{ObjectError, ObjectState, Objects};
use crate::hash::FlowHasher;

/// Makes the tags of flows.
const TAGS: FlowHasher = FlowHasher::new(0x006f_626a_6563_7473);

impl<S: ObjectState> Objects<S> {
    /// A run of the flow with this key begins.
    #[inline]
    fn of_flow(&mut self, words: Option<[u64; 5]>) {
        self.words = words;
        self.current = words.and_then(|words| self.store.owners.find(&words)).unwrap_or(NOWHERE);
        if self.current != NOWHERE && self.has_expired(self.current, self.visit.now) {
            self.expire(self.current);
        }
        self.next = None;
        if let Some(owner) = self.store.owners.get_mut(self.current) {
            owner.used = owner.used.max(self.visit.now);
            self.next = Some(owner.next);
        }
    }

    /// The flow of the run, which has objects from now on.
    pub(super) fn current_or_new(&mut self) -> Result<u32, ObjectError> {
        if self.current != NOWHERE {
            return Ok(self.current);
        }
        let words = self.words.ok_or(ObjectError::NoFlow)?;
        if self.store.owners.len() >= S::FLOWS {
            self.end_expired();
        }
        if self.store.owners.len() >= S::FLOWS {
            return Err(ObjectError::NoRoom);
        }
        // Another time another tag: ids of the flow's former objects find none of the new ones.
        let tag = TAGS.hash_pair([TAGS.hash(&words), self.visit.now]) as u32;
        let mut added = self.store.owners.add(words, self.visit.now, tag, 0);
        if added.is_none() {
            self.store.free_ended(u32::MAX);
            added = self.store.owners.add(words, self.visit.now, tag, 0);
        }
        self.current = added.ok_or(ObjectError::NoRoom)?;
        self.by_flow.join(self.current, self.visit.flow);
        Ok(self.current)
    }

    /// Keeps the content of an object that is about to change; `false`: there is no room, and it
    /// must not change.
    #[inline]
    pub(super) fn keep(&mut self, place: u32) -> bool {
        !self.visit.undo || self.keep_noted(place)
    }

    #[inline(never)]
    fn keep_noted(&mut self, place: u32) -> bool {
        let head = self.store.blocks.head(place);
        if head.noted == Noted::Kept {
            return true;
        }
        let kept = self.journal.note_change(head.serial, self.store.blocks.memory(place));
        if kept {
            self.store.blocks.head_mut(place).noted = Noted::Kept;
        }
        kept
    }

    /// Removes an object, in a way that can be undone until the run is completed.
    pub(super) fn take_away(&mut self, serial: u32, place: u32) -> bool {
        if !self.visit.undo {
            self.store.free(place);
            return true;
        }
        let noted = self.journal.note(Write::Remove(serial));
        if noted {
            self.store.blocks.head_mut(place).noted = Noted::Removed;
        }
        noted
    }

    #[inline(never)]
    fn commit_noted(&mut self) {
        for number in 0..self.journal.len() {
            let Some(write) = self.journal.get(number) else { break };
            let (Write::Insert(serial) | Write::Remove(serial) | Write::Change(serial, ..)) = write;
            let Some(place) = self.store.find(self.current, serial) else { continue };
            if self.store.blocks.head(place).noted == Noted::Removed {
                self.store.free(place);
            } else {
                self.store.blocks.head_mut(place).noted = Noted::No;
            }
        }
        self.journal.clear();
    }

    /// Undoes the run's writes, in reverse order.
    #[inline(never)]
    fn undo(&mut self) {
        for number in (0..self.journal.len()).rev() {
            let Some(write) = self.journal.get(number) else { break };
            let (Write::Insert(serial) | Write::Remove(serial) | Write::Change(serial, ..)) = write;
            let Some(place) = self.store.find(self.current, serial) else { continue };
            match write {
                Write::Insert(_) => self.store.free(place),
                // What comes before it in the journal is undone next.
                Write::Remove(_) => self.store.blocks.head_mut(place).noted = Noted::Kept,
                Write::Change(_, from, units) => {
                    self.store.blocks.restore(place, self.journal.kept(from, units));
                }
            }
            if let Some(place) = self.store.find(self.current, serial) {
                self.store.blocks.head_mut(place).noted = Noted::No;
            }
        }
        match self.next {
            Some(next) => {
                if let Some(owner) = self.store.owners.get_mut(self.current) {
                    owner.next = next;
                }
            }
            None => self.end(self.current),
        }
        self.journal.clear();
    }
}

impl<S: ObjectState> Announced for Objects<S> {}

impl<S: ObjectState> Home for Objects<S> {
    fn kind(&self) -> Kind {
        Kind::Keyed
    }

    #[inline]
    fn begin(&mut self, visit: Visit) {
        self.visit = visit;
        self.words = None;
        self.current = NOWHERE;
        self.next = None;
        self.attend();
    }

    #[inline]
    fn enter_named(&mut self, group: Option<[u64; 5]>) {
        self.of_flow(group);
    }

    #[inline]
    fn commit(&mut self, undo: bool) {
        if undo {
            self.commit_noted();
        }
        self.current = NOWHERE;
    }

    fn rollback(&mut self) {
        self.undo();
        self.current = NOWHERE;
    }

    #[inline]
    fn is_void(&self) -> bool {
        self.journal.overflowed()
    }

    fn export(&mut self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        self.export_summaries(now, piece);
    }

    fn merge(&mut self, _: &[u8]) -> Result<(), Malformed> {
        Err(Malformed)
    }

    fn as_travelling(&mut self) -> Option<&mut dyn Travelling> {
        Some(self)
    }

    fn entries(&self, now: u64) -> u64 {
        let mut objects = 0;
        self.each_alive(now, &mut |number| {
            objects += self.store.owners.get(number).map_or(0, |owner| u64::from(owner.objects));
        });
        objects
    }
}
