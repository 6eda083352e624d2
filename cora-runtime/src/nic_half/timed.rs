//! Hooks and timers at the NIC: it runs them under nic-only, and tells the host of ends and of its
//! time under a split.

use cora_core::app::{App, Sides};

use super::NicHalf;
use crate::cascade::SentHere;
use crate::channel::PeerOutbox;
use crate::exec::egress::Wire;
use crate::hooks;
use crate::link::message::{Hooks, Stamp};

impl<A: App> NicHalf<A> {
    /// Whether hooks and timers run here.
    pub(super) const RUNS_TIMED: bool = A::TIMED && A::PLAN.sides.nic_runs_alone();

    /// Whether the host runs hooks of entries that end here, or timers.
    pub(super) const TELLS_ENDS: bool = A::TIMED && matches!(A::PLAN.sides, Sides::Split);

    /// A packet came: hooks, timers and messages that are due by its time run before.
    #[inline(always)]
    pub(super) fn time_comes(&mut self, stamp: &Stamp, io: &mut (impl PeerOutbox + Wire)) {
        if const { A::DELAYS } {
            self.handle_due(stamp.meta.now, io);
            self.last = *stamp;
        }
        if matches!(A::PLAN.sides, Sides::NicOnly) {
            self.run_due(stamp, io);
            if const { Self::RUNS_TIMED } {
                self.cascade(io);
            }
        }
    }

    /// A packet is about to run where the NIC has all states: hooks and timers that are due run
    /// before.
    #[inline(always)]
    pub(super) fn run_due(&mut self, stamp: &Stamp, wire: &mut impl Wire) {
        if const { A::MERGED } && !self.turns.may_run(stamp.meta.now) {
            self.turn_alone(stamp.meta.now, wire);
        }
        if const { Self::RUNS_TIMED } {
            self.dealing.time_comes(stamp, self.engine.app());
            self.pass_time_before(stamp, wire);
        }
    }

    /// Whether earlier packets for the host are still held, maybe of the same flow, or an entry may
    /// have ended that the host must know of.
    pub(super) const fn host_must_queue(&self, now: u64) -> bool {
        self.hold.holds_for_host()
            || (A::PLAN.host_ordered && !self.hold.is_empty())
            || self.ownership.is_late(now)
    }

    /// Tells the host of all ends by `now`: a packet of that time is about to go there.
    #[inline]
    pub(super) fn tell_ends(&mut self, now: u64, out: &mut impl PeerOutbox) {
        if const { Self::TELLS_ENDS } {
            hooks::tell_ends(self.engine.app(), now, out);
        }
    }

    /// For a simulator that plants this mistake: packets wait for no flow that is on its way here.
    #[doc(hidden)]
    pub const fn forget_fences(&mut self) {
        self.ownership.forget_fences();
    }

    /// Tells the host the time at intervals.
    pub(super) fn tick(&mut self, out: &mut impl PeerOutbox) {
        let now = self.hold.oldest().unwrap_or(self.now);
        let is_due = now >= self.host_due.min(self.told.saturating_add(hooks::TICK))
            && now <= self.hooks_until();
        if is_due && !self.ownership.is_late(now) {
            self.tell_time(now, out);
        }
    }

    /// Tells the host the time, behind all ends by then. Nothing older is held, and no flow has
    /// been on its way here for too long.
    #[inline(never)]
    fn tell_time(&mut self, now: u64, out: &mut impl PeerOutbox) {
        (self.told, self.host_due) = (now, u64::MAX);
        self.tell_ends(now, out);
        out.send(&Hooks::Reached { now }.into());
    }

    /// A change of read-mostly states is about to be in force: hooks that were due before it run
    /// before it.
    pub fn settle_hooks(&mut self, out: &mut impl PeerOutbox) {
        if const { Self::TELLS_ENDS } {
            self.tell_time(self.now, out);
        }
    }

    /// The run ends at this time: what has ended by then is known where hooks run.
    pub fn end_hooks(&mut self, now: u64, out: &mut (impl PeerOutbox + Wire)) {
        self.now = self.now.max(now);
        self.handle_due(now, out);
        if const { Self::RUNS_TIMED } {
            self.pass_time_before(&self.last.later(now), out);
            self.cascade(out);
        }
        self.tell_ends(now, out);
    }

    /// Runs the hooks and timers that are due before this packet.
    pub(super) fn pass_time_before(&mut self, stamp: &Stamp, wire: &mut impl Wire) {
        self.last = *stamp;
        let horizon = self.dealing.horizon::<A>(stamp.meta.now);
        let Self { engine, cascade, report, .. } = self;
        let mut sent = SentHere::default();
        report.made += engine.pass_time(stamp, horizon, &mut |stamp, frame| {
            if !cascade.takes::<A>(stamp, frame, &mut sent) {
                wire.transmit(stamp, frame);
            }
        });
        sent.account(engine, report);
    }

    /// Time passes without packets: nothing older than `now` comes at the wire.
    #[cold]
    #[inline(never)]
    pub fn silence(&mut self, now: u64, io: &mut (impl PeerOutbox + Wire)) {
        self.now = self.now.max(now);
        self.handle_due(now, io);
        match A::PLAN.sides {
            _ if const { !A::TIMED } => {}
            Sides::HostOnly => io.send(&Hooks::Reached { now }.into()),
            Sides::NicOnly | Sides::Dealt => {
                self.pass_time_before(&self.last.later(now), io);
                self.cascade(io);
            }
            Sides::Split => self.tick(io),
        }
    }
}
