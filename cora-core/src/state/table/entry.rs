//! One entry of a table: what a hit reads, and what hangs it together with others, which it
//! doesn't.

use core::cell::Cell;

use super::super::NO_FLOW;
use crate::key::Key;

/// In place of an entry's number: none.
pub(super) const NONE: u32 = u32::MAX;

/// An entry, as far as a hit reads it.
#[derive(Debug)]
pub struct Entry<K: Key, V> {
    /// When a packet last found it (ns of packet time). A cell, for being read counts as use. In a
    /// free entry, the number of the next free one.
    pub used: Cell<u64>,
    /// What the program keeps.
    pub value: V,
    pub(super) key: K::Packed,
    pub(super) facts: Facts,
    /// The wheel slot that it hangs in, if it does.
    pub(super) wheel_slot: u8,
}

/// Facts about an entry, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts(u8);

impl Facts {
    /// Keys find it.
    pub(super) const ALIVE: Self = Self(1);
    /// It hangs in the wheel.
    pub(super) const HUNG: Self = Self(2);
    /// The key of the reply direction, which follows from the first, finds it too.
    pub(super) const REVERSED: Self = Self(4);
    /// A second key of its own, kept beside the entries, finds it too.
    pub(super) const OWN_REPLY: Self = Self(8);
    /// Of a durable state: it changed since it was last told.
    pub(super) const CHANGED: Self = Self(16);
    /// Of a durable state: there is a copy of it.
    pub(super) const KNOWN: Self = Self(32);
    /// Of a state that is durable and recorded: it lives on at the other side, or as a copy.
    pub(super) const MOVED: Self = Self(64);
    /// Where flows are grouped by an address: its group is the second one of its key.
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

impl<K: Key, V> Entry<K, V> {
    /// The key it was inserted under.
    #[inline(always)]
    pub fn key(&self) -> K {
        K::unpack(&self.key)
    }

    /// A packet of that time found it.
    #[inline(always)]
    pub(super) fn used_at(&self, now: u64) {
        // Not `>`: where it was just found not to have expired, this is answered by what was
        // computed for that.
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

/// The flow that an entry travels with, and its neighbours among that flow's entries of this table.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlow {
    pub(super) flow: u32,
    pub(super) links: Links,
}

impl InFlow {
    /// Of no flow.
    pub(super) const LOOSE: Self = Self { flow: NO_FLOW, links: Links::LOOSE };
}

/// An entry by itself, outside of any table: what is exported, and what travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<K, V> {
    /// The key it was inserted under.
    pub key: K,
    /// The key of the reply direction; equal to `key` when there is none.
    pub reply: K,
    /// When a packet last found it (ns of packet time).
    pub used: u64,
    /// What the program keeps.
    pub value: V,
    /// Where flows are grouped by an address: whether its group is the
    /// [second](Key::group_address) one of its key.
    pub of_second: bool,
}
