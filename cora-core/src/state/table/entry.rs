//! One entry of a table: the fields that a hit reads, and the links to other entries, which it
//! doesn't read.

use core::cell::Cell;

use super::super::NO_FLOW;
use crate::key::EntryKey;

/// In place of an entry's number: no entry.
pub(super) const NONE: u32 = u32::MAX;

/// The part of an entry that a hit reads.
#[derive(Debug)]
pub struct Entry<K: EntryKey, V> {
    /// When a packet last found it (ns of packet time). A cell, since reads count as use. In a free
    /// entry, the number of the next free one.
    pub used: Cell<u64>,
    /// The program's value.
    pub value: V,
    pub(super) key: K::Packed,
    pub(super) facts: Facts,
    /// Its wheel slot, if it is in the wheel.
    pub(super) wheel_slot: u8,
}

/// Flags of an entry, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts(u8);

impl Facts {
    /// The index has its keys.
    pub(super) const ALIVE: Self = Self(1);
    /// It is linked into the wheel.
    pub(super) const SCHEDULED: Self = Self(2);
    /// The reply key, derived from the first key, finds it too.
    pub(super) const REVERSED: Self = Self(4);
    /// A separate reply key, stored beside the entries, finds it too.
    pub(super) const OWN_REPLY: Self = Self(8);
    /// For a durable state: it changed since its last report.
    pub(super) const CHANGED: Self = Self(16);
    /// For a durable state: there is a replica of it.
    pub(super) const KNOWN: Self = Self(32);
    /// For a durable and recorded state: it lives on at the other side, or as a replica.
    pub(super) const MOVED: Self = Self(64);
    /// If flows are grouped by an address: its group is the second address of its key.
    pub(super) const OF_SECOND: Self = Self(128);
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) const fn has(self, fact: Self) -> bool {
        self.0 & fact.0 != 0
    }

    #[inline]
    #[must_use]
    pub(super) const fn with(self, fact: Self) -> Self {
        Self(self.0 | fact.0)
    }

    #[inline]
    #[must_use]
    pub(super) const fn without(self, fact: Self) -> Self {
        Self(self.0 & !fact.0)
    }
}

impl<K: EntryKey, V> Entry<K, V> {
    /// The key it was inserted under.
    #[inline(always)]
    pub fn key(&self) -> K {
        K::unpack(&self.key)
    }

    /// Records the use by a packet of time `now`.
    #[inline(always)]
    pub(super) fn used_at(&self, now: u64) {
        // Not `>`: after a check for expiry, the flags of that comparison answer `>=` too.
        if now >= self.used.get() {
            self.used.set(now);
        }
    }

    /// Whether keys find it.
    #[inline]
    pub(super) const fn is_alive(&self) -> bool {
        self.facts.has(Facts::ALIVE)
    }
}

/// The links of a doubly linked list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub(super) previous: u32,
    pub(super) next: u32,
}

impl Links {
    pub(super) const LOOSE: Self = Self { previous: NONE, next: NONE };
}

/// The flow that an entry moves with, and its neighbours in that flow's list of entries of this
/// table.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlow {
    pub(super) flow: u32,
    pub(super) links: Links,
}

impl InFlow {
    /// No flow.
    pub(super) const LOOSE: Self = Self { flow: NO_FLOW, links: Links::LOOSE };
}

/// An entry outside of any table, for export and transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<K, V> {
    /// The key it was inserted under.
    pub key: K,
    /// The key of the reply direction; equal to `key` if there is none.
    pub reply: K,
    /// When a packet last found it (ns of packet time).
    pub used: u64,
    /// The program's value.
    pub value: V,
    /// If flows are grouped by an address: whether its group is the
    /// [second](crate::key::Key::group_address) address of its key.
    pub of_second: bool,
}
