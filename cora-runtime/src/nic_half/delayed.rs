//! Messages that are due later, at the NIC.

use cora_core::app::{App, Sides};

use super::NicHalf;
use crate::cascade::refuse;
use crate::channel::PeerOutbox;
use crate::exec::egress::Wire;

impl<A: App> NicHalf<A> {
    /// Handles the delayed messages that are due by `now`, in the order of their times.
    #[inline(always)]
    pub(super) fn handle_due(&mut self, now: u64, io: &mut (impl PeerOutbox + Wire)) {
        if const { A::DELAYS } && self.cascade.next_due() <= now {
            self.handle_delayed(now, io);
        }
    }

    #[cold]
    #[inline(never)]
    fn handle_delayed(&mut self, now: u64, io: &mut (impl PeerOutbox + Wire)) {
        loop {
            let due = self.cascade.next_due();
            if due > now {
                break;
            }
            // If a message of the host's brought it about, it may be before the latest packet.
            let stamp = self.last.later(due);
            if due > self.last.meta.now {
                if matches!(A::PLAN.sides, Sides::NicOnly) {
                    self.run_due(&stamp, io);
                    self.cascade(io);
                }
                self.last = stamp;
            }
            if !self.cascade.comes_due(&stamp) {
                refuse(&mut self.engine);
            }
            self.cascade(io);
        }
        io.runs(None);
        self.tell_changes(io);
    }

    /// The host wants to hear the time by then: a message is due there.
    pub(super) const fn host_waits_for(&mut self, due: u64) {
        if due < self.host_due {
            self.host_due = due;
        }
    }

    /// The run ends: delayed messages don't come due any more, and are counted.
    pub fn end_messages(&mut self) {
        if const { A::DELAYS } {
            self.cascade.end(&mut self.engine);
        }
    }
}
