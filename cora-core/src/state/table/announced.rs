//! Packets and messages of a burst, whose keys a table hears before their turns.

use super::super::{Announced, Keyed};
use super::Table;
use super::scope::{PacketScope, Scope as _};
use crate::key::PacketKey;
use crate::packet::Packet;

impl<S: Keyed<Key: PacketKey, Scope: PacketScope<S::Key>>> Announced for Table<S> {
    #[inline(always)]
    fn prefetch_index(&mut self, number: u8, packet: &Packet<'_>) {
        self.raw.prefetch_index_by(number, |hasher, undirected| {
            S::Scope::hash_of_packet(packet, hasher, undirected)
        });
    }

    #[inline(always)]
    fn prefetch_entry(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        self.raw.prefetch_entry(number, || S::Scope::of_packet(packet))
    }
}

impl<S: Keyed> Table<S> {
    /// Announces the key of packet `number` of a burst, as [`Announced::prefetch_index`] does with
    /// one that the packet carries itself; for generated code.
    #[doc(hidden)]
    #[inline(always)]
    pub fn prefetch_keyed(&mut self, number: u8, key: Option<&S::Key>) {
        let stored = key.and_then(|key| S::Scope::stored(self.current, key));
        self.raw.prefetch_index(number, stored.as_ref());
    }

    /// The second stage, as [`Announced::prefetch_entry`].
    #[doc(hidden)]
    #[inline(always)]
    pub fn prefetch_keyed_entry(
        &mut self,
        number: u8,
        key: impl FnOnce() -> Option<S::Key>,
    ) -> bool {
        let current = self.current;
        self.raw.prefetch_entry(number, || S::Scope::stored(current, &key()?))
    }
}
