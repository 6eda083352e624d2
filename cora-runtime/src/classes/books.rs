//! Bookkeeping: the cost of a message of each class. One in [`TIMED`] is timed; mean and variance
//! move by shifts.

/// One message in so many is timed. It is a prime, so that classes that take turns are all timed.
pub const TIMED: u8 = 17;
/// A new time moves mean and variance by one part in 2 to this power.
const SHIFT: u32 = 3;
/// A class is upgraded when its tail is under this part of the limit (1 − α, α = 0.2), in 64ths.
const UNDER: u64 = 51;
/// The least that a message counts for (ns), so that a round of cheap ones ends.
const LEAST: u64 = 16;

/// The costs of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Book {
    /// Mean (ns), and variance (ns²).
    mean: u64,
    variance: u64,
    /// Messages timed so far, up to a few.
    timed: u8,
}

/// Which messages are timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Messages until the next one.
    left: u8,
}

impl Sample {
    pub(super) const NEW: Self = Self { left: 0 };

    /// Whether the next message is timed.
    #[inline(always)]
    pub(super) const fn takes(&mut self) -> bool {
        let takes = self.left == 0;
        self.left = if takes { TIMED - 1 } else { self.left - 1 };
        takes
    }
}

impl Book {
    pub(crate) const NEW: Self = Self { mean: 0, variance: 0, timed: 0 };

    /// Notes a message's time (ns).
    #[inline(never)]
    pub(crate) const fn note(&mut self, time: u64) {
        // Beyond a second every class is a heavy one, and squares fit.
        let time = if time < 1 << 30 { time } else { 1 << 30 };
        if self.timed == 0 {
            (self.mean, self.variance) = (time, 0);
        } else {
            let off = time.abs_diff(self.mean);
            let square = off * off;
            self.mean = if time < self.mean {
                self.mean - (off >> SHIFT)
            } else {
                self.mean + (off >> SHIFT)
            };
            self.variance = self.variance - (self.variance >> SHIFT) + (square >> SHIFT);
        }
        self.timed = self.timed.saturating_add(1);
    }

    /// The cost of a message of the class (ns).
    #[inline(always)]
    pub(crate) const fn cost(&self) -> u64 {
        if self.mean > LEAST { self.mean } else { LEAST }
    }

    /// Whether the tail, mean and three deviations, is at `limit` (ns) or beyond. Asked without a
    /// root.
    pub(crate) const fn is_over(&self, limit: u64) -> bool {
        if self.mean >= limit {
            return true;
        }
        let rest = limit - self.mean;
        9 * self.variance > rest.saturating_mul(rest)
    }

    /// Whether the tail is well under the limit.
    pub(crate) const fn is_under(&self, limit: u64) -> bool {
        !self.is_over(under(limit))
    }

    /// Whether enough messages were timed to judge.
    pub(crate) const fn is_known(&self) -> bool {
        self.timed >= 4
    }
}

/// (1 − α) of a limit.
pub(crate) const fn under(limit: u64) -> u64 {
    (limit / 64).saturating_mul(UNDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(times: impl Iterator<Item = u64>) -> Book {
        let mut book = Book::NEW;
        times.for_each(|time| book.note(time));
        book
    }

    #[test]
    fn classes_that_take_turns_are_all_timed() {
        let mut sample = Sample::NEW;
        let mut timed = [0; 64];
        for message in 0..64 * 17 * 3 {
            timed[message % 64] += u8::from(sample.takes());
        }
        assert_eq!(timed, [3; 64]);
    }

    #[test]
    fn the_tail_is_mean_and_three_deviations() {
        let even = book((0..1_000).map(|_| 2_000));
        assert!(!even.is_over(2_001) && even.is_over(2_000));
        let uneven = book((0..1_000).map(|at| 2_000 + at % 2 * 1_000));
        // A deviation of some 500, around 2,500.
        assert!(uneven.is_over(3_500) && !uneven.is_over(5_000));
        let float = |value: u64| f64::from(u32::try_from(value).unwrap());
        let tail = float(uneven.mean) + 3.0 * float(uneven.variance).sqrt();
        for limit in (2_000..6_000).step_by(7) {
            assert_eq!(uneven.is_over(limit), tail >= float(limit), "{limit}");
        }
    }

    #[test]
    fn a_class_at_the_limit_is_neither_over_nor_under() {
        let book = book((0..1_000).map(|_| 900));
        assert!(!book.is_over(1_000) && !book.is_under(1_000));
        assert!(book.is_under(1_200));
    }

    #[test]
    fn absurd_times_overflow_nothing() {
        let book = book([u64::MAX, 0, u64::MAX, 1].into_iter());
        assert!(book.is_over(1_000_000) && !book.is_over(u64::MAX));
    }
}
