//! A counter: replicas merge by addition.

use super::super::Malformed;
use super::{Replica, number};
use crate::plain::Describe;

/// A sum of what the packets added, modulo 2⁶⁴.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    total: u64,
    /// The packet's own part, to be taken back if it is rolled back.
    pending: u64,
}

impl Sum {
    /// Adds to the sum.
    #[inline]
    pub const fn add(&mut self, amount: u64) {
        self.total = self.total.wrapping_add(amount);
        self.pending = self.pending.wrapping_add(amount);
    }

    /// What it comes to. Only the whole value tells it: reports read it after the merge, a handler sees one side's
    /// part.
    pub const fn value(&self) -> u64 {
        self.total
    }
}

impl Replica for Sum {
    const EMPTY: Self = Self { total: 0, pending: 0 };
    const UNITS: u32 = 1;

    fn put_unit(&self, _: u32, out: &mut [u8]) -> usize {
        out[..8].copy_from_slice(&self.total.to_le_bytes());
        8
    }

    fn merge_unit(&mut self, _: u32, bytes: &[u8]) -> Result<(), Malformed> {
        self.total = self.total.wrapping_add(number(bytes)?);
        Ok(())
    }

    #[inline]
    fn commit(&mut self) {
        self.pending = 0;
    }

    #[inline]
    fn rollback(&mut self) {
        self.total = self.total.wrapping_sub(self.pending);
        self.pending = 0;
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.number(u128::from(self.total));
    }
}
