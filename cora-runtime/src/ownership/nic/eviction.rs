//! Eviction at the NIC: the host asks for room for busier flows, and the NIC gives up an idle flow.
//!
//! The host knows the packet counts of its own flows, and nothing of the NIC's. The NIC knows the
//! last use of each of its flows. So neither has to report single flows to the other.

use cora_core::app::App;
use cora_core::state::NO_FLOW;

use super::{NicOwnership, NicRecord, NicSide};
use crate::channel::PeerOutbox;
use crate::ownership::records::Flows;

/// Budget of a search for an idle flow: this many marked but empty places, [`NEVER`] words of 32
/// unmarked places, or [`FLOWS`] flows.
const EMPTY: u32 = 1_024;
const NEVER: u32 = EMPTY / 2;
const FLOWS: u32 = 16;

impl<A: App> NicOwnership<A> {
    /// The host has busier flows: evicts the flow of those searched that was idle for longest, if
    /// that is at least `idle` (ns of packet time).
    #[inline(never)]
    pub(super) fn make_room(
        &mut self,
        idle: u64,
        side: &mut NicSide<'_, A>,
        out: &mut impl PeerOutbox,
    ) {
        // Only one flow leaves at a time.
        self.hand_over(u32::MAX, side, out);
        let flow = self.flows.unused(&mut self.hand, side.now, idle);
        // `NO_FLOW` has no record, so nothing is sent.
        self.send_back(flow, side, out);
    }
}

impl<A: App> Flows<A, NicRecord> {
    /// The flow idle for longest among those next from `hand` on, if that is at least `idle`. The
    /// search is bounded, so that packets need not wait for it. Flows that are about to expire are
    /// left to expiry. The hand advances only if nothing is found, so that neighbours that all went
    /// cold leave one after the other.
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
                // A flow in transit is pinned, so it counts as used just now.
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
