//! Keys as entries store them.

use core::fmt;

use super::{Address, Key};
use crate::bucket::End;
use crate::hash::FlowHasher;
use crate::plain::{Describe, Plain};

/// A key as a table's entries store it: a [`Key`], or a key [within](Within) a group.
pub trait EntryKey: Plain + Eq + fmt::Debug {
    /// The key without padding, as entries store it.
    type Packed: Copy + fmt::Debug + Send + 'static;

    /// Packs the key.
    fn pack(&self) -> Self::Packed;

    /// Restores a packed key.
    fn unpack(packed: &Self::Packed) -> Self;

    /// The key of packets in the reply direction; see [`Key::reply`].
    fn reply(&self) -> Option<Self>;

    /// The address to group packets by; see [`Key::group_address`].
    fn group_address(&self, second: bool) -> Option<Address>;

    /// The port at an end of the flow; see [`Key::port_at`].
    fn port_at(&self, end: End) -> Option<u16>;

    /// Words that tell keys apart: those of [`Key::words`], or a hash for a key that is within a
    /// group.
    fn words(&self) -> [u64; 5];

    /// The key's hash; see [`Key::hash`].
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64;
}

impl<K: Key> EntryKey for K {
    type Packed = <K as Key>::Packed;

    #[inline(always)]
    fn pack(&self) -> Self::Packed {
        Key::pack(self)
    }

    #[inline(always)]
    fn unpack(packed: &Self::Packed) -> Self {
        Key::unpack(packed)
    }

    #[inline(always)]
    fn reply(&self) -> Option<Self> {
        Key::reply(self)
    }

    #[inline(always)]
    fn group_address(&self, second: bool) -> Option<Address> {
        Key::group_address(self, second)
    }

    #[inline(always)]
    fn port_at(&self, end: End) -> Option<u16> {
        Key::port_at(self, end)
    }

    #[inline(always)]
    fn words(&self) -> [u64; 5] {
        Key::words(self)
    }

    #[inline(always)]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        Key::hash(self, hasher, undirected)
    }
}

/// A key within a group: the same key in two groups names two entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Within<G, K> {
    /// The group.
    pub group: G,
    /// The key, which is unique in the group.
    pub key: K,
}

impl<G: Plain, K: Plain> Plain for Within<G, K> {
    const SIZE: usize = G::SIZE + K::SIZE;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.group.put(out);
        if let Some(rest) = out.get_mut(G::SIZE..) {
            self.key.put(rest);
        }
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { group: G::get(bytes)?, key: K::get(bytes.get(G::SIZE..)?)? })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("group");
        self.group.describe(to);
        to.field("key");
        self.key.describe(to);
        to.close();
    }
}

/// A packed key within a packed group.
#[derive(Clone, Copy, Debug)]
pub struct PackedWithin<G, K> {
    group: G,
    key: K,
}

impl<G: Key, K: Key> EntryKey for Within<G, K> {
    type Packed = PackedWithin<<G as Key>::Packed, <K as Key>::Packed>;

    #[inline]
    fn pack(&self) -> Self::Packed {
        PackedWithin { group: Key::pack(&self.group), key: Key::pack(&self.key) }
    }

    #[inline]
    fn unpack(packed: &Self::Packed) -> Self {
        Self { group: Key::unpack(&packed.group), key: Key::unpack(&packed.key) }
    }

    #[inline]
    fn reply(&self) -> Option<Self> {
        Some(Self { group: self.group, key: Key::reply(&self.key)? })
    }

    #[inline]
    fn group_address(&self, _: bool) -> Option<Address> {
        None
    }

    #[inline]
    fn port_at(&self, _: End) -> Option<u16> {
        None
    }

    fn words(&self) -> [u64; 5] {
        // Rotated, so that a group and a key of equal bits don't cancel out.
        let (group, key) = (Key::words(&self.group), Key::words(&self.key));
        core::array::from_fn(|at| {
            key[at] ^ group[at].wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }

    #[inline]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        let group = Key::hash(&self.group, hasher, false);
        hasher.hash_pair([group, Key::hash(&self.key, hasher, undirected)])
    }
}
