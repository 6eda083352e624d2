//! Changed entries of a durable state since the last report, so that replicas survive the side that
//! owns the entries.
//!
//! A change is logged when it is final: at the end of a packet with undo, otherwise at once. A hit
//! is no change: the time of last use in a replica lags, and an entry restored from it counts as
//! used then. Tables of other states have no such list, and none of this code is compiled for them.

use super::super::memory::Arena;
use super::super::{Malformed, Memory, OutOfMemory};
use super::codec::MOST_NAME;
use super::entry::{Facts, NONE};
use super::raw::{RawTable, Shape};
use super::transfer::ImportError;
use crate::key::EntryKey;
use crate::plain::Plain;

/// Values up to this size in bytes are compared with their previous content. Larger ones count as
/// changed if they may have changed.
const COMPARED: usize = 64;

/// A reported change of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The entry is new or has changed. `piece` is its new content, which begins with its key.
    Is {
        /// The entry's flow; [`NO_FLOW`](super::super::NO_FLOW) if it is unknown.
        flow: u32,
        /// Its encoded name: the key it was inserted under, and which address is its group.
        key: &'a [u8],
        /// The whole entry, encoded.
        piece: &'a [u8],
    },
    /// No entry has this name any more.
    Gone(&'a [u8]),
}

/// The part of an entry that is sent to the side with its replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved<'a> {
    /// The whole entry.
    Whole(&'a [u8]),
    /// The entry is unchanged since its last report: its name, and the time of its last use.
    Same(&'a [u8], u64),
}

/// Changes since the last report.
#[derive(Debug)]
pub(super) struct Changes<K: 'static> {
    /// Entry numbers, each once: a flag of the entry marks its presence here.
    changed: Arena<u32>,
    /// Names of reported entries that are gone: keys, and which address is their group. There are
    /// never more than entry places: if a place is reused, its new entry is reported before that
    /// one is gone too.
    gone: Arena<(K, bool)>,
}

impl<K: EntryKey> Changes<K> {
    /// Number of all entry places; 0 for states that are not durable.
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

/// A table of a durable state, as the migration protocol uses it in addition to
/// [`Travelling`](super::Travelling).
pub trait Durable {
    /// Reports the changes since the last call, removed entries first, and clears the list.
    fn tell(&mut self, tell: &mut dyn FnMut(Change<'_>));

    /// Exports the flow's entries that are alive at `now`. Those that changed since their last
    /// report are exported whole.
    fn export_moved(&self, flow: u32, now: u64, moved: &mut dyn FnMut(Moved<'_>));

    /// Marks the flow's entries that are alive at `now` as reported by the other side from now on.
    /// They are about to leave.
    fn disown(&mut self, flow: u32, now: u64);

    /// Marks all entries for a report.
    fn retell(&mut self);

    /// Marks the entry in `piece`, which was just installed, for a report.
    fn changed(&mut self, piece: &[u8]);

    /// Installs an entry from its replica, with `used` as its last use, in the same way as
    /// [`Travelling::take_back`](super::Travelling::take_back). Marks it for a report.
    fn restore(&mut self, piece: &[u8], flow: u32, used: u64) -> Result<(), ImportError>;

    /// Bytes of an encoded name, at the beginning of an encoded entry.
    fn key_bytes(&self) -> usize;

    /// Bytes of an encoded entry.
    fn piece_bytes(&self) -> usize;
}

impl<K: EntryKey, V: Plain> Durable for RawTable<K, V> {
    fn tell(&mut self, tell: &mut dyn FnMut(Change<'_>)) {
        let mut bytes = [0; MOST_NAME];
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
        let mut key = [0; MOST_NAME];
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
                if const { Self::NOTES_ENDS } {
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
        // Looks up expired entries too: for earlier packets that still wait the entry is alive, and
        // the table's current packet had a later time.
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
        if !self.comes_late(&whole, flow) {
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

impl<K: EntryKey, V: Plain> RawTable<K, V> {
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

    /// Logs a final change of the entry.
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

    /// Logs a change of the completed packet, unless the value equals `before`.
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

    /// Logs the removal of the entry, which is about to be freed.
    pub(super) fn note_gone(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        if entry.facts.has(Facts::KNOWN) {
            entry.facts = entry.facts.without(Facts::KNOWN);
            let name = (entry.key(), entry.facts.has(Facts::OF_SECOND));
            let _ = self.changes.gone.push(name);
        }
    }
}
