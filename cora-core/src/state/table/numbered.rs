//! Access to entries by number, for flow records and lists of changes.

use super::entry::Entry;
use super::raw::RawTable;
use crate::key::EntryKey;
use crate::plain::Plain;

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Exclusive upper bound of all entry numbers assigned so far.
    pub const fn made(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The entry with this number, if it is in the table.
    #[inline]
    pub fn entry(&self, number: u32) -> Option<&Entry<K, V>> {
        self.entries.get(number).filter(|entry| entry.is_alive())
    }

    /// The entry with this number, mutable; changes are not logged.
    #[inline]
    pub fn entry_mut(&mut self, number: u32) -> Option<&mut Entry<K, V>> {
        self.entries.get_mut(number).filter(|entry| entry.is_alive())
    }

    /// The number of the entry that the key finds, expired or not.
    #[inline]
    pub fn number_of(&self, key: &K) -> Option<u32> {
        self.find(key).map(|(number, _)| number)
    }

    /// Removes the entry with this number, without a log record.
    pub fn release_number(&mut self, number: u32) {
        if self.entry(number).is_some() {
            self.release(number);
        }
    }

    /// Sets the last use of the entry with this number; [`u64::MAX`] prevents its expiry.
    pub fn set_used(&mut self, number: u32, used: u64) {
        if let Some(entry) = self.entry(number) {
            entry.used.set(used);
            self.schedule(number, used);
        }
    }
}
