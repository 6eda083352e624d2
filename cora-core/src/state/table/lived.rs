//! Values with the time of their insertion, for entries that end some time after it, used or not:
//! `#[state(life = …)]`.
//!
//! The time stands in front of the value and goes wherever that goes: into the undo log, to the
//! other side, into replicas, to hooks. So all of them agree about the end of the entry. It is in
//! the line that a hit reads anyway. Tables of other states keep the bare value, and none of this
//! code is compiled for them.

use core::time::Duration;

use super::super::Keyed;
use crate::plain::{Describe, Plain};

/// In place of a time (ns): it never comes.
pub const NEVER: u64 = u64::MAX;

/// What a table keeps of a value of type `S`.
pub trait Holds<S>: Plain {
    /// For an entry that is inserted at `now`.
    fn begin(value: S, now: u64) -> Self;

    /// The program's value.
    fn value(&self) -> &S;

    /// The same, mutable.
    fn value_mut(&mut self) -> &mut S;

    /// When the entry was inserted (ns of packet time), if that is known.
    fn inserted(&self) -> Option<u64>;
}

impl<S: Plain> Holds<S> for S {
    #[inline(always)]
    fn begin(value: S, _: u64) -> Self {
        value
    }

    #[inline(always)]
    fn value(&self) -> &S {
        self
    }

    #[inline(always)]
    fn value_mut(&mut self) -> &mut S {
        self
    }

    #[inline(always)]
    fn inserted(&self) -> Option<u64> {
        None
    }
}

/// Bytes of the time of the insertion, in front of the encoded value.
const STAMP: usize = 8;

/// A value, and when it was inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lived<S> {
    inserted: u64,
    value: S,
}

impl<S: Keyed> Holds<S> for Lived<S> {
    #[inline(always)]
    fn begin(value: S, now: u64) -> Self {
        Self { inserted: now, value }
    }

    #[inline(always)]
    fn value(&self) -> &S {
        &self.value
    }

    #[inline(always)]
    fn value_mut(&mut self) -> &mut S {
        &mut self.value
    }

    #[inline(always)]
    fn inserted(&self) -> Option<u64> {
        Some(self.inserted)
    }
}

impl<S: Keyed> Plain for Lived<S> {
    const SIZE: usize = STAMP + S::SIZE;
    const DURABLE: bool = S::DURABLE;
    const IDLE_VARIES: bool = S::IDLE_VARIES;
    const FOREVER: bool = false;
    const LIVES: bool = true;
    const UNDIRECTED: bool = S::UNDIRECTED;
    const RECORDED: bool = S::RECORDED;
    const HOOKED: bool = S::HOOKED;
    const EVICTS: bool = S::EVICTS;

    fn put(&self, out: &mut [u8]) {
        self.inserted.put(out);
        if let Some(behind) = out.get_mut(STAMP..) {
            self.value.put(behind);
        }
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { inserted: u64::get(bytes)?, value: S::get(bytes.get(STAMP..)?)? })
    }

    #[inline]
    fn idle_time(&self) -> Duration {
        self.value.idle_time()
    }

    #[inline(always)]
    fn dies(&self) -> u64 {
        self.inserted.saturating_add(S::LIFE)
    }

    #[inline]
    fn is_assured(&self) -> bool {
        self.value.is_assured()
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.value.describe(to);
    }
}
