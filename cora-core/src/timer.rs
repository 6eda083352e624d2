//! Timers: functions that run at intervals of packet time (`#[every]`).
//!
//! A timer's ticks are the multiples of its period. It runs for each of them that lies behind the
//! begin of the run, before the first packet from then on, at the side that has the singletons. So
//! it runs between the same two packets under every plan. On a wire, time passes without packets,
//! too. The run begins with the [epoch](crate::state::commutative::EPOCH) of its first packet: all
//! shards are told of that.
//!
//! A timer that takes values per bucket runs for each bucket, at the shard that has it. Any other
//! one runs once, at the shard that has the first bucket.

use crate::state::commutative::{EPOCH, epoch_end};

/// A tick of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its time (ns of packet time), a multiple of the period.
    pub at: u64,
}

/// After a silence of more ticks than this, those before the last so many are left out.
const MOST_BEHIND: u64 = 1_000;

/// When a timer runs next, for generated code.
#[doc(hidden)]
#[derive(Debug)]
pub struct Schedule {
    /// The next tick (ns); zero before the first packet.
    next: u64,
}

impl Schedule {
    /// Before the first packet.
    pub const BEFORE: Self = Self { next: 0 };

    /// Time has passed until `now`: the epoch of the first packet starts the timer, and a long
    /// silence leaves ticks out.
    #[inline]
    pub const fn pass(&mut self, period: u64, now: u64) {
        let behind = now.saturating_sub(self.next);
        if self.next == 0 || behind >= period.saturating_mul(MOST_BEHIND) {
            self.begin(period, now);
        }
    }

    #[cold]
    #[inline(never)]
    const fn begin(&mut self, period: u64, now: u64) {
        let since = if self.next == 0 { epoch_end(now).saturating_sub(EPOCH) } else { now };
        let Some(ticks) = since.checked_div(period) else { return };
        let first = if self.next == 0 { ticks + 1 } else { ticks - (MOST_BEHIND - 1) };
        self.next = first.saturating_mul(period);
    }

    /// When it runs next (ns).
    #[inline]
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Takes the next tick.
    #[inline]
    pub const fn take(&mut self, period: u64) -> Tick {
        let at = self.next;
        self.next = at.saturating_add(period);
        Tick { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The ticks that are due at each of these times.
    fn ticks(period: u64, times: &[u64]) -> Vec<Vec<u64>> {
        let mut schedule = Schedule::BEFORE;
        let ticks = times.iter().map(|now| {
            schedule.pass(period, *now);
            let mut due = Vec::new();
            while schedule.next() <= *now {
                due.push(schedule.take(period).at);
            }
            due
        });
        ticks.collect()
    }

    #[test]
    fn each_multiple_of_the_period_behind_the_begin_is_a_tick() {
        let ms = |times: &[u64]| times.iter().map(|time| time * 1_000_000).collect::<Vec<_>>();
        let of = |period: u64, times: &[u64]| ticks(period * 1_000_000, &ms(times));
        let seconds = of(1_000, &[2_500, 2_900, 3_000, 3_100, 5_500]);
        assert_eq!(seconds, [ms(&[]), ms(&[]), ms(&[3_000]), ms(&[]), ms(&[4_000, 5_000])]);
        assert_eq!(of(1_000, &[3_000, 4_000]), [ms(&[]), ms(&[4_000])]);
        // Whichever packet of the first epoch, or its begin, a shard is told of.
        for first in [300, 310, 399] {
            assert_eq!(of(155, &[first, 400]).concat(), ms(&[310]), "{first}");
        }
    }

    #[test]
    fn a_long_silence_leaves_ticks_out() {
        let after = ticks(EPOCH, &[EPOCH / 2, 2_000 * EPOCH + 7]);
        assert_eq!(after[1].len(), 1_000);
        assert_eq!((after[1][0], after[1][999]), (1_001 * EPOCH, 2_000 * EPOCH));
        assert_eq!(ticks(EPOCH, &[EPOCH / 2, 1_000 * EPOCH])[1].len(), 1_000);
    }
}
