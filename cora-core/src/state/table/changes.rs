//! Which entries of a durable state changed since that was last told, so that copies of them
//! outlive the side that owns them.
//!
//! A change is noted when it stays: at the end of a packet that may be taken back, at once
//! otherwise. Being found is no change: a copy's time of last use lags, and an entry that comes
//! back from its copy counts as used when it does. Tables of other states have no list, and none of
//! this is compiled for them.

use super::super::memory::Arena;
use super::super::{Malformed, Memory, OutOfMemory};
use super::entry::{Facts, NONE};
use super::raw::{RawTable, Shape};
use super::travelling::ImportError;
use crate::key::Key;
use crate::plain::Plain;

/// Values up to so many bytes are compared with what they were; larger ones count as changed when
/// they may be.
const COMPARED: usize = 64;

/// What is told of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The entry is new or has changed: it is `piece` now, which begins with its key.
    Is {
        /// The flow that it belongs to; [`NO_FLOW`](super::super::NO_FLOW) if that is not known.
        flow: u32,
        /// Its name, encoded: the key it was inserted under, and which address is its group.
        key: &'a [u8],
        /// The whole entry, encoded.
        piece: &'a [u8],
    },
    /// There is no entry of this name any more.
    Gone(&'a [u8]),
}

/// What of an entry is sent to the side that has a copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It is as it was told: its name, and when it was last used.
    Same(&'a [u8], u64),
}

/// What changed since it was told.
#[derive(Debug)]
pub(super) struct Changes<K: 'static> {
    /// Numbers of entries, each once: their mark says that they are here.
    changed: Arena<u32>,
    /// Names of entries that were told and are gone: keys, and which address is their group. There
    /// are never more than places of entries: one that is given to another entry is told before
    /// that is gone, too.
    gone: Arena<(K, bool)>,
}

impl<K: Key> Changes<K> {
    /// As many as there are entries; none for states that are not durable.
    const fn room<V: Plain>(shape: Shape) -> usize {
        if V::DURABLE { shape.capacity as usize + shape.spare as usize } else { 0 }
    }

    pub(super) const fn bytes<V: Plain>(shape: Shape) -> usize {
        let room = Self::room::<V>(shape);
        Arena::<u32>::bytes(room) + Arena::<(K, bool)>::bytes(room)
    }

    pub(super) fn create<V: Plain>(memory: &mut Memory, shape: Shape) -> Result<Self, OutOfMemory> {
        if !V::DURABLE {
            return Ok(Self { changed: Arena::empty(), gone: Arena::empty() });
        }
        let room = Self::room::<V>(shape);
        Ok(Self { changed: Arena::create(memory, room)?, gone: Arena::create(memory, room)? })
    }
}

/// A table of a durable state: what the protocol that moves flows asks of it
/// beside what it asks of every table that travels.
pub trait Durable {
    /// Tells what changed since this was last called, what is gone first, and forgets that it did.
    fn tell(&mut self, tell: &mut dyn FnMut(Change<'_>));

    /// Hands out the flow's entries that are alive at `now`, those whole that changed since they
    /// were told.
    fn export_moved(&self, flow: u32, now: u64, moved: &mut dyn FnMut(Moved<'_>));

    /// From now on the flow's entries that are alive at `now` are the other side's to tell of. They
    /// are about to leave.
    fn disown(&mut self, flow: u32, now: u64);

    /// All entries are to be told.
    fn retell(&mut self);

    /// The entry in `piece`, which was just installed, is to be told.
    fn changed(&mut self, piece: &[u8]);

    /// Installs an entry from its copy, as last used at `used`, or as
    /// [`Travelling::take_back`](super::Travelling::take_back) does. It is to be told.
    fn restore(&mut self, piece: &[u8], flow: u32, used: u64) -> Result<(), ImportError>;

    /// Bytes of an encoded name, with which an encoded entry begins.
    fn key_bytes(&self) -> usize;

    /// Bytes of an encoded entry.
    fn piece_bytes(&self) -> usize;
}

impl<K: Key, V: Plain> Durable for RawTable<K, V> {
    fn tell(&mut self, tell: &mut dyn FnMut(Change<'_>)) {
        let mut bytes = [0; 64];
        for number in 0..self.changes.gone.len() as u32 {
            if let Some((key, of_second)) = self.changes.gone.get(number) {
                Self::put_name(key, *of_second, &mut bytes);
                tell(Change::Gone(&bytes[..Self::NAME]));
            }
        }
        self.changes.gone.clear();
        for at in 0..self.changes.changed.len() as u32 {
            let Some(number) = self.changes.changed.get(at).copied() else { continue };
            self.tell_one(number, tell);
        }
        self.changes.changed.clear();
    }

    fn export_moved(&self, flow: u32, now: u64, moved: &mut dyn FnMut(Moved<'_>)) {
        let mut key = [0; 64];
        self.each_of(flow, &mut |number| {
            let Some(entry) = self.entry(number).filter(|entry| !self.expired_at(entry, now))
            else {
                return;
            };
            if entry.facts.has(Facts::KNOWN) && !entry.facts.has(Facts::CHANGED) {
                Self::put_name(&entry.key(), entry.facts.has(Facts::OF_SECOND), &mut key);
                moved(Moved::Same(&key[..Self::NAME], entry.used.get()));
            } else {
                self.encode_entry(number, entry, &mut |piece| moved(Moved::Whole(piece)));
            }
        });
    }

    fn disown(&mut self, flow: u32, now: u64) {
        let mut number = self.by_flow.first(flow);
        while number != NONE {
            if self.entry(number).is_some_and(|entry| !self.expired_at(entry, now))
                && let Some(entry) = self.entries.get_mut(number)
            {
                entry.facts = entry.facts.without(Facts::KNOWN);
                if const { V::RECORDED } {
                    entry.facts = entry.facts.with(Facts::MOVED);
                }
            }
            number = self.by_flow.next(number);
        }
    }

    fn retell(&mut self) {
        (0..self.made()).for_each(|number| self.note(number));
    }

    fn changed(&mut self, piece: &[u8]) {
        // Expired or not: packets that came earlier may still wait, to which it is alive, and the
        // last one was of a later time.
        let of_second = piece.get(K::SIZE..).and_then(bool::get);
        let (Some(key), Some(of_second)) = (K::get(piece), of_second) else { return };
        self.see_group_of(&key, of_second);
        if let Some((number, _)) = self.find(&key) {
            self.note(number);
        }
    }

    fn restore(&mut self, piece: &[u8], flow: u32, used: u64) -> Result<(), ImportError> {
        let mut whole = Self::decode(piece).ok_or(ImportError::Malformed(Malformed))?;
        whole.used = used;
        if !self.comes_late(&whole) {
            self.install_again(&whole, flow).map_err(ImportError::Refused)?;
            self.changed(piece);
        }
        Ok(())
    }

    fn key_bytes(&self) -> usize {
        Self::NAME
    }

    fn piece_bytes(&self) -> usize {
        Self::PIECE
    }
}

impl<K: Key, V: Plain> RawTable<K, V> {
    fn tell_one(&mut self, number: u32, tell: &mut dyn FnMut(Change<'_>)) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        entry.facts = entry.facts.without(Facts::CHANGED);
        if !entry.is_alive() {
            return;
        }
        entry.facts = entry.facts.with(Facts::KNOWN);
        let flow = self.by_flow.flow_of(number).unwrap_or(super::super::NO_FLOW);
        let Some(entry) = self.entry(number) else { return };
        self.encode_entry(number, entry, &mut |piece| {
            tell(Change::Is { flow, key: piece.get(..Self::NAME).unwrap_or_default(), piece });
        });
    }

    /// The entry has changed for good.
    #[inline(never)]
    pub(super) fn note(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        if entry.is_alive()
            && !entry.facts.has(Facts::CHANGED)
            && self.changes.changed.push(number).is_ok()
        {
            entry.facts = entry.facts.with(Facts::CHANGED);
        }
    }

    /// The packet is through: the entry's value before it was this.
    pub(super) fn note_unless_same(&mut self, number: u32, before: &V) {
        let (mut then, mut now) = ([0; COMPARED], [0; COMPARED]);
        if V::SIZE <= COMPARED
            && let Some(entry) = self.entry(number)
        {
            before.put(&mut then);
            entry.value.put(&mut now);
            if then == now {
                return;
            }
        }
        self.note(number);
    }

    /// The entry, which is about to be freed, is gone.
    pub(super) fn note_gone(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        if entry.facts.has(Facts::KNOWN) {
            entry.facts = entry.facts.without(Facts::KNOWN);
            let name = (entry.key(), entry.facts.has(Facts::OF_SECOND));
            let _ = self.changes.gone.push(name);
        }
    }
}
