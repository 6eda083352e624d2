//! The table itself, generic over key and value, its capacity known when it is made.

use core::cell::Cell;

use super::super::memory::{Arena, bytes_for};
use super::super::{MAX_PIECE, Memory, NO_FLOW, OutOfMemory, Visit};
use super::entry::{Entry, Links, NONE};
use super::index::Index;
use super::journal::{Journal, Write};
use super::wheel::{SLOTS, Wheel};
use super::{Direction, InsertError};
use crate::hash::FlowHasher;
use crate::key::Key;
use crate::plain::Plain;

/// What is fixed when a table is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Most entries at a time that insertions make.
    pub capacity: u32,
    /// Room for entries beyond that: for what comes back from the other side, and for what a packet
    /// took out and may get back.
    pub spare: u32,
    /// How long an entry lives unused (ns).
    pub idle: u64,
    /// Whether entries have a second key.
    pub reply: bool,
}

/// A table of fixed capacity in supplied memory.
#[derive(Debug)]
pub struct RawTable<K, V: 'static>
where
    K: 'static,
{
    pub(super) shape: Shape,
    hasher: FlowHasher,
    index: Index,
    pub(super) entries: Arena<Entry<K, V>>,
    free: u32,
    alive: u32,
    pub(super) wheel: Wheel,
    journal: Journal<V>,
    visit: Visit,
    /// Per flow, the first of its entries, as number + 1; empty until flows are attached.
    pub(super) flow_heads: &'static mut [u32],
    /// Entries that belong to no flow.
    pub(super) strays: u32,
}

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub const fn bytes(shape: Shape) -> usize {
        let capacity = shape.capacity as usize + shape.spare as usize;
        let keys = if shape.reply { capacity * 2 } else { capacity };
        bytes_for::<u64>(Index::slots(keys))
            + bytes_for::<Entry<K, V>>(capacity)
            + bytes_for::<u32>(SLOTS)
            + Journal::<V>::BYTES
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
            free: NONE,
            alive: 0,
            wheel: Wheel::create(memory, shape.idle)?,
            journal: Journal::create(memory)?,
            visit: Visit { now: 0, horizon: 0, undo: false, flow: NO_FLOW },
            flow_heads: &mut [],
            strays: 0,
        })
    }

    /// Entries in the table, the ones included that have expired and were not looked at yet.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.alive
    }

    /// Whether it holds no entry.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// A packet's run begins.
    #[inline]
    pub fn begin(&mut self, visit: Visit) {
        self.visit = visit;
        self.journal.clear();
        self.expire(visit.horizon, false);
    }

    /// What the packet wrote stays.
    #[inline]
    pub fn commit(&mut self) {
        for number in 0..self.journal.len() {
            if let Some(Write::Remove(entry)) = self.journal.get(number) {
                self.free(entry);
            }
        }
        self.journal.clear();
    }

    /// What the packet wrote is taken back, last write first.
    pub fn rollback(&mut self) {
        for number in (0..self.journal.len()).rev() {
            match self.journal.get(number) {
                Some(Write::Insert(entry)) => self.release(entry),
                Some(Write::Remove(entry)) => self.show(entry),
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

    /// The value with this key.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        let entry = self.entries.get(self.find(key)?)?;
        if self.expired(entry) {
            return None;
        }
        entry.used.set(self.visit.now.max(entry.used.get()));
        Some(&entry.value)
    }

    /// The value with this key, to change, and which of its entry's keys this is.
    #[inline]
    pub fn find_mut(&mut self, key: &K) -> Option<(Direction, &mut V)> {
        let number = self.find_alive(key)?;
        if !self.note_change(number) {
            return None;
        }
        let entry = self.entries.get_mut(number)?;
        entry.used.set(self.visit.now.max(entry.used.get()));
        let direction = if entry.key == *key { Direction::Original } else { Direction::Reply };
        Some((direction, &mut entry.value))
    }

    /// Puts an entry in; an entry with the same keys is overwritten, one with the same key but another
    /// reply key makes room. When it fails, nothing has changed.
    pub fn insert(&mut self, key: K, reply: Option<K>, value: V) -> Result<(), InsertError> {
        let reply = reply.unwrap_or(key);
        let old = self.find_alive(&key);
        if let Some(number) = old.filter(|number| self.has_keys(*number, &key, &reply)) {
            return self.overwrite(number, value);
        }
        if reply != key && self.find_alive(&reply).is_some() {
            return Err(InsertError::KeyTaken);
        }
        if old.is_some_and(|number| !self.take_out(number)) {
            return Err(InsertError::Full);
        }
        // What takes another's place needs no further room.
        let most = if old.is_some() { u32::MAX } else { self.shape.capacity };
        let Some(number) = self.next_below(most) else {
            // The other side may have room: only it can tell that the table is full.
            self.journal.give_up();
            return Err(InsertError::Full);
        };
        self.place(
            number,
            Entry {
                key,
                reply,
                used: Cell::new(self.visit.now),
                value,
                alive: false,
                flow: NO_FLOW,
                flow_links: Links::LOOSE,
                wheel_slot: 0,
                wheel_links: Links::LOOSE,
            },
        );
        self.settle(number, self.visit.flow);
        if self.visit.undo && !self.journal.note(Write::Insert(number)) {
            self.release(number);
            return Err(InsertError::Full);
        }
        Ok(())
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let number = self.find_alive(key)?;
        let value = self.entries.get(number)?.value;
        self.take_out(number).then_some(value)
    }

    /// The number that the next insertion gives its entry, if there is room.
    pub fn next_number(&mut self) -> Option<u32> {
        self.next_below(self.shape.capacity)
    }

    /// Likewise, if there are fewer entries than `most`.
    fn next_below(&mut self, most: u32) -> Option<u32> {
        let all_made =
            |table: &Self| table.free == NONE && table.entries.len() == table.entries.capacity();
        if self.alive >= most || all_made(self) {
            self.expire(self.visit.horizon, true);
        }
        if self.alive >= most || all_made(self) {
            return None;
        }
        Some(if self.free == NONE { self.entries.len() as u32 } else { self.free })
    }

    /// The entry with this number, if it is in the table.
    #[inline]
    pub fn entry(&self, number: u32) -> Option<&Entry<K, V>> {
        self.entries.get(number).filter(|entry| entry.alive)
    }

    /// The value of the entry with this number; no record is kept of what becomes of it.
    #[inline]
    pub fn entry_mut(&mut self, number: u32) -> Option<&mut Entry<K, V>> {
        self.entries.get_mut(number).filter(|entry| entry.alive)
    }

    /// The number of the entry that a key with these words finds, expired or not.
    #[inline]
    pub fn number_of(&self, words: &[u64; 5]) -> Option<u32> {
        self.index.find(self.hasher.hash(words), |number| {
            self.entry(number)
                .is_some_and(|entry| entry.key.words() == *words || entry.reply.words() == *words)
        })
    }

    /// Takes the entry with this number out, without a record of it.
    pub fn release_number(&mut self, number: u32) {
        if self.entry(number).is_some() {
            self.release(number);
        }
    }

    /// Visits what is alive at `now`.
    pub fn each_alive(&self, now: u64, visit: &mut dyn FnMut(&Entry<K, V>)) {
        for number in 0..self.entries.len() as u32 {
            if let Some(entry) = self.entry(number)
                && now.saturating_sub(entry.used.get()) < self.shape.idle
            {
                visit(entry);
            }
        }
    }

    /// Hands out the encoding of each entry alive at `now`.
    pub fn export(&self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        self.each_alive(now, &mut |entry| Self::encode(entry, piece));
    }

    /// Encodes an entry: keys, time of last use, value.
    pub(super) fn encode(entry: &Entry<K, V>, piece: &mut dyn FnMut(&[u8])) {
        const { assert!(2 * K::SIZE + 8 + V::SIZE <= MAX_PIECE, "the state's entry is too large") };
        let mut bytes = [0; MAX_PIECE];
        entry.key.put(&mut bytes);
        entry.reply.put(&mut bytes[K::SIZE..]);
        entry.used.get().put(&mut bytes[2 * K::SIZE..]);
        entry.value.put(&mut bytes[2 * K::SIZE + 8..]);
        piece(&bytes[..2 * K::SIZE + 8 + V::SIZE]);
    }

    /// Reads what [`Self::export`] wrote; the bytes come from the other side and are checked.
    pub fn decode(bytes: &[u8]) -> Option<Entry<K, V>> {
        if bytes.len() != 2 * K::SIZE + 8 + V::SIZE {
            return None;
        }
        Some(Entry {
            key: K::get(bytes)?,
            reply: K::get(bytes.get(K::SIZE..)?)?,
            used: Cell::new(u64::get(bytes.get(2 * K::SIZE..)?)?),
            value: V::get(bytes.get(2 * K::SIZE + 8..)?)?,
            alive: false,
            flow: NO_FLOW,
            flow_links: Links::LOOSE,
            wheel_slot: 0,
            wheel_links: Links::LOOSE,
        })
    }

    /// Puts an entry from the other side in, with the flow it belongs to, unless there are `most`.
    pub fn install(&mut self, entry: Entry<K, V>, flow: u32, most: u32) -> Result<(), InsertError> {
        for key in [entry.key, entry.reply] {
            if self.find_alive(&key).is_some() {
                return Err(InsertError::KeyTaken);
            }
        }
        let number = self.next_below(most).ok_or(InsertError::Full)?;
        self.place(number, entry);
        self.settle(number, flow);
        Ok(())
    }

    /// Says when the entry with this number was last used; [`u64::MAX`] keeps it from expiring.
    pub fn set_used(&mut self, number: u32, used: u64) {
        if let Some(entry) = self.entry(number) {
            entry.used.set(used);
            self.unhang(number);
            self.hang(number, used);
        }
    }

    /// Takes an entry out and frees it, without a record.
    pub(super) fn release(&mut self, number: u32) {
        self.hide(number);
        self.free(number);
    }

    #[inline]
    fn expired(&self, entry: &Entry<K, V>) -> bool {
        self.expired_at(entry, self.visit.now)
    }

    /// No later packet is older than this.
    pub(super) const fn horizon(&self) -> u64 {
        self.visit.horizon
    }

    /// Whether nobody finds the entry at `now`.
    #[inline]
    pub(super) fn expired_at(&self, entry: &Entry<K, V>, now: u64) -> bool {
        now.saturating_sub(entry.used.get()) >= self.shape.idle
    }

    #[inline]
    fn find(&self, key: &K) -> Option<u32> {
        let hash = self.hasher.hash(&key.words());
        self.index.find(hash, |number| {
            self.entries.get(number).is_some_and(|entry| entry.key == *key || entry.reply == *key)
        })
    }

    /// The entry that the key finds; one that has expired is freed instead.
    #[inline]
    fn find_alive(&mut self, key: &K) -> Option<u32> {
        let number = self.find(key)?;
        if self.entries.get(number).is_some_and(|entry| self.expired(entry)) {
            self.release(number);
            return None;
        }
        Some(number)
    }

    #[inline]
    fn note_change(&mut self, number: u32) -> bool {
        if !self.visit.undo || self.journal.knows(number) {
            return true;
        }
        let Some(entry) = self.entries.get(number) else { return false };
        self.journal.note(Write::Change(number, entry.value))
    }

    fn has_keys(&self, number: u32, key: &K, reply: &K) -> bool {
        self.entries.get(number).is_some_and(|entry| {
            (entry.key == *key && entry.reply == *reply)
                || (entry.key == *reply && entry.reply == *key)
        })
    }

    fn overwrite(&mut self, number: u32, value: V) -> Result<(), InsertError> {
        if !self.note_change(number) {
            return Err(InsertError::Full);
        }
        if let Some(entry) = self.entries.get_mut(number) {
            entry.value = value;
            entry.used.set(self.visit.now.max(entry.used.get()));
        }
        Ok(())
    }

    /// Takes an entry out, so that it can be put back until the packet is through.
    fn take_out(&mut self, number: u32) -> bool {
        if !self.visit.undo {
            self.release(number);
            return true;
        }
        let noted = self.journal.note(Write::Remove(number));
        if noted {
            self.hide(number);
        }
        noted
    }

    /// Gives an entry the place that is next.
    fn place(&mut self, number: u32, entry: Entry<K, V>) {
        match self.entries.get_mut(number) {
            Some(free) => {
                self.free = free.flow_links.next;
                *free = entry;
            }
            // The next one that was never used.
            None => drop(self.entries.push(entry)),
        }
    }

    /// Makes a placed entry part of everything it hangs in.
    fn settle(&mut self, number: u32, flow: u32) {
        self.show(number);
        let used = self.entries.get(number).map_or(0, |entry| entry.used.get());
        self.hang(number, used);
        self.join_flow(number, flow);
    }

    /// Lets keys find the entry.
    fn show(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        entry.alive = true;
        self.alive += 1;
        let (key, reply) = (entry.key, entry.reply);
        self.index.insert(self.hasher.hash(&key.words()), number);
        if reply != key {
            self.index.insert(self.hasher.hash(&reply.words()), number);
        }
    }

    /// Lets keys find the entry no more.
    fn hide(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number).filter(|entry| entry.alive) else { return };
        entry.alive = false;
        self.alive -= 1;
        let (key, reply) = (entry.key, entry.reply);
        self.index.remove(self.hasher.hash(&key.words()), number);
        if reply != key {
            self.index.remove(self.hasher.hash(&reply.words()), number);
        }
    }

    /// Takes a hidden entry out of all it hangs in.
    fn free(&mut self, number: u32) {
        self.unhang(number);
        self.leave_flow(number);
        if let Some(entry) = self.entries.get_mut(number) {
            entry.flow_links = Links { previous: NONE, next: self.free };
            self.free = number;
        }
    }
}
