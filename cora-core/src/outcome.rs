//! One named outcome per packet, counted. All counts add up to the number of packets.

use crate::verdict::{Forward, Reason};

/// Drop reasons counted by name. Any further ones share the count of [`OTHER`].
const NAMES: usize = 64;

/// The name of drops for reasons beyond those that are counted by name.
pub const OTHER: &str = "dropped-other";

/// Counts of outcomes.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    transmit: u64,
    pass: u64,
    redirect: u64,
    done: u64,
    drops: heapless::Vec<(Reason, u64), NAMES>,
    other: u64,
}

impl Outcomes {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { transmit: 0, pass: 0, redirect: 0, done: 0, drops: heapless::Vec::new(), other: 0 }
    }

    /// Counts a forwarded packet.
    #[inline]
    pub const fn forwarded(&mut self, forward: Forward) {
        match forward {
            Forward::Transmit => self.transmit += 1,
            Forward::Pass => self.pass += 1,
            Forward::Redirect(_) => self.redirect += 1,
            Forward::Done => self.done += 1,
        }
    }

    /// Counts a dropped packet.
    #[inline]
    pub fn dropped(&mut self, reason: Reason) {
        if let Some((_, count)) = self.drops.iter_mut().find(|(known, _)| *known == reason) {
            *count += 1;
        } else if self.drops.push((reason, 1)).is_err() {
            self.other += 1;
        }
    }

    /// The first outcome by name that was counted since these counts, and whether it is a drop;
    /// `None` if none was.
    #[cold]
    #[must_use]
    pub fn first_since(&self, before: &Self) -> Option<(&'static str, bool)> {
        let mut forwards = [
            ("transmit", self.transmit > before.transmit),
            ("redirect", self.redirect > before.redirect),
            ("pass", self.pass > before.pass),
            ("done", self.done > before.done),
        ]
        .into_iter();
        if let Some((name, _)) = forwards.find(|(_, more)| *more) {
            return Some((name, false));
        }
        // Reasons stay where they were counted first.
        let counts = before.drops.iter().map(|(_, count)| *count).chain(core::iter::repeat(0));
        let mut drops = self.drops.iter().zip(counts);
        let dropped = drops.find(|((_, count), before)| count > before);
        let named = dropped.map(|((reason, _), _)| (reason.name(), true));
        named.or_else(|| (self.other > before.other).then_some((OTHER, true)))
    }

    /// Visits each outcome that occurred, by name.
    pub fn each(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let fixed = [
            ("transmit", self.transmit),
            ("pass", self.pass),
            ("redirect", self.redirect),
            ("done", self.done),
            (OTHER, self.other),
        ];
        for (name, count) in fixed.into_iter().filter(|(_, count)| *count > 0) {
            visit(name, count);
        }
        for (reason, count) in &self.drops {
            visit(reason.name(), *count);
        }
    }

    /// All packets counted.
    pub fn total(&self) -> u64 {
        let mut total = 0;
        self.each(&mut |_, count| total += count);
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::reasons;

    #[test]
    fn counts_by_name_and_loses_none() {
        let mut outcomes = Outcomes::new();
        outcomes.forwarded(Forward::Transmit);
        outcomes.dropped(reasons::NotIp);
        outcomes.dropped(Reason::new("not-ip"));
        for n in 0..100 {
            outcomes.dropped(Reason::new(std::format!("reason-{n}").leak()));
        }
        assert_eq!(outcomes.total(), 103);
        let mut named = Vec::new();
        outcomes.each(&mut |name, count| named.push((name, count)));
        assert_eq!(&named[..3], &[("transmit", 1), (OTHER, 37), ("not-ip", 2)]);
    }
}
