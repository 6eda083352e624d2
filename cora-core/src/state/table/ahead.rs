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
struct Hint {
    hash: u64,
    entry: u32,
}

impl Hint {
    const NONE: Self = Self { hash: 0, entry: NONE };
}

/// What is known ahead of each packet of the burst.
#[derive(Debug)]
pub(super) struct Ahead {
    hints: [Hint; BURST],
    /// The entry that the packet whose turn it is may find.
    pub(super) entry: u32,
}

impl Ahead {
    pub(super) const NOTHING: Self = Self { hints: [Hint::NONE; BURST], entry: NONE };

    /// This packet's turn has come.
    #[inline]
    pub(super) fn turn(&mut self, packet: u8) {
        self.entry = self.hints.get(usize::from(packet)).map_or(NONE, |hint| hint.entry);
    }
}

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Announces the key that packet `packet` of the burst will look up, if it has one.
    #[inline]
    pub fn hint(&mut self, packet: u8, key: Option<&K>) {
        let Some(hint) = self.ahead.hints.get_mut(usize::from(packet)) else { return };
        *hint = Hint::NONE;
        if let Some(key) = key {
            hint.hash = self.hasher.hash(&key.words());
            self.index.prefetch(hint.hash);
        }
    }

    /// Looks an announced key up, as far as one line of the index tells.
    #[inline]
    pub fn guess(&mut self, packet: u8) {
        let Some(hint) = self.ahead.hints.get_mut(usize::from(packet)) else { return };
        // A key whose hash is 0 is looked up without help.
        if hint.hash == 0 {
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
