//! One entry of a table: what a hit reads, and what hangs it together with others, which it doesn't.

use core::cell::Cell;

/// In place of an entry's number: none.
pub(super) const NONE: u32 = u32::MAX;

/// An entry, as far as a hit reads it.
#[derive(Debug)]
pub struct Entry<K, V> {
    /// When a packet last found it (ns of packet time). A cell, for being read counts as use.
    pub used: Cell<u64>,
    /// What the program keeps.
    pub value: V,
    /// The key it was inserted under.
    pub key: K,
    /// Whether keys find it.
    pub(super) alive: bool,
    /// Its other key.
    pub(super) second: Second,
    /// The wheel slot that it hangs in.
    pub(super) wheel_slot: u8,
}

/// Which other key finds an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    /// None.
    None,
    /// That of the reply direction, which follows from the first.
    Reversed,
    /// One of its own, kept beside the entries.
    Own,
}

/// The links of a doubly linked list; in a free entry, `next` is the next free one.
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
}
