//! Zipf's law: the flow of rank `k` has packets in proportion to `k^-s`.
#![expect(clippy::cast_precision_loss, reason = "ranks added one by one are small")]

/// Ranks with terms added individually; beyond, the Euler–Maclaurin formula is exact to the last
/// digits.
const ONE_BY_ONE: usize = 1024;

/// The sums of the first `n` terms, for any `n`.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    exponent: f64,
    /// Sum of the first `i` terms at index `i`.
    first: Vec<f64>,
    total: f64,
}

impl Zipf {
    /// The law for this many flows, 1 or more, and this exponent, 0 or more.
    pub(super) fn new(flows: f64, exponent: f64) -> Self {
        let mut first = vec![0.0];
        for rank in 1..=ONE_BY_ONE {
            let term = libm::pow(rank as f64, -exponent);
            first.push(first[rank - 1] + term);
        }
        let mut zipf = Self { exponent, first, total: 1.0 };
        zipf.total = zipf.sum(flows);
        zipf
    }

    /// Share of packets in the `flows` heaviest flows.
    pub(super) fn share(&self, flows: f64) -> f64 {
        self.sum(flows) / self.total
    }

    /// The sum of the first `n` terms. As long as terms are added individually, it is linear
    /// between whole numbers.
    fn sum(&self, n: f64) -> f64 {
        #[expect(clippy::cast_sign_loss, reason = "a number of flows")]
        let below = n.floor() as usize;
        if below < ONE_BY_ONE {
            let low = self.first[below];
            return low + (n - n.floor()) * (self.first[below + 1] - low);
        }
        let a = ONE_BY_ONE as f64;
        let (at_a, at_n) = (libm::pow(a, -self.exponent), libm::pow(n, -self.exponent));
        let slope = -self.exponent * (at_n / n - at_a / a);
        self.first[ONE_BY_ONE] + self.integral(a, n) + (at_n - at_a) / 2.0 + slope / 12.0
    }

    /// The integral of `x^-s` from `a` to `b`, without cancellation near `s = 1`.
    fn integral(&self, a: f64, b: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        let log = libm::log(b / a);
        if rest == 0.0 { log } else { libm::pow(a, rest) * libm::expm1(rest * log) / rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_the_sum() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.000_001, 1.26, 2.5] {
            let zipf = Zipf::new(50_000.0, exponent);
            let plain: f64 = (1..=50_000).rev().map(|k| f64::powf(f64::from(k), -exponent)).sum();
            assert!((zipf.total / plain - 1.0).abs() < 1e-12, "{exponent}: {} {plain}", zipf.total);
        }
    }

    #[test]
    fn shares_end_at_one() {
        let zipf = Zipf::new(7.0, 1.1);
        assert!((zipf.share(7.0) - 1.0).abs() < 1e-15);
        assert!(zipf.share(0.0).abs() < 1e-15);
    }
}
