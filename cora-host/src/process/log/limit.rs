//! The limit of lines of one kind: some at once, then one now and then. The others are counted, and
//! the log tells their number.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Line;
use super::levels::{Level, Part};

/// How many lines of a kind are written at once.
const AT_ONCE: u32 = 10;
/// How often one more is written then.
const EVERY: Duration = Duration::from_secs(1);
/// The same for words without a header: a panic with its backtrace is many lines.
const AT_ONCE_BARE: u32 = 200;
const EVERY_BARE: Duration = Duration::from_millis(100);
/// How long after the first suppressed line their number is told.
const TELL_AFTER: Duration = Duration::from_secs(10);

/// The number of a call site, or of a process whose words have none.
pub(super) type Site = u64;

/// Lines of one kind have one call site.
type Kind = (Part, Level, Site);

/// The lines of a kind that may still be written.
#[derive(Debug)]
struct Bucket {
    tokens: u32,
    most: u32,
    every: Duration,
    /// Up to when tokens were added.
    filled: Duration,
    /// Lines that were not written since then, and the last of them.
    suppressed: u64,
    since: Duration,
    last: String,
}

impl Bucket {
    fn new(is_bare: bool, now: Duration) -> Self {
        let (most, every) = if is_bare { (AT_ONCE_BARE, EVERY_BARE) } else { (AT_ONCE, EVERY) };
        let (suppressed, since, last) = (0, now, String::new());
        Self { tokens: most, most, every, filled: now, suppressed, since, last }
    }

    /// Takes a token, if there is one.
    fn take(&mut self, now: Duration) -> bool {
        let more = now.saturating_sub(self.filled).as_nanos() / self.every.as_nanos().max(1);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        if more >= self.most.saturating_sub(self.tokens) {
            (self.tokens, self.filled) = (self.most, now);
        } else {
            self.tokens += more;
            self.filled += self.every * more;
        }
        let has_one = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        has_one
    }
}

/// The limits of all kinds, on a clock of the caller.
#[derive(Debug, Default)]
pub(super) struct Limit(BTreeMap<Kind, Bucket>);

impl Limit {
    /// Whether this line may be written now. Otherwise it is counted.
    pub(super) fn admits(&mut self, line: &Line, now: Duration) -> bool {
        let kind = (line.part, line.level, line.site);
        let bucket = self.0.entry(kind).or_insert_with(|| Bucket::new(line.is_bare, now));
        // The count is told before other lines of the kind follow.
        if bucket.take(now) {
            return true;
        }
        if bucket.suppressed == 0 {
            bucket.since = now;
        }
        bucket.suppressed += 1;
        bucket.last.clone_from(&line.text);
        false
    }

    /// When the next number is to be told.
    pub(super) fn next(&self) -> Option<Duration> {
        let waiting = self.0.values().filter(|bucket| bucket.suppressed > 0);
        waiting.map(|bucket| bucket.since + TELL_AFTER).min()
    }

    /// The lines that tell how many were suppressed: those that are due, or all at the end.
    pub(super) fn told(&mut self, now: Duration, all: bool) -> Vec<Line> {
        let is_due = |bucket: &Bucket| all || now >= bucket.since + TELL_AFTER;
        let due = self.0.iter_mut().filter(|(_, bucket)| bucket.suppressed > 0 && is_due(bucket));
        let line = |((part, level, site), bucket): (&Kind, &mut Bucket)| {
            let number = std::mem::take(&mut bucket.suppressed);
            let seconds = now.saturating_sub(bucket.since).as_secs_f64();
            let last = std::mem::take(&mut bucket.last);
            let text = format!("… {number} more like it in the last {seconds:.0} s, as: {last}");
            // Lines that count were held back, at whatever level they are.
            Line { site: *site, is_event: true, ..Line::now(*part, *level, text) }
        };
        due.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(site: Site, text: &str) -> Line {
        Line { site, ..Line::now(Part::Ports, Level::Warn, text.to_owned()) }
    }

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn ten_lines_come_at_once_then_one_a_second_and_the_others_are_told() {
        let mut limit = Limit::default();
        let admitted = |limit: &mut Limit, times: u32, now| {
            (0..times).filter(|n| limit.admits(&line(1, &format!("line {n}")), now)).count()
        };
        assert_eq!(admitted(&mut limit, 1000, at(0)), 10);
        assert_eq!(limit.next(), Some(TELL_AFTER));
        assert_eq!(admitted(&mut limit, 5, at(999)), 0);
        assert_eq!(admitted(&mut limit, 5, at(1000)), 1);
        assert_eq!(admitted(&mut limit, 5, at(1500)), 0);
        assert_eq!(admitted(&mut limit, 5, at(2000)), 1, "the half second counts");
        assert!(limit.told(at(9_999), false).is_empty());
        let told = limit.told(at(10_000), false);
        assert_eq!(told.len(), 1);
        let expected = "… 1008 more like it in the last 10 s, as: line 4";
        assert_eq!((told[0].text.as_str(), told[0].level), (expected, Level::Warn));
        assert!(limit.next().is_none() && limit.told(at(99_999), true).is_empty());
        // After a quiet time as many come at once again, and no more.
        assert_eq!(admitted(&mut limit, 1000, at(100_000)), 10);
        let told = limit.told(at(100_000), true);
        assert_eq!(told[0].text, "… 990 more like it in the last 0 s, as: line 999");
    }

    #[test]
    fn kinds_take_nothing_from_each_other() {
        let mut limit = Limit::default();
        assert!((0..20).filter(|_| limit.admits(&line(1, "a"), at(0))).count() == 10);
        assert!(limit.admits(&line(2, "b"), at(0)), "another call site");
        let other = |part, level| Line { part, level, ..line(1, "c") };
        assert!(limit.admits(&other(Part::Card, Level::Warn), at(0)));
        assert!(limit.admits(&other(Part::Ports, Level::Error), at(0)));
    }

    #[test]
    fn a_backtrace_comes_whole_and_a_flood_does_not() {
        let mut limit = Limit::default();
        let bare = Line { is_bare: true, ..line(3, "at 0x1") };
        assert_eq!((0..1000).filter(|_| limit.admits(&bare, at(0))).count(), 200);
        assert_eq!((0..1000).filter(|_| limit.admits(&bare, at(1000))).count(), 10);
    }

    #[test]
    fn a_clock_that_stands_or_jumps_far_is_no_fault() {
        let mut limit = Limit::default();
        assert!(limit.admits(&line(1, "a"), Duration::MAX / 2));
        assert!(limit.admits(&line(1, "a"), at(0)), "nine are left, whatever the clock says");
        assert!(limit.admits(&line(1, "a"), Duration::MAX / 2));
    }
}
