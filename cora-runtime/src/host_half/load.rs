//! What the host's half counts and sees, for reports.

use cora_core::app::App;

use super::HostHalf;
use crate::link::message::{Load, Report};
use crate::telemetry::{Counters, Talker};

impl<A: App> HostHalf<A> {
    /// The counters of this side, with the flows owned now.
    pub fn counts(&mut self) -> Report {
        let evicted = self.engine.evicted();
        Report { flows: u64::from(self.flows()), evicted, ..self.report }
    }

    /// Tells all counters.
    pub fn tell_counters(&mut self, to: Counters) {
        let counts = self.counts();
        self.engine.tell_counters(to, &counts, &self.watch.bursts);
    }

    /// Counts of handlers of messages, as words of [`Took`](crate::exec::Took).
    #[inline]
    pub const fn took(&self) -> &[u64] {
        self.engine.took()
    }

    /// Tells those that must be known of a half which dies in its next round.
    #[inline]
    pub fn tell_outcomes(&self, to: Counters) {
        to.tell_outcomes(&self.engine.outcomes, self.engine.took());
    }

    /// Starts sampling packets for the [load](Self::load).
    pub const fn watch(&mut self) {
        self.watch.begin();
    }

    /// The host's counters, and its recent top flows.
    pub fn load(&mut self, mut talker: impl FnMut(&Talker<A::Group>)) -> Load {
        let (counts, room) = (self.counts(), self.ownership.flows().room().into());
        let talkers = &mut self.watch.talkers;
        let told = talkers.all().len() as u64;
        talkers.all().iter().for_each(&mut talker);
        talkers.age();
        Load { counts, room, talkers: told, ..Load::default() }
    }
}
