//! Entries by their numbers: what records of flows and lists of changes go by.

use super::entry::Entry;
use super::raw::RawTable;
use crate::key::Key;
use crate::plain::Plain;

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Numbers below this have been given to entries.
    pub const fn made(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The entry with this number, if it is in the table.
    #[inline]
    pub fn entry(&self, number: u32) -> Option<&Entry<K, V>> {
        self.entries.get(number).filter(|entry| entry.is_alive())
    }

    /// The value of the entry with this number; no record is kept of what becomes of it.
    #[inline]
    pub fn entry_mut(&mut self, number: u32) -> Option<&mut Entry<K, V>> {
        self.entries.get_mut(number).filter(|entry| entry.is_alive())
    }

    /// The number of the entry that the key finds, expired or not.
    #[inline]
    pub fn number_of(&self, key: &K) -> Option<u32> {
        self.find(key).map(|(number, _)| number)
    }

    /// Takes the entry with this number out, without a record of it.
    pub fn release_number(&mut self, number: u32) {
        if self.entry(number).is_some() {
            self.release(number);
        }
    }

    /// Says when the entry with this number was last used; [`u64::MAX`] keeps it from expiring.
    pub fn set_used(&mut self, number: u32, used: u64) {
        if let Some(entry) = self.entry(number) {
            entry.used.set(used);
            self.hang(number, used);
        }
    }
}
