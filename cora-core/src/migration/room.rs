//! Room at the NIC for flows that earn more: the host asks for it, and the NIC gives up a flow that nobody uses.
//!
//! The host knows how many packets its own flows have, and nothing of the NIC's; the NIC knows when each of its flows
//! was used last. So neither has to tell the other about single flows.

use super::Outbox;
use super::flows::{Flows, Stage};
use super::nic::{NicHalf, Wire};
use crate::app::App;

/// Places for flows, and flows in them, that are looked at for one that nobody uses.
const PLACES_LOOKED_AT: u32 = 1_024;
const FLOWS_LOOKED_AT: u32 = 16;

impl<A: App> NicHalf<A> {
    /// The host has flows that earn more: of those looked at, the one that nobody used for longest goes there, if that is
    /// so many nanoseconds of packet time at least.
    #[inline(never)]
    pub(super) fn make_room(&mut self, idle: u64, io: &mut (impl Outbox + Wire)) {
        // One flow leaves after the other.
        self.hand_over(u32::MAX, io);
        if let Some(flow) = self.flows.unused(&mut self.hand, self.now, idle) {
            self.send_back(flow, io);
        }
    }
}

impl<A: App> Flows<A> {
    /// Of the flows that come next from `hand` on, the one that nobody used for longest, if that is `idle` at least.
    /// Looks at so many at most that packets need not wait for it; those that are about to be forgotten are left to
    /// that. The hand goes on only where nothing is found, so that neighbours that all went cold leave one after the other.
    fn unused(&mut self, hand: &mut u32, now: u64, idle: u64) -> Option<u32> {
        let made = self.records.made();
        let (mut longest, mut found, mut seen) = (idle, None, 0);
        let mut at = *hand;
        for _ in 0..made.min(PLACES_LOOKED_AT) {
            at = if at + 1 < made { at + 1 } else { 0 };
            let Some(entry) = self.records.entry(at) else { continue };
            let unused = now.saturating_sub(entry.used.get());
            if entry.value.stage == Stage::Owned && unused >= longest && unused < self.idle {
                (longest, found) = (unused, Some(at));
            }
            seen += 1;
            if seen == FLOWS_LOOKED_AT {
                break;
            }
        }
        if found.is_none() {
            *hand = at;
        }
        found
    }
}
