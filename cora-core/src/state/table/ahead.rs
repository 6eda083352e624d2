//! What is looked up ahead for the packets of a burst, so that their handlers find the lines they need
//! in the cache.
//!
//! 1. [`RawTable::hint`] hashes a packet's key and asks for its line of the index.
//! 2. [`RawTable::guess`] reads that line, and asks for the entry that it names.
//! 3. When the packet's turn comes, its look-up tries that entry first. Whatever happened meanwhile, the
//!    entry counts only if it is alive and has the key.

use super::entry::NONE;
use super::raw::RawTable;
use crate::key::Key;
use crate::plain::Plain;
use crate::prefetch::prefetch_both;

/// Most packets of a burst.
pub const BURST: usize = 32;

/// In place of a packet's number in its burst: it was not announced.
pub const ALONE: u8 = u8::MAX;

/// What is known ahead of one packet.
#[derive(Clone, Copy, Debug)]
struct Hint<K> {
    key: Option<K>,
    hash: u64,
    /// The entry that it may find.
    entry: u32,
}

/// What is known ahead of each packet of the burst.
#[derive(Debug)]
pub(super) struct Ahead<K> {
    hints: [Hint<K>; BURST],
    /// The packet whose turn it is.
    packet: u8,
    /// The entry that it may find.
    pub(super) entry: u32,
}

impl<K: Key> Ahead<K> {
    pub(super) const NOTHING: Self = Self {
        hints: [Hint { key: None, hash: 0, entry: NONE }; BURST],
        packet: ALONE,
        entry: NONE,
    };

    /// This packet's turn has come.
    #[inline]
    pub(super) fn turn(&mut self, packet: u8) {
        self.packet = packet;
        self.entry = self.hints.get(usize::from(packet)).map_or(NONE, |hint| hint.entry);
    }

    /// The hash of the key, if it is the one that was announced for this packet.
    #[inline]
    pub(super) fn hash_of(&self, key: &K) -> Option<u64> {
        let hint = self.hints.get(usize::from(self.packet))?;
        (hint.key.as_ref() == Some(key)).then_some(hint.hash)
    }
}

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Announces the key that packet `packet` of the burst will look up, if it has one.
    #[inline(always)]
    pub fn hint(&mut self, packet: u8, key: Option<&K>) {
        let Some(hint) = self.ahead.hints.get_mut(usize::from(packet)) else { return };
        let hash = key.map_or(0, |key| self.hasher.hash(&key.words()));
        *hint = Hint { key: key.copied(), hash, entry: NONE };
        self.index.prefetch(hash);
    }

    /// Looks an announced key up, as far as one line of the index tells.
    #[inline(always)]
    pub fn guess(&mut self, packet: u8) {
        let Some(hint) = self.ahead.hints.get_mut(usize::from(packet)) else { return };
        if hint.key.is_none() {
            return;
        }
        if let Some(number) = self.index.guess(hint.hash)
            && let Some(entry) = self.entries.get(number)
        {
            prefetch_both(entry);
            hint.entry = number;
        }
    }
}
