//! The table itself, generic over key and value, with a capacity fixed at creation.

use core::cell::Cell;

use super::super::memory::Arena;
use super::super::{Line, Memory, NO_FLOW, OutOfMemory, Visit};
use super::InsertError;
use super::by_flow::ByFlow;
use super::dirty::Changes;
use super::ended::Endings;
use super::entry::{Entry, Facts, NONE, Whole};
use super::group::Sight;
use super::hooked::Expired;
use super::index::Index;
use super::journal::{Journal, Write};
use super::prefetch::{ALONE, Ahead};
use super::wheel::{Touched, Wheel};
use crate::hash::FlowHasher;
use crate::key::EntryKey;
use crate::plain::Plain;

/// The fixed parameters of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Maximum number of entries for insertions.
    pub capacity: u32,
    /// Places beyond the capacity, for entries that return from the other side, and for entries
    /// that a packet removed and may restore.
    pub spare: u32,
    /// Idle time of entries (ns); the maximum if entries have their own.
    pub idle: u64,
    /// Whether entries have a second key.
    pub reply: bool,
}

/// A table of fixed capacity in supplied memory.
#[derive(Debug)]
pub struct RawTable<K: EntryKey, V: 'static> {
    pub(super) shape: Shape,
    pub(super) hasher: FlowHasher,
    pub(super) index: Index,
    pub(super) entries: Arena<Entry<K, V>>,
    /// Reply keys that can't be derived from the first key, up to the highest entry that ever had
    /// one.
    pub(super) replies: Arena<K>,
    pub(super) ahead: Ahead<K>,
    free: u32,
    alive: u32,
    pub(super) wheel: Wheel,
    /// The entry last handed out for a change; unused if all entries have one idle time.
    pub(super) touched: Touched,
    pub(super) journal: Journal<V>,
    pub(super) changes: Changes<K>,
    pub(super) endings: Endings<K, V>,
    pub(super) expired: Expired<K, V>,
    pub(super) visit: Visit,
    /// The entries that keys can find.
    pub(super) sight: Sight,
    /// The clock hand of eviction, and the number of evictions.
    pub(super) hand: u32,
    pub(super) evicted: u64,
    /// Entries that expired.
    pub(super) expirations: u64,
    /// The flow of each entry.
    pub(super) by_flow: ByFlow,
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub const fn bytes(shape: Shape) -> usize {
        let capacity = shape.capacity as usize + shape.spare as usize;
        let keys = if shape.reply { capacity * 2 } else { capacity };
        let replies = if shape.reply { capacity } else { 0 };
        Index::lines(keys) * Line::BYTES
            + Arena::<Entry<K, V>>::bytes(capacity)
            + Arena::<K>::bytes(replies)
            + Wheel::bytes(capacity)
            + Journal::<V>::BYTES
            + Changes::<K>::bytes::<V>(shape)
            + Endings::<K, V>::bytes(shape)
            + Expired::<K, V>::bytes(shape)
    }

    /// An empty table.
    pub fn create(memory: &mut Memory, shape: Shape) -> Result<Self, OutOfMemory> {
        let capacity = shape.capacity as usize + shape.spare as usize;
        let keys = if shape.reply { capacity * 2 } else { capacity };
        Ok(Self {
            shape,
            hasher: FlowHasher::new(memory.seed()),
            index: Index::create(memory, keys)?,
            entries: Arena::create(memory, capacity)?,
            replies: Arena::create(memory, if shape.reply { capacity } else { 0 })?,
            ahead: Ahead::nothing(),
            free: NONE,
            alive: 0,
            wheel: Wheel::create(memory, capacity, Self::tick(shape))?,
            touched: Touched::NONE,
            journal: Journal::create(memory)?,
            changes: Changes::create::<V>(memory, shape)?,
            endings: Endings::create(memory, shape)?,
            expired: Expired::create(memory, shape)?,
            visit: Visit { now: 0, horizon: 0, undo: false, flow: NO_FLOW, ahead: ALONE },
            sight: Sight::All,
            hand: 0,
            evicted: 0,
            expirations: 0,
            by_flow: ByFlow::unknown(),
        })
    }

    /// Number of entries, including expired ones that were not noticed yet.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.alive
    }

    /// Whether it holds no entry.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// Inserts an entry. One with the same keys is overwritten; one with the same key but another
    /// reply key is replaced. On failure, nothing has changed.
    #[inline(always)]
    pub fn insert(&mut self, key: K, reply: Option<K>, value: V) -> Result<(), InsertError> {
        // A copy, for the reason given in `look_up`.
        self.put_in(&{ key }, reply, value)
    }

    #[inline(never)]
    fn put_in(&mut self, key: &K, reply: Option<K>, value: V) -> Result<(), InsertError> {
        let key = *key;
        let of_second = self.sight.which(&key).ok_or(InsertError::ForeignKey)?;
        if reply.is_some_and(|reply| !self.sight.has_reply(&reply)) {
            return Err(InsertError::ForeignKey);
        }
        let reply = reply.unwrap_or(key);
        let packed = key.pack();
        let hash = self.hash(&packed);
        let second = self.hash_of_reply(&packed, &reply.pack());
        let old = self.find_unexpired(hash, &key).map(|(number, _)| number);
        if let Some(number) = old.filter(|number| self.has_keys(*number, &key, &reply)) {
            return self.overwrite(number, value);
        }
        if second.is_some_and(|second| self.find_unexpired(second, &reply).is_some()) {
            return Err(InsertError::KeyTaken);
        }
        if old.is_some_and(|number| !self.take_out_noted(number)) {
            return Err(InsertError::Full);
        }
        // A replacement needs no further place.
        let most = if old.is_some() { u32::MAX } else { self.shape.capacity };
        let Some(number) = self.next_or_evicted(most) else {
            // The other side may have a free place: only it can decide that the table is full.
            if self.visit.undo {
                self.journal.give_up();
            }
            return Err(InsertError::Full);
        };
        self.store(number, &Whole { key, reply, used: self.visit.now, value, of_second });
        let linked = self.link(number, hash, second, self.visit.flow);
        if !linked || (self.visit.undo && !self.journal.note(Write::Insert(number))) {
            self.release(number);
            return Err(InsertError::Full);
        }
        if const { V::DURABLE } && !self.visit.undo {
            self.note(number);
        }
        Ok(())
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (number, _) = self.find_alive(key)?;
        let value = self.entries.get(number)?.value;
        self.take_out_noted(number).then_some(value)
    }

    /// The number that the next insertion assigns, if there is a free place.
    pub fn next_number(&mut self) -> Option<u32> {
        self.next_below(self.shape.capacity)
    }

    /// The same if there are fewer entries than `most`.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn next_below(&mut self, most: u32) -> Option<u32> {
        if self.alive >= most || self.is_crammed() {
            self.expire(self.visit.horizon, Some(most));
        }
        if self.alive >= most || self.is_crammed() {
            return None;
        }
        Some(self.next_place())
    }

    /// Whether every place has an entry, including those beyond the capacity.
    #[inline(always)]
    pub(super) const fn is_crammed(&self) -> bool {
        self.free == NONE && self.entries.len() == self.entries.capacity()
    }

    /// The number of the next new entry, if there is a free place.
    #[inline]
    pub(super) const fn next_place(&self) -> u32 {
        if self.free == NONE { self.entries.len() as u32 } else { self.free }
    }

    /// Removes an entry and frees it, without a log record.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn release(&mut self, number: u32) {
        self.unlink(number);
        self.free(number);
    }

    /// The packet's number in its burst.
    pub const fn ahead(&self) -> u8 {
        self.visit.ahead
    }

    /// The packet's time.
    pub(super) const fn now(&self) -> u64 {
        self.visit.now
    }

    /// The low watermark: no later packet is older than this.
    pub(super) const fn horizon(&self) -> u64 {
        self.visit.horizon
    }

    /// The entry's reply key; the key itself if it has none.
    #[inline]
    pub(super) fn reply_of(&self, number: u32, entry: &Entry<K, V>) -> K {
        if const { V::UNDIRECTED } {
            return entry.key();
        }
        let reply = if entry.facts.has(Facts::REVERSED) {
            entry.key().reply()
        } else if entry.facts.has(Facts::OWN_REPLY) {
            self.replies.get(number).copied()
        } else {
            None
        };
        reply.unwrap_or(entry.key())
    }

    #[inline(never)]
    fn has_keys(&self, number: u32, key: &K, reply: &K) -> bool {
        self.entries.get(number).is_some_and(|entry| {
            let its = (entry.key(), self.reply_of(number, entry));
            its == (*key, *reply) || its == (*reply, *key)
        })
    }

    #[inline(never)]
    fn overwrite(&mut self, number: u32, value: V) -> Result<(), InsertError> {
        if !self.note_change(number) {
            return Err(InsertError::Full);
        }
        if const { V::IDLE_VARIES } {
            self.touch(number);
        }
        if let Some(entry) = self.entries.get_mut(number) {
            entry.value = value;
            entry.used_at(self.visit.now);
        }
        if const { V::DURABLE } && !self.visit.undo {
            self.note(number);
        }
        Ok(())
    }

    /// Puts an entry into the next free place.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn store(&mut self, number: u32, whole: &Whole<K, V>) {
        let Whole { key, reply, used, value, of_second } = *whole;
        let mut facts = if const { V::UNDIRECTED } || reply == key {
            Facts::NONE
        } else if key.reply() == Some(reply) {
            Facts::REVERSED
        } else {
            Facts::OWN_REPLY
        };
        if facts == Facts::OWN_REPLY {
            self.keep_reply(number, reply);
        }
        if of_second {
            facts = facts.with(Facts::OF_SECOND);
        }
        let mut entry =
            Entry { key: key.pack(), used: Cell::new(used), value, facts, wheel_slot: 0 };
        if let Some(free) = self.entries.get_mut(number) {
            self.free = free.used.get() as u32;
            if free.facts.has(Facts::SCHEDULED) {
                entry.facts = facts.with(Facts::SCHEDULED);
                entry.wheel_slot = free.wheel_slot;
            }
            if const { V::DURABLE } && free.facts.has(Facts::CHANGED) {
                // The place stays on the list of changes.
                entry.facts = entry.facts.with(Facts::CHANGED);
            }
            *free = entry;
            return;
        }
        // The next place that was never used.
        if self.entries.push(entry).is_ok() {
            self.wheel.add();
            self.by_flow.add();
        }
    }

    #[inline(never)]
    fn keep_reply(&mut self, number: u32, reply: K) {
        while self.replies.len() <= number as usize && self.replies.push(reply).is_ok() {}
        if let Some(place) = self.replies.get_mut(number) {
            *place = reply;
        }
    }

    /// Links a placed entry with these key hashes into index, wheel and flow list; `false` if the
    /// index is full.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn link(&mut self, number: u32, hash: u64, second: Option<u64>, flow: u32) -> bool {
        let linked = self.link_to_index(number, hash, second);
        let used = self.entries.get(number).map_or(0, |entry| entry.used.get());
        self.schedule(number, used);
        self.by_flow.join(number, flow);
        linked
    }

    /// Adds the entry's keys, with these hashes, to the index.
    fn link_to_index(&mut self, number: u32, hash: u64, second: Option<u64>) -> bool {
        let Some(entry) = self.entries.get_mut(number) else { return false };
        entry.facts = entry.facts.with(Facts::ALIVE);
        self.alive += 1;
        let found = self.index.insert(hash, number);
        found && second.is_none_or(|second| self.index.insert(second, number))
    }

    /// Links an unlinked entry again.
    pub(super) fn relink(&mut self, number: u32) {
        let Some(entry) = self.entries.get(number) else { return };
        let (hash, used) = (self.hash(&entry.key), entry.used.get());
        // The slots of its keys are free again, so this succeeds.
        let _ = self.link_to_index(number, hash, self.second_hash(number));
        self.schedule(number, used);
    }

    /// The hash of an entry's reply key, if it has one. Prefetches the index line, which the caller
    /// reads next.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn second_hash(&self, number: u32) -> Option<u64> {
        let entry = self.entries.get(number)?;
        self.hash_of_reply(&entry.key, &self.reply_of(number, entry).pack())
    }

    /// The same for an entry with these keys.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn hash_of_reply(&self, key: &K::Packed, reply: &K::Packed) -> Option<u64> {
        if const { V::UNDIRECTED } || K::unpack(reply) == K::unpack(key) {
            return None;
        }
        let hash = self.hash(reply);
        self.index.prefetch(hash);
        Some(hash)
    }

    /// Removes the entry from the index: no key finds it. Its flow and its wheel slot stay.
    pub(super) fn unlink(&mut self, number: u32) {
        if self.entry(number).is_none() {
            return;
        }
        if !self.unlink_at_home(number) {
            self.unlink_from_index(number);
        }
        self.alive -= 1;
        if let Some(entry) = self.entries.get_mut(number) {
            entry.facts = entry.facts.without(Facts::ALIVE);
        }
    }

    /// Removes an entry's key from its home line, known from the prefetch, if that is the entry's
    /// only slot: an entry with one key has one slot, here or elsewhere. The NIC's program omits
    /// this, to save code size.
    #[inline(always)]
    fn unlink_at_home(&mut self, number: u32) -> bool {
        if cfg!(not(target_arch = "x86_64")) {
            return false;
        }
        let has_one_key = self.entries.get(number).is_some_and(|entry| {
            let undirected = const { V::UNDIRECTED };
            undirected || !(entry.facts.has(Facts::REVERSED) || entry.facts.has(Facts::OWN_REPLY))
        });
        let ahead = self.ahead.home_of(self.visit.ahead, number).filter(|_| has_one_key);
        ahead.is_some_and(|(home, hash)| self.index.remove_at_home(home, hash, number))
    }

    /// Removes an entry's keys from the index, independent of prefetch state.
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    fn unlink_from_index(&mut self, number: u32) {
        let Some(hash) = self.entries.get(number).map(|entry| self.hash(&entry.key)) else {
            return;
        };
        let second = self.second_hash(number);
        self.index.remove(hash, number);
        if let Some(second) = second {
            self.index.remove(second, number);
        }
    }

    /// Frees the place of an unlinked entry. It stays in the wheel until its tick.
    pub(super) fn free(&mut self, number: u32) {
        if const { V::DURABLE } {
            self.note_gone(number);
        }
        self.by_flow.leave(number);
        if let Some(entry) = self.entries.get(number) {
            entry.used.set(u64::from(self.free));
            self.free = number;
        }
    }
}
