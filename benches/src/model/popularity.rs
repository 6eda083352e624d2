//! The flow of each packet.

use crate::keys::mix;

/// The distribution of packets over flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Popularity {
    /// Every flow has equally many.
    Uniform,
    /// The flow of rank `r` has a share of `r` to the power of minus this.
    Zipf(f64),
}

impl Popularity {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Zipf(exponent) => format!("zipf {exponent:.2}"),
        }
    }

    /// Draws `count` flows below `flows`; equal in every run.
    pub(crate) fn draws(self, flows: u64, count: usize) -> Vec<u64> {
        let mut random = Random(11);
        match self {
            Self::Uniform => (0..count).map(|_| random.below(flows)).collect(),
            Self::Zipf(exponent) => {
                let numbers = shuffled(flows, &mut random);
                let mut sum = 0.0;
                let sums: Vec<f64> = (1..=flows)
                    .map(|rank| {
                        sum += (rank as f64).powf(-exponent);
                        sum
                    })
                    .collect();
                let rank = |part: f64| sums.partition_point(|below| *below <= part);
                let draw = |_| numbers[rank(random.part() * sum).min(numbers.len() - 1)];
                (0..count).map(draw).collect()
            }
        }
    }
}

/// Returns the flows in random order, so that popular flows are not the first entries.
fn shuffled(flows: u64, random: &mut Random) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..flows).collect();
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, random.below(last as u64 + 1) as usize);
    }
    numbers
}

/// `SplitMix64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    const fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns a number from 0 to less than 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(draws: &[u64], flows: usize) -> Vec<u64> {
        let mut counts = vec![0; flows];
        for flow in draws {
            counts[*flow as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn ranks_have_their_shares() {
        let draws = Popularity::Zipf(1.0).draws(1_000, 100_000);
        let counts = counts(&draws, 1_000);
        // 1 / (1 + 1/2 + … + 1/1000) = 0.1336
        assert!((13_000..13_700).contains(&counts[0]), "{}", counts[0]);
        assert!((6_300..7_000).contains(&counts[1]), "{}", counts[1]);
    }

    #[test]
    fn uniform_draws_meet_every_flow() {
        let draws = Popularity::Uniform.draws(1_000, 100_000);
        let counts = counts(&draws, 1_000);
        assert!(counts[0] < 150 && counts[999] > 60, "{} {}", counts[0], counts[999]);
    }
}
