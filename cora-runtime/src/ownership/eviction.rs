//! Room at the NIC for flows that earn more: the host asks for it, and the NIC gives up a flow that
//! nobody uses.
//!
//! The host knows how many packets its own flows have, and nothing of the NIC's; the NIC knows when
//! each of its flows was used last. So neither has to tell the other about single flows.

use cora_core::app::App;
use cora_core::state::NO_FLOW;

use crate::channel::Outbox;
use crate::exec::Wire;
use crate::nic_half::NicHalf;
use crate::ownership::records::Flows;

/// What is looked at for a flow that nobody uses, at most: so many places that had one and are
/// empty, or half as many times 32 places that never had, or so many flows.
const EMPTY: u32 = 1_024;
const NEVER: u32 = EMPTY / 2;
const FLOWS: u32 = 16;

impl<A: App> NicHalf<A> {
    /// The host has flows that earn more: of those looked at, the one that nobody used for longest
    /// goes there, if that is so many nanoseconds of packet time at least.
    #[inline(never)]
    pub(crate) fn make_room(&mut self, idle: u64, io: &mut (impl Outbox + Wire)) {
        // One flow leaves after the other.
        self.hand_over(u32::MAX, io);
        let flow = self.flows.unused(&mut self.hand, self.now, idle);
        // None has the number of no flow.
        self.send_back(flow, io);
    }
}

impl<A: App> Flows<A> {
    /// Of the flows that come next from `hand` on, the one that nobody used for longest, if that is
    /// `idle` at least. Looks at so many at most that packets need not wait for it; those that are
    /// about to be forgotten are left to that. The hand goes on only where nothing is found, so
    /// that neighbours that all went cold leave one after the other.
    fn unused(&mut self, hand: &mut u32, now: u64, idle: u64) -> u32 {
        let (records, known_for) = (&self.records, self.idle);
        let last = records.made() / u32::BITS;
        let (mut longest, mut found, mut seen) = (idle, NO_FLOW, 0);
        while seen < EMPTY {
            seen += EMPTY / NEVER;
            self.taken.look(*hand, |place| {
                seen += 1;
                let Some(entry) = records.entry(place) else { return false };
                seen += EMPTY / FLOWS;
                let unused = now.saturating_sub(entry.used.get());
                // One on its way is pinned: it was used just now, so to speak.
                if unused >= longest && unused < known_for {
                    (longest, found) = (unused, place);
                }
                true
            });
            if found != NO_FLOW {
                break;
            }
            *hand = if *hand < last { *hand + 1 } else { 0 };
        }
        found
    }
}
