//! Numbers that follow from a seed.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Draw(pub u64);

impl Draw {
    /// Returns the next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the next number, less than `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
