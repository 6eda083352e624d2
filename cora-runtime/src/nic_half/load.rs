//! What the NIC's half counts and sees, for reports.

use cora_core::app::App;

use super::NicHalf;
use crate::channel::PeerOutbox;
use crate::link::message::{Load, Report};
use crate::telemetry::Counters;

impl<A: App> NicHalf<A> {
    /// The counters of this side, with the flows owned now.
    pub fn counts(&mut self) -> Report {
        let evicted = self.engine.evicted();
        Report { flows: u64::from(self.flows()), evicted, ..self.report }
    }

    /// Tells all counters.
    #[cold]
    #[inline(never)]
    pub fn tell_counters(&mut self, to: Counters) {
        let counts = self.counts();
        self.engine.tell_counters(to, &counts, &self.watch.bursts);
    }

    /// Starts sampling packets for load reports ([`Self::tell`]).
    pub const fn watch(&mut self) {
        self.watch.begin();
    }

    /// Reports this side's load to the host; `load` has the part that only the run loop knows.
    /// Nothing is reported amid the entries of a flow.
    #[inline(never)]
    pub fn tell(&mut self, load: &Load, out: &mut impl PeerOutbox) {
        if self.ownership.is_receiving() {
            return;
        }
        let (counts, room) = (self.counts(), self.ownership.room());
        let load = Load { counts, room: room.into(), waiting: self.hold.waiting(), ..*load };
        self.watch.tell(&load, out);
    }
}
