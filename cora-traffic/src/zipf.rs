//! Zipf's law by rejection-inversion (Hörmann and Derflinger, 1996), in fixed point: a draw costs
//! the same for any number of ranks, and every machine draws the same.
//!
//! With `h(x) = x^-s`, `H` its integral and `H'` the inverse of `H`:
//! 1. draw `u` between `H(N + 1/2)` and `H(3/2) - 1`, and let `x = H'(u)`, `k = round(x)`;
//! 2. take `k` when `k - x` is at most the constant of the short cut;
//! 3. else take `k` when `u >= H(k + 1/2) - h(k)`; else draw again.

use crate::random::Random;

/// 1 in fixed point, with 32 fractional bits.
const ONE: i128 = 1 << 32;

/// Draws ranks from 0 to `ranks - 1`, the first most often.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    ranks: i128,
    /// The exponent, in thousandths; not 1000, where the integral is a logarithm.
    exponent: i128,
    low: i128,
    high: i128,
    short_cut: i128,
    /// `2^(1/2)`, `2^(1/4)`, … with 62 fractional bits.
    roots: [u128; 32],
}

impl Zipf {
    pub(crate) fn new(ranks: u64, thousandths: u16) -> Self {
        let mut root = 2_u128 << 62;
        let roots = std::array::from_fn(|_| {
            root = (root << 62).isqrt();
            root
        });
        let exponent = if thousandths == 1000 { 1001 } else { i128::from(thousandths) };
        let ranks = i128::from(ranks.clamp(1, 1 << 30));
        let mut zipf = Self { ranks, exponent, low: 0, high: 0, short_cut: 0, roots };
        zipf.low = zipf.integral(ranks * ONE + ONE / 2);
        zipf.high = zipf.integral(ONE + ONE / 2) - ONE;
        let two = zipf.integral(2 * ONE + ONE / 2) - zipf.density(2 * ONE);
        zipf.short_cut = 2 * ONE - zipf.inverse(two);
        zipf
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let width = (self.low - self.high).unsigned_abs() as u64;
            let u = self.high + i128::from(random.below(width));
            let x = self.inverse(u);
            let rank = ((x + ONE / 2) >> 32).clamp(1, self.ranks);
            let near = rank * ONE - x <= self.short_cut;
            if near || u >= self.integral(rank * ONE + ONE / 2) - self.density(rank * ONE) {
                return rank.unsigned_abs() as u64 - 1;
            }
        }
    }

    fn density(&self, x: i128) -> i128 {
        self.exp2(-self.exponent * log2(x) / 1000)
    }

    /// Returns `(x^(1-s) - 1) / (1-s)`.
    fn integral(&self, x: i128) -> i128 {
        let rest = 1000 - self.exponent;
        (self.exp2(rest * log2(x) / 1000) - ONE) * 1000 / rest
    }

    /// Returns `(1 + u (1-s))^(1/(1-s))`.
    fn inverse(&self, u: i128) -> i128 {
        let rest = 1000 - self.exponent;
        let base = (ONE + u * rest / 1000).max(1);
        self.exp2(log2(base) * 1000 / rest)
    }

    fn exp2(&self, x: i128) -> i128 {
        let mut product = 1_u128 << 62;
        for (place, root) in self.roots.iter().enumerate() {
            if x & (1 << (31 - place)) != 0 {
                product = (product * root) >> 62;
            }
        }
        let shift = (x >> 32) - 30;
        let moved = if shift < 0 { product >> (-shift).min(127) } else { product << shift.min(32) };
        moved.cast_signed()
    }
}

/// Returns the binary logarithm of a positive number, digit by digit.
fn log2(x: i128) -> i128 {
    let whole = 127 - i128::from(x.leading_zeros());
    let mut rest = if whole > 62 { x >> (whole - 62) } else { x << (62 - whole) }.unsigned_abs();
    let mut result = whole - 32;
    for _ in 0..32 {
        rest = (rest * rest) >> 62;
        let digit = rest >> 63;
        rest >>= digit;
        result = (result << 1) | digit.cast_signed();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares known from the sum of `k^-s`: rank 1, ranks 1 to 10, in thousandths.
    #[test]
    fn ranks_get_their_shares() {
        for (ranks, exponent, first, ten) in
            [(1_000, 990, 129, 382), (10_000, 1_100, 151, 406), (1_000, 1_260, 263, 619)]
        {
            let zipf = Zipf::new(ranks, exponent);
            let mut random = Random::new(1);
            let draws: Vec<u64> = (0..100_000).map(|_| zipf.draw(&mut random)).collect();
            let share = |below| draws.iter().filter(|&&rank| rank < below).count() / 100;
            assert!(share(1).abs_diff(first) < 6, "rank 1 of {ranks}: {}", share(1));
            assert!(share(10).abs_diff(ten) < 8, "ranks 1 to 10 of {ranks}: {}", share(10));
            assert!(draws.iter().all(|&rank| rank < ranks));
        }
    }

    #[test]
    fn one_rank_is_always_drawn() {
        let mut random = Random::new(1);
        assert!((0..100).all(|_| Zipf::new(1, 1_100).draw(&mut random) == 0));
    }
}
