//! Replicas of durable entries and singletons in memory that outlives the host process.
//!
//! Each replica of an entry has a slot. A changed replica is written to a free slot, under a number
//! of its own; then that number is committed, by one store; then the old slot is freed. A process
//! killed at any point in between leaves the older replica, the newer one, or both; then the higher
//! number wins. Numbers after the committed one are void. So a burst's changes of singletons and
//! entries take effect at once: one number commits all of them. A replica that ends with the burst
//! is marked with the number at which it ends.
//!
//! The next host checks a slot's contents against a checksum. Within the process an index finds
//! replicas by key and by flow.
//!
//! ```text
//! header │ slots in use so far │ committed 48, its check 16 │
//! singletons │ blocks … │
//! slot   │ number 48, holder 8, kind 8 │ checksum 32, state 16, key 8, group 8 │ piece 64 │
//!        │ group … piece … │
//! ```

mod index;
pub(crate) mod singletons;
pub(crate) mod store;

use std::sync::atomic::{AtomicU64, Ordering, fence};

use cora_runtime::durability::{Holder, Replica, ReplicaStore};

use index::Index;
use singletons::{Singletons, Sized};
use store::store;

/// Words before the first slot.
const HEADER_WORDS: usize = 8;
/// Words before a slot's contents.
const HEAD: usize = 3;
const VALID: u64 = 0x5a;
/// The replica is valid until its number is committed.
const ENDS: u64 = 0x5b;
/// Slots in addition to those for all entries: a burst writes new replicas before its old ones are
/// freed.
const SPARE: usize = 256;
/// The first number. A single flipped bit can't turn one into that of an empty block.
const FIRST: u64 = 256;

/// Replicas in shared memory.
#[derive(Debug)]
pub(crate) struct SharedReplicas {
    words: &'static [AtomicU64],
    /// Words before the first slot.
    before: usize,
    slot_words: usize,
    singletons: Singletons,
    /// The replicas, each with its slot.
    copies: Index<usize>,
    free: Vec<usize>,
    /// Slots in use so far.
    made: usize,
    number: u64,
    /// Between [`ReplicaStore::begin`] and [`ReplicaStore::commit`]: the last number before the
    /// changes that take effect at once.
    began: Option<u64>,
    /// Slots to be freed at the commit.
    ended: Vec<usize>,
    /// Number of slots with a wrong checksum.
    pub(crate) damaged: u64,
}

/// The layout of entries and singletons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    /// Bytes of the longest entry.
    pub(crate) entry: usize,
    /// Bytes of a group key.
    pub(crate) group: usize,
    /// The singletons.
    pub(crate) singletons: &'a [Sized],
}

/// Bytes for this many replicas of entries, and for the singletons.
pub(crate) fn bytes(copies: usize, shape: Shape<'_>) -> usize {
    let slots = (copies + SPARE) * slot_words(shape.entry, shape.group);
    (HEADER_WORDS + singletons::words(shape.singletons) + slots) * 8
}

const fn slot_words(entry: usize, group: usize) -> usize {
    HEAD + (entry + group).div_ceil(8)
}

/// The singletons with a damaged replica in this memory.
pub(crate) fn damaged(words: &'static [AtomicU64], shape: Shape<'_>) -> Vec<u16> {
    open_singletons(words, shape, committed(words)).damaged().collect()
}

fn open_singletons(
    words: &'static [AtomicU64],
    shape: Shape<'_>,
    committed: Option<u64>,
) -> Singletons {
    let room = words.get(HEADER_WORDS..).unwrap_or_default();
    let (blocks, _) = room.split_at(singletons::words(shape.singletons).min(room.len()));
    Singletons::open(blocks, shape.singletons, committed)
}

/// The last committed number; `None` if it is damaged.
fn committed(words: &[AtomicU64]) -> Option<u64> {
    let word = words.get(1).map_or(0, |word| word.load(Ordering::Acquire));
    let number = word >> 16;
    (word == with_check(number) || word == 0).then_some(number)
}

const fn with_check(number: u64) -> u64 {
    number << 16 | number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48
}

impl SharedReplicas {
    /// Opens the replicas in this memory.
    pub(crate) fn open(words: &'static [AtomicU64], shape: Shape<'_>) -> Self {
        Self::open_committed(words, shape, committed(words))
    }

    /// Opens the replicas of a build without commits: each is valid by itself.
    pub(crate) fn open_uncommitted(words: &'static [AtomicU64], shape: Shape<'_>) -> Self {
        Self::open_committed(words, shape, Some(u64::MAX >> 16))
    }

    fn open_committed(
        words: &'static [AtomicU64],
        shape: Shape<'_>,
        committed: Option<u64>,
    ) -> Self {
        let mut replicas = Self {
            words,
            before: HEADER_WORDS + singletons::words(shape.singletons),
            slot_words: slot_words(shape.entry, shape.group),
            singletons: open_singletons(words, shape, committed),
            copies: Index::default(),
            free: Vec::new(),
            made: 0,
            number: FIRST,
            began: None,
            ended: Vec::new(),
            damaged: 0,
        };
        let made = replicas.word(0).map_or(0, |word| word.load(Ordering::Acquire)) as usize;
        replicas.made = made.min(replicas.room());
        for slot in 0..replicas.made {
            replicas.read(slot, committed);
        }
        replicas.number =
            replicas.number.max(committed.filter(|it| *it < u64::MAX >> 16).unwrap_or(0));
        replicas
    }

    /// Number of slots.
    const fn room(&self) -> usize {
        self.words.len().saturating_sub(self.before) / self.slot_words
    }

    fn word(&self, at: usize) -> Option<&'static AtomicU64> {
        self.words.get(at)
    }

    fn slot(&self, slot: usize) -> &'static [AtomicU64] {
        let first = self.before + slot * self.slot_words;
        self.words.get(first..first + self.slot_words).unwrap_or_default()
    }

    /// Invalidates the replica of this singleton, which decodes to no value: it is damaged from now
    /// on.
    pub(crate) fn void(&self, state: u16) {
        self.singletons.void(state);
    }

    /// The singletons with damaged replicas.
    pub(crate) fn damaged_singletons(&self) -> Vec<u16> {
        self.singletons.damaged().collect()
    }

    /// Reads the slot into the index.
    fn read(&mut self, slot: usize, committed: Option<u64>) {
        let words = self.slot(slot);
        let load = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Acquire));
        let mut first = load(0);
        let is_committed = committed.is_some_and(|committed| first >> 16 <= committed);
        self.number = self.number.max(first >> 16);
        match (first & 0xff, is_committed) {
            (VALID, true) => {}
            // Its end belongs to a commit that did not happen, so it has no newer replica. Without
            // a number it counts as older than any replica that it is compared with below.
            (ENDS, false) if committed.is_some() => {
                first = first & 0xff00 | VALID;
                self.set_first(slot, first);
            }
            (VALID, false) if committed.is_none() => {
                self.damaged += 1;
                return self.clear(slot);
            }
            (VALID | ENDS, _) => return self.clear(slot),
            _ => {
                self.free.push(slot);
                return;
            }
        }
        let number = first >> 16;
        let (second, piece) = (load(1), load(2) as usize);
        let (state, key, group) =
            ((second >> 16) as u16, usize::from((second >> 8) as u8), usize::from(second as u8));
        let body: Vec<u8> = (HEAD..words.len()).flat_map(|at| load(at).to_le_bytes()).collect();
        let held = body.get(..group.saturating_add(piece)).filter(|held| {
            piece >= key && checksum(state, key, group, held) == (second >> 32) as u32
        });
        let Some((group, piece)) = held.map(|held| held.split_at(group)) else {
            self.damaged += 1;
            self.clear(slot);
            return;
        };
        let key = &piece[..key];
        let other = self.copies.place(state, key).and_then(|other| self.slot(other).first());
        if other.is_some_and(|first| first.load(Ordering::Relaxed) >> 16 >= number) {
            return self.clear(slot);
        }
        let holder = holder(first >> 8);
        let older = self.copies.put(&Replica { state, holder, group, key, piece }, slot);
        self.end(older);
    }

    /// Frees the slot.
    fn clear(&mut self, slot: usize) {
        self.set_first(slot, 0);
        self.free.push(slot);
    }

    fn set_first(&self, slot: usize, value: u64) {
        if let Some(first) = self.slot(slot).first() {
            store(first, value, Ordering::Release);
        }
    }

    /// Ends these replicas with the commit of the current writes.
    fn end(&mut self, slots: impl IntoIterator<Item = usize>) {
        for slot in slots {
            let first = self.slot(slot).first().map_or(0, |word| word.load(Ordering::Relaxed));
            if self.began.is_none_or(|began| first >> 16 > began) {
                self.clear(slot);
                continue;
            }
            self.ended.push(slot);
            self.number += 1;
            self.set_first(slot, self.number << 16 | first & 0xff00 | ENDS);
        }
    }

    /// Commits all writes.
    fn commit_all(&mut self) {
        if let Some(word) = self.word(1) {
            store(word, with_check(self.number), Ordering::Release);
        }
        self.singletons.committed();
        self.began = self.began.map(|_| self.number);
        while let Some(slot) = self.ended.pop() {
            self.clear(slot);
        }
    }

    /// An empty slot.
    fn take_slot(&mut self) -> Option<usize> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        if self.made >= self.room() {
            return None;
        }
        self.made += 1;
        if let Some(word) = self.word(0) {
            store(word, self.made as u64, Ordering::Release);
        }
        Some(self.made - 1)
    }

    fn write(&mut self, slot: usize, copy: &Replica<'_>) -> bool {
        let held = [copy.group, copy.piece].concat();
        let words = self.slot(slot);
        let (Ok(key), Ok(group)) = (u8::try_from(copy.key.len()), u8::try_from(copy.group.len()))
        else {
            return false;
        };
        if words.len() < HEAD + held.len().div_ceil(8) {
            return false;
        }
        // Orders the following stores after those that may just have freed the slot.
        fence(Ordering::Release);
        for (word, bytes) in words[HEAD..].iter().zip(held.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            store(word, u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        let sum = checksum(copy.state, key.into(), group.into(), &held);
        let second = u64::from(sum) << 32
            | u64::from(copy.state) << 16
            | u64::from(key) << 8
            | u64::from(group);
        store(&words[1], second, Ordering::Relaxed);
        store(&words[2], copy.piece.len() as u64, Ordering::Relaxed);
        self.number += 1;
        store(&words[0], first(self.number, copy.holder), Ordering::Release);
        true
    }
}

impl ReplicaStore for SharedReplicas {
    fn keep(&mut self, copy: &Replica<'_>) -> bool {
        if self.free.is_empty() && self.made >= self.room() && self.began.is_some() {
            // The changes so far take effect before the rest, the singletons first.
            self.commit_all();
        }
        let written = self.take_slot().filter(|slot| {
            let fits = self.write(*slot, copy);
            if !fits {
                self.free.push(*slot);
            }
            fits
        });
        let older = match written {
            Some(slot) => self.copies.put(copy, slot),
            None => self.copies.take(copy.state, copy.key),
        };
        if self.began.is_none() {
            self.commit_all();
        }
        self.end(older);
        written.is_some()
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        let slot = self.copies.take_of(holder, state, key);
        self.end(slot);
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        let slots = self.copies.take_all(holder, group);
        self.end(slots);
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        for slot in self.copies.assign(from, to, group) {
            if let Some(word) = self.slot(slot).first() {
                let number = word.load(Ordering::Relaxed) >> 16;
                self.set_first(slot, first(number, to));
            }
        }
    }

    fn begin(&mut self) {
        self.began = Some(self.number);
    }

    fn commit(&mut self) {
        self.commit_all();
        self.began = None;
    }

    fn keep_part(&mut self, state: u16, at: usize, part: &[u8]) {
        self.number += 1;
        self.singletons.keep(state, at, part, self.number);
        if self.began.is_none() {
            self.commit_all();
        }
    }

    fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        self.singletons.parts(state, visit)
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool {
        self.copies.find(state, key, visit)
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Replica<'_>)) {
        self.copies.each(holder, group, visit);
    }
}

/// A slot's first word.
const fn first(number: u64, holder: Holder) -> u64 {
    let holder = match holder {
        Holder::Host => 1,
        Holder::Nic => 2,
        Holder::Unsure => 3,
    };
    number << 16 | holder << 8 | VALID
}

const fn holder(byte: u64) -> Holder {
    match byte & 0xff {
        1 => Holder::Host,
        2 => Holder::Nic,
        _ => Holder::Unsure,
    }
}

/// FNV-1a over a slot without its first word.
fn checksum(state: u16, key: usize, group: usize, held: &[u8]) -> u32 {
    let head = [state.to_le_bytes(), [key as u8, group as u8]].concat();
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    head.iter().chain(held).fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests;
