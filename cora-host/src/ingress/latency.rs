//! How long packets take from wire to wire: a histogram of some of them.
//!
//! The wire measures, where frames leave, by the time of arrival that goes along with each. The
//! halves do nothing for it. Frames that handlers made are left out: they did not come.

use cora_runtime::link::message::Stamp;
use serde::{Serialize, Serializer};

use crate::ingress::clock::Clock;

/// One of so many frames is measured. A look at the clock takes some 25 ns.
const ONE_IN: u64 = 16;
/// Upper bound of the first class (ns): each is twice as long as the one before. Nothing on these
/// ways is faster.
const SHORTEST: u64 = 1 << 10;
/// Classes with an upper bound, the last of them some 1.1 s.
pub(crate) const CLASSES: usize = 21;

/// A histogram of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// Frames by class; the last one has no upper bound.
    counts: [u64; CLASSES + 1],
    sum_ns: u64,
    longest_ns: u64,
    /// Frames that left, measured or not.
    left: u64,
}

impl Latency {
    /// A frame leaves, by this clock: some are measured.
    pub(crate) fn leaves(&mut self, stamp: &Stamp, clock: Clock) {
        self.left += 1;
        if self.left.is_multiple_of(ONE_IN) && !stamp.is_made() {
            self.took(clock.now().saturating_sub(stamp.meta.time));
        }
    }

    /// A frame took so long.
    pub(crate) fn took(&mut self, ns: u64) {
        let class = ns.div_ceil(SHORTEST).max(1).next_power_of_two().trailing_zeros() as usize;
        if let Some(count) = self.counts.get_mut(class.min(CLASSES)) {
            *count += 1;
        }
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// The upper bounds of the classes (ns), with the frames up to each.
    pub(crate) fn up_to(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bounds = (0..CLASSES).map(|class| SHORTEST << class);
        let sums = self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        bounds.zip(sums)
    }

    /// Frames that were measured.
    pub(crate) fn frames(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their times in all (ns).
    pub(crate) const fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The bound (ns) that this many of a thousand frames stay within; the longest time where no
    /// class has them. 0 without frames.
    fn within(&self, thousandth: u64) -> u64 {
        let frames = self.frames();
        let wanted = frames.saturating_mul(thousandth).div_ceil(1000);
        let bound = self.up_to().find(|(_, frames)| *frames >= wanted);
        match bound {
            _ if frames == 0 => 0,
            Some((bound, _)) => bound.min(self.longest_ns),
            None => self.longest_ns,
        }
    }

    fn told(&self) -> Told {
        Told {
            one_in: ONE_IN,
            frames: self.frames(),
            mean_ns: self.sum_ns.checked_div(self.frames()).unwrap_or(0),
            p50_ns: self.within(500),
            p99_ns: self.within(990),
            p999_ns: self.within(999),
            longest_ns: self.longest_ns,
        }
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.told().serialize(to)
    }
}

/// The histogram, as it is told.
#[derive(Clone, Copy, Debug, Serialize)]
struct Told {
    /// One of so many frames is measured.
    one_in: u64,
    /// Frames that were measured.
    frames: u64,
    mean_ns: u64,
    /// Upper bounds, within a factor of two.
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    longest_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_the_class_that_bounds_it() {
        for ns in [0, 1, 1023, 1024, 1025, 2048, 2049, 1 << 30, (1 << 30) + 1, u64::MAX] {
            let mut latency = Latency::default();
            latency.took(ns);
            let bound = latency.up_to().find(|(_, frames)| *frames == 1).map(|(bound, _)| bound);
            let expected = (0..CLASSES).map(|class| 1024 << class).find(|bound| ns <= *bound);
            assert_eq!(bound, expected, "{ns}");
            assert_eq!((latency.frames(), latency.sum_ns()), (1, ns));
        }
    }

    #[test]
    fn a_percentile_is_a_bound_that_enough_frames_stay_within() {
        let mut latency = Latency::default();
        assert_eq!(latency.told().p99_ns, 0);
        for _ in 0..980 {
            latency.took(1_500);
        }
        for _ in 0..20 {
            latency.took(70_000);
        }
        let told = latency.told();
        assert_eq!((told.p50_ns, told.p99_ns, told.longest_ns), (2_048, 70_000, 70_000));
        assert_eq!(told.mean_ns, (980 * 1_500 + 20 * 70_000) / 1_000);
    }
}
