//! A half's wait for the other one.

use std::hint::spin_loop;
use std::thread;

/// Empty looks before the core is yielded: there may be only one.
const SPINS: u32 = 1 << 14;

/// A wait for the other side.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        if self.is_long() { thread::yield_now() } else { spin_loop() }
    }

    /// Returns whether the latest look yielded the core: seldom enough to ask a clock, too.
    pub(crate) const fn is_long(&self) -> bool {
        self.0.is_multiple_of(SPINS)
    }
}
