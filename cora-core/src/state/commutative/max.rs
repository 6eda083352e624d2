//! A high-water mark: replicas merge by the greater value.

use super::super::Malformed;
use super::{Replica, number};
use crate::plain::Describe;

/// The greatest value that a packet raised it to; 0 without any.
#[derive(Clone, Copy, Debug)]
pub struct Max {
    value: u64,
    /// The value before the current packet.
    before: u64,
}

impl Max {
    /// Raises the mark to `value`, if that is greater.
    #[inline]
    pub const fn raise(&mut self, value: u64) {
        if value > self.value {
            self.value = value;
        }
    }

    /// The greatest value. The whole is in a merged replica: a handler
    /// reads that by [`Merged`](super::Merged), reports after the run.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }
}

impl Replica for Max {
    const EMPTY: Self = Self { value: 0, before: 0 };
    const UNITS: u32 = 1;

    /// An empty replica is all zeroes.
    #[inline]
    fn clear(&mut self) {}

    fn put_unit(&self, _: u32, out: &mut [u8]) -> usize {
        out[..8].copy_from_slice(&self.value.to_le_bytes());
        8
    }

    fn merge_unit(&mut self, _: u32, bytes: &[u8]) -> Result<(), Malformed> {
        self.raise(number(bytes)?);
        Ok(())
    }

    #[inline(always)]
    fn begin(&mut self, undo: bool) {
        if undo {
            self.before = self.value;
        }
    }

    #[inline]
    fn rollback(&mut self) {
        self.value = self.before;
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.number(u128::from(self.value));
    }
}
