//! Numbers that look random, from a seed: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).

/// A stream of numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below this one, which is not zero.
    pub(crate) const fn below(&mut self, most: u64) -> u64 {
        ((self.next() as u128 * most as u128) >> 64) as u64
    }

    /// A number of these, and the ends may come, too.
    pub(crate) const fn between(&mut self, least: i64, most: i64) -> i64 {
        least.wrapping_add(self.below(most.abs_diff(least) + 1) as i64)
    }

    /// An index, as often as its share says.
    pub(crate) fn one_of(&mut self, shares: &[u64]) -> usize {
        let mut at = self.below(shares.iter().sum::<u64>().max(1));
        let found = shares.iter().position(|share| {
            let is_here = at < *share;
            at = at.wrapping_sub(*share);
            is_here
        });
        found.unwrap_or(0)
    }
}
