//! A counter: replicas merge by addition.

use super::super::Malformed;
use super::{Replica, number};
use crate::plain::Describe;

/// A sum of packets' amounts, modulo 2⁶⁴.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    total: u64,
    /// The value before the current packet, restored by a rollback.
    before: u64,
}

impl Sum {
    /// Adds to the sum.
    #[inline]
    pub const fn add(&mut self, amount: u64) {
        self.total = self.total.wrapping_add(amount);
    }

    /// The sum. The whole is in a merged replica: a handler reads that by
    /// [`Merged`](super::Merged), reports after the run.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.total
    }
}

impl Replica for Sum {
    const EMPTY: Self = Self { total: 0, before: 0 };
    const UNITS: u32 = 1;

    /// An empty replica is all zeroes.
    #[inline]
    fn clear(&mut self) {}

    fn put_unit(&self, _: u32, out: &mut [u8]) -> usize {
        out[..8].copy_from_slice(&self.total.to_le_bytes());
        8
    }

    fn merge_unit(&mut self, _: u32, bytes: &[u8]) -> Result<(), Malformed> {
        let part = number(bytes)?;
        self.add(part);
        Ok(())
    }

    #[inline(always)]
    fn begin(&mut self, undo: bool) {
        if undo {
            self.before = self.total;
        }
    }

    #[inline]
    fn rollback(&mut self) {
        self.total = self.before;
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.number(u128::from(self.total));
    }
}
