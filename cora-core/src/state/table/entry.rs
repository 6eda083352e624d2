//! One entry of a table, and how it hangs together with others.

use core::cell::Cell;

/// In place of an entry's number: none.
pub(super) const NONE: u32 = u32::MAX;

/// An entry.
#[derive(Debug)]
pub struct Entry<K, V> {
    /// The key it was inserted under.
    pub key: K,
    /// The key of the reply direction; equal to `key` when there is none.
    pub reply: K,
    /// When a packet last found it (ns of packet time). A cell, for being read counts as use.
    pub used: Cell<u64>,
    /// What the program keeps.
    pub value: V,
    /// Whether keys find it.
    pub(super) alive: bool,
    /// The flow that it travels with, and its neighbours among that flow's entries of this table.
    /// In a free entry, `next` is the next free one.
    pub(super) flow: u32,
    pub(super) flow_links: Links,
    /// The wheel slot that it hangs in, and its neighbours there.
    pub(super) wheel_slot: u32,
    pub(super) wheel_links: Links,
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
