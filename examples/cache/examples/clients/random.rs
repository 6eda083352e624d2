//! Numbers that look random, and items of which some are asked for more often than others.

/// Numbers that follow from a seed (splitmix64, Steele and others, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one.
    #[cfg(test)]
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }

    /// A number from 0 up to, and without, 1.
    pub(crate) const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Items by rank: the one at rank `n` is asked for in proportion to `n` to the power of `-skew`
/// (Zipf).
#[derive(Debug)]
pub(crate) struct Ranks(Vec<f64>);

impl Ranks {
    pub(crate) fn new(items: u32, skew: f64) -> Self {
        let mut sum = 0.0;
        let sums = (1..=items).map(|rank| {
            sum += f64::from(rank).powf(-skew);
            sum
        });
        Self(sums.collect())
    }

    /// An item.
    pub(crate) fn item(&self, random: &mut Random) -> u32 {
        let place = random.unit() * self.0.last().copied().unwrap_or(0.0);
        let item = self.0.partition_point(|sum| *sum <= place);
        item.min(self.0.len().saturating_sub(1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_ranks_come_more_often() {
        let (ranks, mut random, mut counts) = (Ranks::new(100, 1.0), Random::new(3), [0; 100]);
        for _ in 0..100_000 {
            counts[ranks.item(&mut random) as usize] += 1;
        }
        // The harmonic number of 100 is 5.187.
        assert!((18_500..20_100).contains(&counts[0]), "{counts:?}");
        assert!(counts[0] > counts[1] && counts[1] > counts[9] && counts[99] > 0, "{counts:?}");
    }
}
