//! Which entry makes room for another.
//!
//! 1. *A newcomer finds the table full.* An entry makes room if it has expired, and is kept only
//!    because earlier packets still wait for flows that move. A state may say which of its entries
//!    are assured (`assured_by`): then one that is not makes room, too. Else the insertion fails. A
//!    packet that waited while later ones went ahead does not count their entries. It takes one of
//!    the places that are kept for entries from the NIC.
//! 2. *A flow comes back from the NIC, and all places are taken.* Each side holds entries up to the
//!    capacity, and a host has room for twice as many. Entries on their way, and those that the NIC
//!    put in meanwhile, may be more than that. No side is to blame, and the entries of the flow
//!    have no other place to go. So the entry that is needed least makes room, in any state.
//!
//! A hand goes around the places, and each search looks at the next few from there on. So no packet
//! pays for more. The entry that was unused for longest goes, of those that may. That comes near
//! the oldest of all, as it does in caches that draw a few at random (Redis). Linux looks at a few
//! in the same way (`early_drop`).

use core::cell::Cell;

use super::endings::Why;
use super::entry::Entry;
use super::raw::RawTable;
use crate::key::Key;
use crate::plain::Plain;

/// Places that are looked at for an entry that makes room.
const LOOKS: u32 = 16;

/// How much an entry is needed, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// Only packets that still wait may find it.
    Expired,
    /// It is not assured.
    Unassured,
    Assured,
    /// It is of the flow that comes.
    Own,
}

impl<K: Key, V: Plain> RawTable<K, V> {
    /// The number that a newcomer gets, if there are fewer entries than `most`, or if one makes
    /// room for it.
    #[inline(always)]
    pub(super) fn next_or_evicted(&mut self, most: u32) -> Option<u32> {
        let next = self.next_below(most);
        // The NIC's program is to be small. There a packet that may be taken back evicts nothing,
        // and no packet waits where none is: so none but entries that are not assured make room.
        if cfg!(target_os = "none") && const { !V::EVICTS } {
            return next;
        }
        next.or_else(|| self.evict_for_newcomer())
    }

    #[inline(never)]
    fn evict_for_newcomer(&mut self) -> Option<u32> {
        // A packet that may be taken back leaves it to the side that decides for good.
        if self.visit.undo {
            return None;
        }
        let now = self.visit.now;
        let has_later = Cell::new(false);
        let evicted = self.evict(|table, _, entry| {
            has_later.set(has_later.get() || entry.used.get() > now);
            // This packet's own are among those.
            if entry.used.get() >= now {
                return None;
            }
            let need = table.need(entry, now);
            (need < Need::Assured).then_some(need)
        });
        (evicted || (has_later.get() && !self.is_crammed())).then(|| self.next_place())
    }

    /// Makes room for an entry of this flow, which comes back.
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

    /// Takes out the entry that is needed least among the next few, as `need` says it of those that
    /// may go; of several that was unused for longest. Whether there was any.
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
        if const { V::RECORDED } {
            self.note_end(number, Why::Evicted);
        }
        self.release(number);
        self.evicted += 1;
        true
    }
}
