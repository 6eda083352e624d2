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
        /// The key it was inserted under, encoded.
        key: &'a [u8],
        /// The whole entry, encoded.
        piece: &'a [u8],
    },
    /// There is no entry with this key any more.
    Gone(&'a [u8]),
}

/// What of an entry is sent to the side that has a copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It is as it was told: its key, and when it was last used.
    Same(&'a [u8], u64),
}

/// What changed since it was told.
#[derive(Debug)]
pub(super) struct Changes<K: 'static> {
    /// Numbers of entries, each once: their mark says that they are here.
    changed: Arena<u32>,
    /// Keys of entries that were told and are gone. There are never more than places of entries:
    /// one that is given to another entry is told before that is gone, too.
    gone: Arena<K>,
}

impl<K: Key> Changes<K> {
    /// As many as there are entries; none for states that are not durable.
    const fn room<V: Plain>(shape: Shape) -> usize {
        if V::DURABLE { shape.capacity as usize + shape.spare as usize } else { 0 }
    }

    pub(super) const fn bytes<V: Plain>(shape: Shape) -> usize {
        let room = Self::room::<V>(shape);
        Arena::<u32>::bytes(room) + Arena::<K>::bytes(room)
    }

    pub(super) fn create<V: Plain>(memory: &mut Memory, shape: Shape) -> Result<Self, OutOfMemory> {
        if !V::DURABLE {
            return Ok(Self { changed: Arena::empty(), gone: Arena::empty() });
        }
        let room = Self::room::<V>(shape);
        Ok(Self { changed: Arena::create(memory, room)?, gone: Arena::create(memory, room)? })
    }
}

/// A table of a durable state: what the protocol of [`migration`](crate::migration) asks of it
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

    /// Installs an entry from its copy, as last used at `used`. It is to be told.
    fn restore(&mut self, piece: &[u8], flow: u32, used: u64) -> Result<(), ImportError>;

    /// Bytes of an encoded key.
    fn key_bytes(&self) -> usize;

    /// Bytes of an encoded entry.
    fn piece_bytes(&self) -> usize;
}

impl<K: Key, V: Plain> Durable for RawTable<K, V> {
    fn tell(&mut self, tell: &mut dyn FnMut(Change<'_>)) {
        let mut bytes = [0; 64];
        for number in 0..self.changes.gone.len() as u32 {
            if let Some(key) = self.changes.gone.get(number) {
                key.put(&mut bytes);
                tell(Change::Gone(&bytes[..K::SIZE]));
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
                entry.key().put(&mut key);
                moved(Moved::Same(&key[..K::SIZE], entry.used.get()));
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
        if let Some((number, _)) = K::get(piece).and_then(|key| self.find(&key)) {
            self.note(number);
        }
    }

    fn restore(&mut self, piece: &[u8], flow: u32, used: u64) -> Result<(), ImportError> {
        let mut whole = Self::decode(piece).ok_or(ImportError::Malformed(Malformed))?;
        whole.used = used;
        // Nobody will find it, and its keys may be another's by now.
        if self.horizon().saturating_sub(used) >= Self::idle_of(self.shape.idle, &whole.value) {
            self.note_late(&whole);
            return Ok(());
        }
        self.install(&whole, flow, u32::MAX).map_err(ImportError::Refused)?;
        self.changed(piece);
        Ok(())
    }

    fn key_bytes(&self) -> usize {
        K::SIZE
    }

    fn piece_bytes(&self) -> usize {
        2 * K::SIZE + 8 + V::SIZE
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
            tell(Change::Is { flow, key: piece.get(..K::SIZE).unwrap_or_default(), piece });
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
            let key = entry.key();
            let _ = self.changes.gone.push(key);
        }
    }
}
