//! Random numbers from a seed: integers only, so that every machine draws the same ones.

/// xoshiro256** (Blackman and Vigna), seeded by SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    words: [u64; 4],
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self { words: std::array::from_fn(|_| split_mix(&mut state)) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.words;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let kept = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= kept;
        *d = d.rotate_left(45);
        result
    }

    /// Returns a number less than `bound`; 0 if the bound is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true in `percent` of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns an index, drawn in proportion to the weights.
    pub(crate) fn weighted(&mut self, weights: &[u16]) -> usize {
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let mut left = self.below(total);
        for (index, &weight) in weights.iter().enumerate() {
            match left.checked_sub(u64::from(weight)) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        0
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// SplitMix64's finaliser: a good hash of one word.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_numbers() {
        let mut state = 1_234_567;
        let drawn: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(drawn, published);
    }

    #[test]
    fn weights_are_kept() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 3];
        for _ in 0..10_000 {
            seen[random.weighted(&[1, 0, 3])] += 1;
        }
        assert!((2_300..2_700).contains(&seen[0]) && seen[1] == 0, "{seen:?}");
    }
}
