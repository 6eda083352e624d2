//! The scope of a table's keys: the whole program, or the group of the packet that is handled.
//!
//! `#[state(key = FiveTuple, within = Tenant)]` stores each entry under the tenant of the packet
//! that inserted it and its five-tuple. A packet finds entries of its own tenant alone, under every
//! plan. So packets that share an entry share the tenant, whatever the keys are made of, and the
//! entries may travel with their tenant's.

use core::fmt;

use crate::hash::FlowHasher;
use crate::key::{EntryKey, Key, PacketKey, Within};
use crate::packet::Packet;

/// The scope of keys of type `K`.
pub trait Scope<K: Key>: fmt::Debug + 'static {
    /// The group of all entries that one packet may find.
    type Group: Key;
    /// A key as entries store it.
    type Entry: EntryKey;
    /// The note of a table about the packet that is handled.
    type Current: Copy + fmt::Debug + Send;
    /// Whether the group is one that the program names.
    const NAMED: bool;
    /// Before the first packet.
    const NOBODY: Self::Current;

    /// The note of a table about a packet of this group.
    fn current(group: Option<Self::Group>) -> Self::Current;

    /// The key as entries store it; `None` if the packet has no group. Look-ups take it so: a
    /// closure might not be inlined into the handler.
    fn stored(current: Self::Current, key: &K) -> Option<Self::Entry>;

    /// Calls `then` with the key as entries store it; `None` if the packet has no group.
    fn with<R>(current: Self::Current, key: &K, then: impl FnOnce(&Self::Entry) -> R) -> Option<R>;

    /// The key as handlers name it.
    fn key(entry: &Self::Entry) -> &K;
}

/// A scope of keys that packets carry.
pub trait PacketScope<K: PacketKey>: Scope<K> {
    /// The packet's own key as entries store it.
    fn of_packet(packet: &Packet<'_>) -> Option<Self::Entry>;

    /// Its hash.
    fn hash_of_packet(packet: &Packet<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64>;
}

/// A key names one entry in the whole program.
#[derive(Clone, Copy, Debug)]
pub enum Everywhere {}

impl<K: Key> Scope<K> for Everywhere {
    type Group = K;
    type Entry = K;
    type Current = ();
    const NAMED: bool = false;
    const NOBODY: () = ();

    #[inline(always)]
    fn current(_: Option<K>) {}

    #[inline(always)]
    fn stored((): (), key: &K) -> Option<K> {
        Some(*key)
    }

    #[inline(always)]
    fn with<R>((): (), key: &K, then: impl FnOnce(&K) -> R) -> Option<R> {
        Some(then(key))
    }

    #[inline(always)]
    fn key(entry: &K) -> &K {
        entry
    }
}

impl<K: PacketKey> PacketScope<K> for Everywhere {
    #[inline(always)]
    fn of_packet(packet: &Packet<'_>) -> Option<K> {
        K::of_packet(packet).ok()
    }

    #[inline(always)]
    fn hash_of_packet(packet: &Packet<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        K::hash_of_packet(packet, hasher, undirected)
    }
}

/// A key names one entry in each group `G`.
#[derive(Clone, Copy, Debug)]
pub struct Each<G>(core::marker::PhantomData<G>);

impl<G: Key + Send, K: Key> Scope<K> for Each<G> {
    type Group = G;
    type Entry = Within<G, K>;
    type Current = Option<G>;
    const NAMED: bool = true;
    const NOBODY: Option<G> = None;

    #[inline]
    fn current(group: Option<G>) -> Option<G> {
        group
    }

    #[inline(always)]
    fn stored(current: Option<G>, key: &K) -> Option<Within<G, K>> {
        current.map(|group| Within { group, key: *key })
    }

    #[inline]
    fn with<R>(current: Option<G>, key: &K, then: impl FnOnce(&Within<G, K>) -> R) -> Option<R> {
        current.map(|group| then(&Within { group, key: *key }))
    }

    #[inline]
    fn key(entry: &Within<G, K>) -> &K {
        &entry.key
    }
}

impl<G: PacketKey + Send, K: PacketKey> PacketScope<K> for Each<G> {
    #[inline]
    fn of_packet(packet: &Packet<'_>) -> Option<Within<G, K>> {
        let group = G::of_packet(packet).ok()?;
        K::of_packet(packet).ok().map(|key| Within { group, key })
    }

    #[inline]
    fn hash_of_packet(packet: &Packet<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        let own: Within<G, K> = <Self as PacketScope<K>>::of_packet(packet)?;
        Some(own.hash(hasher, undirected))
    }
}
