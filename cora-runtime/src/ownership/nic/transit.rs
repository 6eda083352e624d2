//! Since when the entries on their way here are known to be alive, for a program with hooks.

use crate::channel::TICKETS;
use crate::state_hash::{Say, say_words};

/// The times of the offers' fences (ns of packet time): at each, the entries of the offered flow
/// that come later are alive.
#[derive(Debug)]
pub(crate) struct Transit {
    /// By ticket, and last that of the flow whose entries come.
    fences: [u64; TICKETS + 1],
    /// The earliest; [`Self::NONE`] if no flow is on its way.
    earliest: u64,
}

/// The place of the flow whose entries come.
const COMES: usize = TICKETS;

impl Transit {
    const NONE: u64 = u64::MAX;

    pub(super) const fn new() -> Self {
        Self { fences: [Self::NONE; TICKETS + 1], earliest: Self::NONE }
    }

    /// The time of the earliest fence; the maximum if no flow is on its way.
    #[inline]
    pub(crate) const fn alive_at(&self) -> u64 {
        self.earliest
    }

    /// A fence was sent for this ticket, at the time `now`.
    pub(super) fn fence(&mut self, ticket: u32, now: u64) {
        self.set(ticket as usize, now);
    }

    /// The entries of this ticket's flow come.
    pub(super) fn comes(&mut self, ticket: u32) {
        let now = self.fences.get(ticket as usize).copied().unwrap_or(Self::NONE);
        self.set(COMES, now);
        self.set(ticket as usize, Self::NONE);
    }

    /// The flow of this ticket does not come.
    pub(super) fn ends(&mut self, ticket: u32) {
        self.set(ticket as usize, Self::NONE);
    }

    /// All entries of the flow came.
    pub(super) fn came(&mut self) {
        self.set(COMES, Self::NONE);
    }

    /// No flow is on its way any more.
    pub(super) const fn clear(&mut self) {
        *self = Self::new();
    }

    /// Gives the times to `say`, for an explorer of all schedules.
    pub(super) fn hash(&self, say: &mut Say<'_>) {
        say_words(say, &self.fences);
    }

    fn set(&mut self, at: usize, now: u64) {
        if let Some(place) = self.fences.get_mut(at) {
            let before = core::mem::replace(place, now);
            self.earliest = if before == self.earliest {
                self.fences.iter().copied().min().unwrap_or(Self::NONE)
            } else {
                self.earliest.min(now)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_fence_counts_until_its_flow_came() {
        let mut transit = Transit::new();
        assert_eq!(transit.alive_at(), u64::MAX);
        transit.fence(3, 10);
        transit.fence(1, 12);
        assert_eq!(transit.alive_at(), 10);
        transit.comes(3);
        assert_eq!(transit.alive_at(), 10, "its entries are still to come");
        transit.came();
        assert_eq!(transit.alive_at(), 12);
        transit.fence(3, 12);
        transit.ends(1);
        assert_eq!(transit.alive_at(), 12);
        transit.clear();
        assert_eq!(transit.alive_at(), u64::MAX);
    }
}
