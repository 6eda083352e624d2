//! Eviction: selects an entry to be replaced by another one.
//!
//! 1. *A new entry finds the table full.* An expired entry, kept only because earlier packets still
//!    wait for flows that move, is evicted. A state may define assured entries (`assured_by`): then
//!    an entry that is not assured is evicted too. Otherwise the insertion fails. A packet that
//!    waited while later packets ran does not count their entries. It takes one of the places
//!    reserved for entries from the NIC.
//! 2. *A flow returns from the NIC, and all places are occupied.* Each side holds entries up to the
//!    capacity, and a host has space for twice as many. Entries in transfer, together with new
//!    entries of the NIC, may exceed that. No side is at fault, and the entries of the flow have no
//!    other place to go. So the least needed entry is evicted, in any state.
//!
//! A clock hand moves over the places, and each search examines the next few. So the cost per
//! packet is bounded. Among the candidates, the least recently used entry is evicted. This
//! approximates LRU, like caches that sample a few entries at random (Redis). Linux samples a few
//! in the same way (`early_drop`).

use core::cell::Cell;

use super::ended::Why;
use super::entry::Entry;
use super::raw::RawTable;
use crate::key::EntryKey;
use crate::plain::Plain;

/// Places examined per eviction.
const LOOKS: u32 = 16;

/// How much an entry is needed, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// Only packets that still wait may find it.
    Expired,
    /// It is not assured.
    Unassured,
    Assured,
    /// It belongs to the flow that returns.
    Own,
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// The number for a new entry, if there are fewer entries than `most`, or if one can be
    /// evicted.
    #[inline(always)]
    pub(super) fn next_or_evicted(&mut self, most: u32) -> Option<u32> {
        let next = self.next_below(most);
        // Saves code size in the NIC's program. There a packet with undo evicts nothing, and
        // without undo no packet waits: only entries that are not assured could be evicted.
        if cfg!(target_os = "none") && const { !V::EVICTS } {
            return next;
        }
        next.or_else(|| self.evict_for_newcomer())
    }

    #[inline(never)]
    fn evict_for_newcomer(&mut self) -> Option<u32> {
        // A packet with undo leaves the decision to the side that is final.
        if self.visit.undo {
            return None;
        }
        let now = self.visit.now;
        let has_later = Cell::new(false);
        let evicted = self.evict(|table, _, entry| {
            has_later.set(has_later.get() || entry.used.get() > now);
            // Protects this packet's own entries too.
            if entry.used.get() >= now {
                return None;
            }
            let need = table.need(entry, now);
            (need < Need::Assured).then_some(need)
        });
        (evicted || (has_later.get() && !self.is_crammed())).then(|| self.next_place())
    }

    /// Evicts an entry in favour of one of this flow, which returns.
    #[inline(never)]
    pub(super) fn evict_for_returning(&mut self, flow: u32) -> bool {
        let now = self.visit.now;
        self.evict(|table, number, entry| {
            let is_own = table.by_flow.flow_of(number) == Some(flow);
            Some(if is_own { Need::Own } else { table.need(entry, now) })
        })
    }

    fn need(&self, entry: &Entry<K, V>, now: u64) -> Need {
        if self.expired_at(entry, now) {
            Need::Expired
        } else if const { V::EVICTS } && !entry.value.is_assured() {
            Need::Unassured
        } else {
            Need::Assured
        }
    }

    /// Removes the entry that is needed least among the next few candidates, as rated by `need`,
    /// which returns `None` for entries that must stay. Among equals, it removes the least recently
    /// used. Returns whether there was one.
    #[inline(always)]
    fn evict(&mut self, need: impl Fn(&Self, u32, &Entry<K, V>) -> Option<Need>) -> bool {
        let made = self.made();
        let mut least: Option<(Need, u64, u32)> = None;
        for _ in 0..LOOKS.min(made) {
            let number = self.hand;
            self.hand = if number + 1 < made { number + 1 } else { 0 };
            let Some(entry) = self.entry(number) else { continue };
            let Some(need) = need(self, number, entry) else { continue };
            let candidate = (need, entry.used.get(), number);
            if least.is_none_or(|least| candidate < least) {
                least = Some(candidate);
            }
        }
        let Some((need, _, number)) = least else { return false };
        if need == Need::Expired {
            self.release_expired(number);
            return true;
        }
        if const { Self::NOTES_ENDS } {
            self.note_end(number, Why::Evicted);
        }
        self.release(number);
        self.evicted += 1;
        true
    }
}
