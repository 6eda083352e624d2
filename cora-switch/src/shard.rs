//! The number of a shard.

use std::fmt;

/// One core with the states that only it touches, and the queue that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

impl Shard {
    /// The shard with this number, counted from 0.
    #[inline]
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline]
    #[must_use]
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}", self.0)
    }
}
