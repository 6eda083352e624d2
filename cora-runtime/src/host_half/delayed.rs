//! Messages that are due later, at the host.

use cora_core::app::{App, Sides};

use super::{HostHalf, HostOutbox};
use crate::cascade::refuse;
use crate::link::message::Hooks;

impl<A: App> HostHalf<A> {
    /// Handles the delayed messages that are due by `now`, in the order of their times.
    #[inline(always)]
    pub(super) fn handle_due<const FLOWS: bool>(&mut self, now: u64, out: &mut impl HostOutbox) {
        if const { A::DELAYS } && self.cascade.next_due() <= now {
            self.handle_delayed::<FLOWS>(now, out);
        }
    }

    #[cold]
    #[inline(never)]
    fn handle_delayed<const FLOWS: bool>(&mut self, now: u64, out: &mut impl HostOutbox) {
        loop {
            let due = self.cascade.next_due();
            if due > now {
                break;
            }
            // If a message of the NIC's brought it about, it may be before the latest packet.
            let stamp = self.last.later(due);
            if due > self.last.meta.now {
                self.run_due(&stamp, out);
                self.cascade::<FLOWS>(out);
                self.last = stamp;
            }
            if !self.cascade.comes_due(&stamp) {
                refuse(&mut self.engine);
            }
            self.cascade::<FLOWS>(out);
        }
    }

    /// Asks the NIC to tell the time when the next message here is due. Otherwise the host hears of
    /// it with packets, or long after.
    #[inline(always)]
    pub(super) fn ask_for_time(&mut self, out: &mut impl HostOutbox) {
        if const { A::DELAYS && matches!(A::PLAN.sides, Sides::Split) } && self.ownership.has_nic()
        {
            let until = self.cascade.next_due();
            if until < self.asked_for {
                self.asked_for = until;
                out.send(&Hooks::WakeAt { until }.into());
            }
        }
    }

    /// The run ends: delayed messages don't come due any more, and are counted.
    pub fn end_messages(&mut self) {
        if const { A::DELAYS } {
            self.cascade.end(&mut self.engine);
        }
    }
}
