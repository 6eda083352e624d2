//! What happens at the host because time passes: hooks and timers run, and epochs of merged states
//! begin.

use cora_core::app::App;

use super::{HostHalf, HostOutbox};
use crate::cascade::SentHere;
use crate::channel::ProtocolError;
use crate::durability::Replication;
use crate::exec::burst::Arrival;
use crate::link::message::{Hooks, Stamp};

impl<A: App> HostHalf<A> {
    /// A packet came: hooks, timers and messages that are due by its time run before.
    #[inline(always)]
    pub(super) fn comes_in<const FLOWS: bool>(
        &mut self,
        arrival: &mut Arrival<'_>,
        ahead: u8,
        alone: bool,
        out: &mut impl HostOutbox,
    ) {
        let stamp = &arrival.stamp();
        if Self::IS_DEALT && !self.is_own(stamp, arrival.packet.frame(), out) {
            return;
        }
        // Without flows nothing reads the time amid a burst: `run_all` advances it to the last
        // packet's.
        if FLOWS {
            self.reach(stamp);
        }
        self.handle_due::<FLOWS>(stamp.meta.now, out);
        self.run_due(stamp, out);
        if const { A::TIMED } {
            self.cascade::<FLOWS>(out);
        }
        self.arrives::<FLOWS>(arrival, ahead, alone, out);
    }

    /// A packet is about to run: hooks and timers that are due run before.
    #[inline(always)]
    pub(super) fn run_due(&mut self, stamp: &Stamp, out: &mut impl HostOutbox) {
        // Without a NIC; otherwise the NIC tells the epoch in front of its first packet.
        if const { A::MERGED } && !self.turns.may_run(stamp.meta.now) {
            self.turn_alone(stamp.meta.now, out);
        }
        if const { A::TIMED } {
            self.dealing.time_comes(stamp, self.engine.app());
            self.pass_time_before(stamp, out);
        }
    }

    pub(super) fn hooks_message(
        &mut self,
        message: Hooks<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        match message {
            Hooks::Over { state, piece } => {
                return self.replication.ended(state, piece, self.engine.app(), out.replicas());
            }
            Hooks::Reached { now } => self.pass_time(now, out),
            Hooks::WakeAt { .. } => return Err(ProtocolError::unexpected(&message.into())),
        }
        Ok(())
    }

    /// An entry of a flow came back. It is replicated now: if this side ends amid the flow, the
    /// ring no longer has the entry.
    pub(super) fn entry_came(&mut self, state: u16, piece: &[u8], out: &mut impl HostOutbox) {
        self.tell_changes(out);
        if const { A::DURABLE && !A::HOOKED.is_empty() }
            && let Some(store) = out.replicas()
        {
            Replication::came_late(self.engine.app(), state, piece, store);
        }
    }

    /// No older packet is to come: runs the hooks and timers that are due by now.
    pub fn pass_time(&mut self, now: u64, out: &mut impl HostOutbox) {
        if const { !A::TIMED } {
            return;
        }
        self.clock.now = self.clock.now.max(now);
        self.clock.horizon = self.clock.horizon.max(now);
        if self.ownership.knows_flows() {
            self.pass_time_to::<true>(now, out);
        } else {
            self.pass_time_to::<false>(now, out);
        }
        self.tell_changes(out);
    }

    fn pass_time_to<const FLOWS: bool>(&mut self, now: u64, out: &mut impl HostOutbox) {
        self.handle_due::<FLOWS>(now, out);
        self.pass_time_before(&self.last.later(now), out);
        self.cascade::<FLOWS>(out);
        if const { A::DELAYS } {
            out.runs(None);
            self.asked_for = u64::MAX;
            self.ask_for_time(out);
        }
    }

    /// Runs the hooks and timers that are due before this packet.
    pub(super) fn pass_time_before(&mut self, stamp: &Stamp, out: &mut impl HostOutbox) {
        // The NIC half of its shard has all states, and runs them.
        if Self::IS_DEALT && !self.has_all {
            return;
        }
        self.last = *stamp;
        let horizon = self.dealing.horizon::<A>(stamp.meta.now);
        let Self { engine, cascade, report, .. } = self;
        let mut sent = SentHere::default();
        report.made += engine.pass_time(stamp, horizon, &mut |stamp, frame| {
            if !cascade.takes::<A>(stamp, frame, &mut sent) {
                out.leave(stamp, stamp.egress, frame);
            }
        });
        sent.account(engine, report);
    }
}
