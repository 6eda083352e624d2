//! The run time of a run on a capture, derived from its time stamps.
//!
//! States expire, buckets fill and flows end by this time, so it never runs backwards, and no wrong
//! stamp may stop it. Otherwise a run would stand still for hours, until the stamps catch up. It is
//! computed here, once per frame in the capture's order, and attached to the frame, so it is the
//! same under every plan.
//!
//! | a stamp | the run's time |
//! | --- | --- |
//! | is not before the time | becomes the stamp |
//! | is less than [`SLACK`] before it: frames out of order | stays |
//! | is further ahead, and most of the next stamps are not | stays: the stamp is an outlier |
//! | is further behind, and so are most of the next | advances relatively: clock was set back |
//! | is further behind, and most of the next stamps are not | stays: the stamp is an outlier |
//!
//! "Next" are the [`AHEAD`](cora_port::capture::AHEAD) frames after it. Each interface has its own
//! clock: only its own stamps decide whether its clock was set back.

/// Maximum distance of stamps that are merely out of order, in nanoseconds.
const SLACK: u64 = 1_000_000_000;

/// Counters of irregular stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Stamps before that of the previous frame.
    pub(crate) back: u64,
    /// Times that a clock was set back.
    pub(crate) set_back: u64,
    /// Outlier stamps, far from the stamps after them, which are ignored.
    pub(crate) strays: u64,
}

/// The clock of one interface.
#[derive(Clone, Copy, Debug, Default)]
struct Interface {
    /// Added to its stamps, after the clock was set back.
    offset: u64,
    /// The run time at its latest frame with a valid stamp.
    latest: u64,
}

/// The run time.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaptureClock {
    now: u64,
    last: u64,
    interfaces: Vec<Interface>,
    pub(crate) steps: Steps,
}

impl CaptureClock {
    /// The run time at a frame with this stamp and interface, followed by the frames in `next`.
    pub(crate) fn at(
        &mut self,
        stamp: u64,
        interface: u32,
        next: impl Iterator<Item = (u64, u32)> + Clone,
    ) -> u64 {
        self.steps.back += u64::from(stamp < self.last);
        self.last = stamp;
        let interface = interface as usize;
        if self.interfaces.len() <= interface {
            self.interfaces.resize(interface + 1, Interface::default());
        }
        let Interface { offset, latest } = self.interfaces[interface];
        let time = stamp.saturating_add(offset);
        let counts = if time.saturating_add(SLACK) < latest {
            self.is_set_back(interface, next)
        } else {
            time <= self.now.saturating_add(SLACK) || !self.is_ahead(time, next)
        };
        if !counts {
            self.steps.strays += 1;
            return self.now;
        }
        let clock = &mut self.interfaces[interface];
        if time.saturating_add(SLACK) < latest {
            self.steps.set_back += 1;
            clock.offset = latest.saturating_sub(stamp);
        }
        clock.latest = stamp.saturating_add(clock.offset).max(clock.latest);
        self.now = self.now.max(clock.latest);
        self.now
    }

    /// The end of the run time, so far.
    pub(crate) const fn now(&self) -> u64 {
        self.now
    }

    /// Whether most of the next frames of this interface are also far behind its latest time.
    fn is_set_back(
        &self,
        interface: usize,
        next: impl Iterator<Item = (u64, u32)> + Clone,
    ) -> bool {
        let Interface { offset, latest } = self.interfaces[interface];
        let own = next.filter(|(_, of)| *of as usize == interface);
        most(own.map(|(stamp, _)| stamp.saturating_add(offset).saturating_add(SLACK) < latest))
    }

    /// Whether most of the next frames are far behind this time. At the beginning, the run time is
    /// then set to the earliest of them.
    fn is_ahead(&mut self, time: u64, next: impl Iterator<Item = (u64, u32)> + Clone) -> bool {
        let offset = |of: u32| self.interfaces.get(of as usize).map_or(0, |clock| clock.offset);
        let times = next.map(|(stamp, of)| stamp.saturating_add(offset(of)));
        let is_ahead = most(times.clone().map(|next| next.saturating_add(SLACK) < time));
        if is_ahead && self.now == 0 {
            self.now = times.min().unwrap_or(0);
        }
        is_ahead
    }
}

/// Whether more than half are true.
fn most(all: impl Iterator<Item = bool>) -> bool {
    let balance = all.map(|is| if is { 1 } else { -1_i32 }).sum::<i32>();
    balance > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const DAY: u64 = 86_400 * SECOND;
    const BEGIN: u64 = 1_700_000_000 * SECOND;

    /// The run time at each of these frames, and the counters.
    fn times_of(frames: &[(u64, u32)]) -> (Vec<u64>, Steps) {
        let mut clock = CaptureClock::default();
        let times = (0..frames.len())
            .map(|at| {
                let next = frames[at + 1..].iter().copied().take(cora_port::capture::AHEAD);
                clock.at(frames[at].0, frames[at].1, next)
            })
            .collect();
        (times, clock.steps)
    }

    fn times(stamps: &[u64]) -> (Vec<u64>, Steps) {
        times_of(&stamps.iter().map(|stamp| (*stamp, 0)).collect::<Vec<_>>())
    }

    /// Ten frames a second.
    fn steady(count: u64) -> Vec<u64> {
        (0..count).map(|number| BEGIN + number * SECOND / 10).collect()
    }

    #[test]
    fn stamps_in_order_are_the_time() {
        let mut stamps = steady(50);
        // A long pause is not an outlier, nor is one before the last frame.
        stamps.extend([BEGIN + DAY, BEGIN + DAY + 1, BEGIN + 3 * DAY]);
        assert_eq!(times(&stamps), (stamps, Steps::default()));
    }

    #[test]
    fn frames_that_changed_places_step_back_and_no_more() {
        let mut stamps = steady(20);
        stamps.swap(7, 8);
        stamps.swap(12, 14);
        let (times, steps) = times(&stamps);
        assert!(times.is_sorted() && times[19] == stamps[19]);
        assert_eq!(steps, Steps { back: 3, ..Steps::default() });
    }

    #[test]
    fn a_stamp_a_day_ahead_stops_nothing() {
        for at in [0, 1, 10, 40, 47] {
            let mut stamps = steady(50);
            stamps[at] += DAY;
            let (times, steps) = times(&stamps);
            assert_eq!(steps.strays, 1, "at {at}");
            for (number, time) in times.iter().enumerate().filter(|(number, _)| *number != at) {
                assert_eq!(*time, BEGIN + number as u64 * SECOND / 10, "at {at}");
            }
        }
    }

    #[test]
    fn a_stamp_of_long_ago_stops_nothing() {
        for at in [1, 10, 48] {
            let mut stamps = steady(50);
            stamps[at] = 5;
            let (times, steps) = times(&stamps);
            assert_eq!(steps, Steps { back: 1, strays: 1, set_back: 0 }, "at {at}");
            assert_eq!(times[at], stamps[at - 1]);
            assert_eq!(times[at + 1], stamps[at + 1]);
        }
        let mut first = steady(5);
        first[0] = 5;
        assert_eq!(times(&first).0, first);
    }

    #[test]
    fn a_few_strays_in_a_row_stop_nothing() {
        let mut stamps = steady(50);
        stamps[20..23].iter_mut().for_each(|stamp| *stamp += DAY);
        let (times, steps) = times(&stamps);
        assert_eq!((steps.strays, times[23..] == stamps[23..]), (3, true));
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on() {
        let mut stamps = steady(100);
        stamps[50..].iter_mut().for_each(|stamp| *stamp -= 3600 * SECOND);
        let (times, steps) = times(&stamps);
        assert_eq!(steps, Steps { back: 1, set_back: 1, strays: 0 });
        assert!(times.is_sorted());
        // The step itself takes no time; all the following frames do.
        assert_eq!(times[99] - times[50], 49 * SECOND / 10);
        assert_eq!(times[50], times[49]);
    }

    #[test]
    fn a_clock_that_was_ahead_for_long_and_is_set_right_goes_on() {
        let mut stamps = steady(100);
        stamps[30..60].iter_mut().for_each(|stamp| *stamp += DAY);
        let (times, steps) = times(&stamps);
        assert_eq!((steps.set_back, times.is_sorted()), (1, true));
        assert_eq!(times[99] - times[60], 39 * SECOND / 10);
    }

    #[test]
    fn clocks_of_interfaces_that_differ_don_t_drift() {
        // Frames of two cards in any mixture; one card's clock is ten seconds behind.
        let mut frames = Vec::new();
        for (number, stamp) in steady(2000).into_iter().enumerate() {
            let second = (number * 7919 % 10) < 4;
            frames.push((if second { stamp - 10 * SECOND } else { stamp }, u32::from(second)));
        }
        let (times, steps) = times_of(&frames);
        assert_eq!(steps.set_back, 0);
        assert!(times[1999] <= BEGIN + 200 * SECOND, "{steps:?}");
        assert!(times[1999] >= BEGIN + 189 * SECOND, "{steps:?}");
    }

    proptest! {
        #[test]
        fn the_time_never_runs_backwards(
            stamps in prop::collection::vec((prop_oneof![
                any::<u64>(), BEGIN..BEGIN + 100 * SECOND, Just(0), Just(u64::MAX),
            ], 0..3_u32), 0..60),
        ) {
            prop_assert!(times_of(&stamps).0.is_sorted());
        }
    }
}
