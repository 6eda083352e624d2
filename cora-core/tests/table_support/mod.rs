//! A table modelled as a list with linear search.

use cora_core::key::Key;
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::{Direction, InsertError, Travelling};
use cora_core::state::{Line, Memory};
use std::time::Duration;

/// A key from a small space, so that keys collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Small(pub u8);

impl Plain for Small {
    const SIZE: usize = 1;
    fn put(&self, out: &mut [u8]) {
        out[0] = self.0;
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        bytes.first().copied().map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.number(u128::from(self.0));
    }
}

impl Key for Small {
    type Packed = Self;
    #[inline]
    fn pack(&self) -> Self {
        *self
    }
    #[inline]
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    fn reply(&self) -> Option<Self> {
        None
    }
    fn words(&self) -> [u64; 5] {
        [u64::from(self.0), 0, 0, 0, 0]
    }
}

/// A value, which may have its own idle time, and the time of its insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value<const VARIES: bool, const LIVES: bool = false>(pub u32, pub u64);

/// The life of entries that have one (ns).
pub const LIFE: u64 = 500;

/// The longest individual idle time of entries (ns).
pub const LONGEST: u64 = 6400;

/// The individual idle time of an entry with this value.
pub const fn said(value: u32) -> u64 {
    match value % 4 {
        0 => LONGEST,
        1 => LONGEST / 2,
        2 => LONGEST / 16,
        _ => 1,
    }
}

impl<const VARIES: bool, const LIVES: bool> Plain for Value<VARIES, LIVES> {
    const SIZE: usize = if LIVES { 12 } else { 4 };
    const IDLE_VARIES: bool = VARIES;
    const LIVES: bool = LIVES;
    fn dies(&self) -> u64 {
        self.1 + LIFE
    }
    fn idle_time(&self) -> Duration {
        Duration::from_nanos(said(self.0))
    }
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
        if LIVES {
            self.1.put(&mut out[4..]);
        }
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let inserted = if LIVES { u64::get(bytes.get(4..)?)? } else { 0 };
        u32::get(bytes).map(|number| Self(number, inserted))
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.number(u128::from(self.0));
    }
}

pub type Subject<const VARIES: bool, const LIVES: bool = false> =
    RawTable<Small, Value<VARIES, LIVES>>;

/// Number of flows that entries may belong to.
pub const FLOWS: u32 = 4;

pub fn table<const VARIES: bool, const LIVES: bool>(shape: Shape) -> Subject<VARIES, LIVES> {
    let entries = (shape.capacity + shape.spare) as usize;
    let bytes = Subject::<VARIES, LIVES>::bytes(shape) + 12 * entries + 1024;
    let lines = vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak();
    let mut memory = Memory::new(lines).with_seed(9);
    let mut table = Subject::<VARIES, LIVES>::create(&mut memory, shape).expect("there is memory");
    table.attach(&mut memory, FLOWS).expect("there is memory");
    table
}

/// An entry: key, reply key, last use, insertion, value, flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub key: Small,
    pub reply: Small,
    pub used: u64,
    pub inserted: u64,
    pub value: u32,
    pub flow: u32,
}

impl Entry {
    pub fn has(&self, key: Small) -> bool {
        self.key == key || self.reply == key
    }

    /// The encoding by the other side.
    pub fn encode(&self, lives: bool) -> Vec<u8> {
        let mut bytes = vec![self.key.0, 0, self.reply.0];
        bytes.extend(self.used.to_le_bytes());
        bytes.extend(self.value.to_le_bytes());
        if lives {
            bytes.extend(self.inserted.to_le_bytes());
        }
        bytes
    }
}

/// The expected behaviour of a table, in a simple and slow form.
#[derive(Clone, Debug)]
pub struct Model {
    pub shape: Shape,
    /// Whether entries have individual idle times.
    pub varies: bool,
    /// Whether entries end some time after their insertion.
    pub lives: bool,
    pub entries: Vec<Entry>,
    /// Keys of the entries that the packet found, among those older than the packet.
    pub touched: Vec<(Small, Small)>,
    /// Keys of the entries that it made.
    pub made: Vec<(Small, Small)>,
    pub now: u64,
    pub horizon: u64,
    pub flow: u32,
}

impl Model {
    pub fn is_alive(&self, entry: &Entry) -> bool {
        self.now < self.end_of(entry)
    }

    /// When an entry ends if it is not used again.
    fn end_of(&self, entry: &Entry) -> u64 {
        let idle = entry.used.saturating_add(self.idle_of(entry));
        if self.lives { idle.min(entry.inserted + LIFE) } else { idle }
    }

    /// The idle time of an entry.
    fn idle_of(&self, entry: &Entry) -> u64 {
        if self.varies { said(entry.value).min(self.shape.idle) } else { self.shape.idle }
    }

    pub fn alive(&self) -> Vec<Entry> {
        let mut alive: Vec<Entry> =
            self.entries.iter().copied().filter(|entry| self.is_alive(entry)).collect();
        alive.sort_unstable();
        alive
    }

    /// Entries that a table may still hold: they expired so recently that its wheel may not have
    /// examined them.
    pub fn held(&self) -> usize {
        let late = (self.shape.idle / 64).max(1);
        let held = |entry: &&Entry| self.horizon < self.end_of(entry).saturating_add(late);
        self.entries.iter().filter(held).count()
    }

    pub fn position(&self, key: Small) -> Option<usize> {
        self.entries.iter().position(|entry| entry.has(key) && self.is_alive(entry))
    }

    /// Finds an entry, which counts as use.
    pub fn find(&mut self, key: Small) -> Option<(Direction, &mut u32)> {
        let at = self.position(key)?;
        let entry = &mut self.entries[at];
        entry.used = self.now;
        if !self.made.contains(&(entry.key, entry.reply)) {
            self.touched.push((entry.key, entry.reply));
        }
        let direction = if entry.key == key { Direction::Original } else { Direction::Reply };
        Some((direction, &mut entry.value))
    }

    pub fn remove(&mut self, key: Small) -> Option<u32> {
        let at = self.position(key)?;
        Some(self.entries.remove(at).value)
    }

    /// Expired entries release their keys.
    fn bury(&mut self, keys: [Small; 2]) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|entry| self.is_alive(entry) || !keys.iter().any(|key| entry.has(*key)));
        self.entries = entries;
    }

    /// `full` is the table's answer, where the model can't know it.
    pub fn insert(
        &mut self,
        key: Small,
        reply: Small,
        value: u32,
        full: bool,
    ) -> Result<(), InsertError> {
        self.bury([key, reply]);
        let old = self.position(key);
        if let Some(at) = old {
            let entry = &mut self.entries[at];
            if [(key, reply), (reply, key)].contains(&(entry.key, entry.reply)) {
                (entry.value, entry.used, entry.inserted) = (value, self.now, self.now);
                if !self.made.contains(&(entry.key, entry.reply)) {
                    self.touched.push((entry.key, entry.reply));
                }
                return Ok(());
            }
        }
        if reply != key && self.position(reply).is_some() {
            return Err(InsertError::KeyTaken);
        }
        if full {
            return Err(InsertError::Full);
        }
        if let Some(at) = old {
            self.entries.remove(at);
        }
        let (used, inserted) = (self.now, self.now);
        self.entries.push(Entry { key, reply, used, inserted, value, flow: self.flow });
        self.made.push((key, reply));
        Ok(())
    }

    pub fn import(&mut self, entry: Entry, full: bool) -> Result<(), InsertError> {
        if self.horizon >= self.end_of(&entry) {
            return Ok(());
        }
        for key in [entry.key, entry.reply] {
            self.bury([key; 2]);
            if self.position(key).is_some() {
                return Err(InsertError::KeyTaken);
            }
        }
        if full {
            return Err(InsertError::Full);
        }
        self.entries.push(entry);
        Ok(())
    }
}
