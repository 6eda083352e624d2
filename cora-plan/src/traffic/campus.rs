//! Lengths of flows on a campus: the mixture fitted to thirty days of a university's border router.
//!
//! Source: P. Jurkiewicz, G. Rzym, P. Boryło, "Flow length and size distributions in campus
//! Internet traffic", Computer Communications 167 (2021), and its repository `flow-models`:
//! 4,032,376,751 flows of June 2015 at AGH Kraków, 78.58 packets and 68,411 bytes per flow. Lengths
//! in packets are, rounded up, from
//!
//! ```text
//! .3072 U(0,1)  .2465 U(0,2)  .0495 U(0,3)  .0537 U(0,4)  .1043 U(0,6)
//! .0940 GenPareto(c = 1.450289555, loc = 16, scale = 23.204632884)
//! .1448 Weibull(k = 2.296901396, scale = 9.594128279)
//! ```
//!
//! The Pareto part has an infinite mean. It is truncated where the mean equals the measured one;
//! that changes the quantiles up to 99 % by less than 2 %.
#![expect(clippy::cast_precision_loss, reason = "lengths counted one by one are small")]

/// Mean packets of a flow.
pub(super) const MEAN_PACKETS: f64 = 78.58;

/// Mean bytes of a packet: 275.9 TB in 316.9 G packets.
pub(super) const MEAN_BYTES: f64 = 870.6;

/// Mean bytes of a flow.
pub(super) const MEAN_FLOW_BYTES: f64 = 68_411.0;

/// Idle time-out of flows at the router, in seconds.
pub(super) const IDLE_SECONDS: f64 = 15.0;

/// Mean seconds between two packets of a flow. No publication says how long flows last; the router
/// ended records after 300 s. Ten packets a second are 70 kbit/s, and 7.8 s for a mean flow.
pub(super) const GAP_SECONDS: f64 = 0.1;

/// Weight and upper end of the uniform parts.
const UNIFORM: [(f64, f64); 5] =
    [(0.3072, 1.0), (0.2465, 2.0), (0.0495, 3.0), (0.0537, 4.0), (0.1043, 6.0)];

const PARETO: f64 = 0.0940;
const PARETO_SHAPE: f64 = 1.450_289_555;
const PARETO_FROM: f64 = 16.0;
const PARETO_SCALE: f64 = 23.204_632_884;

const WEIBULL: f64 = 0.1448;
const WEIBULL_SHAPE: f64 = 2.296_901_396;
const WEIBULL_SCALE: f64 = 9.594_128_279;

/// Lengths that are counted individually. Beyond, only the Pareto part remains.
const ONE_BY_ONE: usize = 4096;

/// The lengths of flows, in packets.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    /// The maximum length.
    longest: f64,
    /// Share of flows with more than `k` packets, at index `k`.
    longer: Vec<f64>,
    /// Sum of `longer` from index `k` on, to the end of the tail.
    sum: Vec<f64>,
}

impl Lengths {
    /// The published mixture, truncated at the published mean.
    pub(super) fn published() -> Self {
        let uncut: Vec<f64> = (0..ONE_BY_ONE).map(|k| mixture(k as f64)).collect();
        let (mut low, mut high) = (ONE_BY_ONE as f64, 1e9);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if Self::cut_at(middle, &uncut).sum[0] < MEAN_PACKETS {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self::cut_at(f64::midpoint(low, high), &uncut)
    }

    /// The mixture truncated at a length; `uncut` has the shares of flows with more than 0, 1, 2 …
    /// packets.
    fn cut_at(longest: f64, uncut: &[f64]) -> Self {
        let mut lengths = Self { longest, longer: Vec::new(), sum: Vec::new() };
        let beyond = mixture(longest);
        lengths.longer = uncut.iter().map(|share| (share - beyond) / (1.0 - beyond)).collect();
        lengths.sum = vec![lengths.tail(ONE_BY_ONE as f64)];
        for share in lengths.longer.iter().rev() {
            let below = lengths.sum[lengths.sum.len() - 1];
            lengths.sum.push(below + share);
        }
        lengths.sum.reverse();
        lengths
    }

    /// Packets per flow in the longest `part` of all flows: the sum over `k` of the smaller of
    /// `part` and the share of flows with more than `k` packets.
    pub(super) fn packets_of_longest(&self, part: f64) -> f64 {
        let at = self.longer.partition_point(|share| *share > part);
        if at < ONE_BY_ONE {
            return part * at as f64 + self.sum[at];
        }
        let length = self.length_beyond(part);
        // Each term is at a whole number, the middle of its unit interval.
        part * (length + 0.5) + self.tail(length + 0.5)
    }

    /// Maximum packets of this share of flows.
    #[cfg(test)]
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let at = self.longer.partition_point(|longer| *longer > 1.0 - share);
        if at < ONE_BY_ONE { at as f64 } else { self.length_beyond(1.0 - share).ceil() }
    }

    /// The length that this share of flows exceeds, in the Pareto part.
    fn length_beyond(&self, share: f64) -> f64 {
        let beyond = mixture(self.longest);
        let uncut = share * (1.0 - beyond) + beyond;
        let grown = libm::pow(PARETO / uncut, PARETO_SHAPE);
        PARETO_FROM + PARETO_SCALE * (grown - 1.0) / PARETO_SHAPE
    }

    /// The sum of the shares of flows with more than `k` packets, from `from` to the longest.
    fn tail(&self, from: f64) -> f64 {
        let from = from - 0.5;
        if from >= self.longest {
            return 0.0;
        }
        // The integral of (1 + c y)^(-1/c) is (1 + c y)^(1 - 1/c) / (c - 1).
        let whole = |x: f64| {
            let y = 1.0 + PARETO_SHAPE * (x - PARETO_FROM) / PARETO_SCALE;
            libm::pow(y, 1.0 - 1.0 / PARETO_SHAPE) * PARETO_SCALE / (PARETO_SHAPE - 1.0)
        };
        let beyond = mixture(self.longest);
        let uncut = PARETO * (whole(self.longest) - whole(from));
        (uncut - beyond * (self.longest - from)) / (1.0 - beyond)
    }
}

/// Share of flows above `x` in the published mixture.
fn mixture(x: f64) -> f64 {
    let uniform: f64 = UNIFORM.iter().map(|(weight, end)| weight * (1.0 - x / end).max(0.0)).sum();
    let grown = 1.0 + PARETO_SHAPE * (x - PARETO_FROM).max(0.0) / PARETO_SCALE;
    let pareto = PARETO * libm::pow(grown, -1.0 / PARETO_SHAPE);
    let weibull = WEIBULL * libm::exp(-libm::pow(x / WEIBULL_SCALE, WEIBULL_SHAPE));
    uniform + pareto + weibull
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_published_one() {
        let lengths = Lengths::published();
        assert!((lengths.packets_of_longest(1.0) - MEAN_PACKETS).abs() < 1e-6);
        assert!((1e5..1e6).contains(&lengths.longest), "{}", lengths.longest);
    }

    /// Quantiles of the published mixture.
    #[test]
    fn quantiles_are_those_of_the_mixture() {
        let lengths = Lengths::published();
        for (share, wanted) in [(0.5, 2.0), (0.75, 5.0), (0.9, 16.0), (0.95, 40.0)] {
            let quantile = lengths.quantile(share);
            assert!((quantile - wanted).abs() < 0.5, "{share}: {quantile}");
        }
        assert!((lengths.quantile(0.99) / 413.0 - 1.0).abs() < 0.02, "{}", lengths.quantile(0.99));
        let one = 1.0 - lengths.longer[1];
        assert!((one - 0.479).abs() < 0.001, "flows of one packet: {one}");
    }

    #[test]
    fn the_sum_is_that_of_the_terms() {
        let uncut: Vec<f64> = (0..ONE_BY_ONE).map(|k| mixture(k as f64)).collect();
        let lengths = Lengths::cut_at(9_000.0, &uncut);
        let beyond = mixture(9_000.0);
        let terms: f64 =
            (0..9_000).map(|k| (mixture(f64::from(k)) - beyond) / (1.0 - beyond)).sum();
        assert!((lengths.sum[0] / terms - 1.0).abs() < 1e-6, "{} {terms}", lengths.sum[0]);
    }
}
