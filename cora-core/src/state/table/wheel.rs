//! Expiry without scanning.
//!
//! A lazy timer wheel: each entry hangs in the slot of the tick at which it would expire if it were
//! never used again. Using an entry only writes its time. When its tick comes, the entry is looked
//! at: it expires, or hangs itself in the slot of its new tick. So an entry costs at most one look
//! per idle time, and a hit touches no list.
//!
//! An entry that is taken out stays where it hangs, free, until the wheel comes by; and if its place is
//! given to another one meanwhile, that one hangs there, since it will be used later than the first and
//! may be looked at too early, but not too late. So coming and going touches no list either.
//!
//! With 64 ticks to an idle time, an entry is freed at most 1/64 of it late. Look-ups compare times
//! exactly, so lateness shows only in when a full table has room again.
//!
//! Where entries say themselves how long they live unused, the ticks are those of the longest time. A packet may
//! change an entry so that it expires sooner than where it hangs: the entry that was handed out last is therefore
//! hung anew when the next one is, or when the packet is through ([`RawTable::settle_touched`]). Other tables
//! have nothing of that.

use super::super::{Memory, OutOfMemory};
use super::entry::{Facts, Links, NONE};
use super::raw::RawTable;
use crate::key::Key;
use crate::plain::Plain;

/// Slots. More than the ticks of an idle time plus [`MAX_LAG`], so that an entry is never put back
/// into a slot that is still to be emptied.
pub(super) const SLOTS: usize = 256;
const TICKS_PER_IDLE: u64 = 64;
/// Ticks that look-ups may leave behind before they are made up for at once.
const MAX_LAG: u64 = 128;
/// Entries that one packet looks at.
const LOOKS_PER_PACKET: u32 = 4;

/// The wheel's slots: heads of lists, as entry number + 1.
#[derive(Debug)]
pub(super) struct Wheel {
    heads: &'static mut [u32],
    /// Nanoseconds of a tick.
    tick: u64,
    /// 2^64 by that, rounded up: hanging an entry multiplies instead of dividing.
    ticks_per_ns: u128,
    /// The next tick whose slot is to be looked at.
    due: u64,
    /// When that tick begins (ns): saves the division. The beginning of time, when the next packet is to do something else.
    due_at: u64,
}

impl Wheel {
    pub(super) fn create(memory: &mut Memory, idle: u64) -> Result<Self, OutOfMemory> {
        let tick = (idle / TICKS_PER_IDLE).max(1);
        // Without a division of 128 bits, which the NIC's processor has not.
        let ticks_per_ns = u128::from(u64::MAX / tick) + 1;
        Ok(Self { heads: memory.take_u32(SLOTS)?, tick, ticks_per_ns, due: 0, due_at: 0 })
    }

    /// Whether there is a tick to look at.
    #[inline]
    pub(super) const fn is_due(&self, now: u64) -> bool {
        now >= self.due_at
    }

    /// Lets the next packet be one at which something is due.
    #[inline(always)]
    pub(super) const fn call(&mut self) {
        self.due_at = 0;
    }

    /// That is done.
    pub(super) const fn called(&mut self) {
        self.set_due(self.due);
    }

    const fn set_due(&mut self, tick: u64) {
        self.due = tick;
        self.due_at = tick.saturating_mul(self.tick);
    }

    fn head(&self, slot: u8) -> u32 {
        self.heads.get(usize::from(slot)).map_or(NONE, |head| head.wrapping_sub(1))
    }

    fn set_head(&mut self, slot: u8, entry: u32) {
        if let Some(head) = self.heads.get_mut(usize::from(slot)) {
            *head = entry.wrapping_add(1);
        }
    }

    /// The first tick at which an entry last used at `used` has expired; when that is past, as it may
    /// be of one that comes from the other side, the tick that is due. An entry that never expires is
    /// looked at all the same, once in an idle time.
    fn tick_of(&self, used: u64, idle: u64) -> u64 {
        if used == u64::MAX {
            return self.due + TICKS_PER_IDLE;
        }
        let end = used.saturating_add(idle).saturating_add(self.tick - 1);
        // At most one tick too late.
        let tick = (u128::from(end) * self.ticks_per_ns) >> 64;
        (tick as u64).max(self.due)
    }

    /// The next tick at which the slot is looked at.
    const fn next_look(&self, slot: u8) -> u64 {
        self.due + (slot as u64).wrapping_sub(self.due) % SLOTS as u64
    }
}

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Looks at a few entries whose tick has come; at all of them when it lags behind, or when
    /// `everything` is asked for.
    pub(super) fn expire(&mut self, now: u64, everything: bool) {
        let today = now.checked_div(self.wheel.tick).unwrap_or(0);
        if today < self.wheel.due {
            return;
        }
        let lag = today - self.wheel.due;
        // A jump over more than the whole wheel: each slot needs one look only.
        if lag >= SLOTS as u64 {
            self.wheel.set_due(today - (SLOTS as u64 - 1));
        }
        let mut looks = if everything || lag > MAX_LAG { u32::MAX } else { LOOKS_PER_PACKET };
        while self.wheel.due <= today {
            let slot = (self.wheel.due % SLOTS as u64) as u8;
            if !self.empty_slot(slot, now, &mut looks) {
                return;
            }
            self.wheel.set_due(self.wheel.due + 1);
        }
    }

    /// Looks at the entries of a slot; `false` when it ran out of looks.
    fn empty_slot(&mut self, slot: u8, now: u64, looks: &mut u32) -> bool {
        let mut entry = self.wheel.head(slot);
        while let Some(found) = self.entries.get(entry) {
            if *looks == 0 {
                return false;
            }
            *looks -= 1;
            let next = self.links.get(entry).map_or(NONE, |links| links.next);
            let (alive, used) = (found.is_alive(), found.used.get());
            let expired = self.expired_at(found, now);
            self.unhang(entry);
            if alive && expired {
                self.release_expired(entry);
            } else if alive {
                self.hang(entry, used);
            }
            entry = next;
        }
        true
    }

    /// Hangs an entry into the wheel, unless it hangs where it is looked at in time.
    #[inline(never)]
    pub(super) fn hang(&mut self, number: u32, used: u64) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        let tick = self.wheel.tick_of(used, Self::idle_of(self.shape.idle, &entry.value));
        let slot = (tick % SLOTS as u64) as u8;
        if entry.facts.has(Facts::HUNG) {
            if self.wheel.next_look(entry.wheel_slot) <= tick {
                return;
            }
            self.unhang(number);
        }
        let next = self.wheel.head(slot);
        if let Some(entry) = self.entries.get_mut(number) {
            entry.wheel_slot = slot;
            entry.facts = entry.facts.with(Facts::HUNG);
        }
        if let Some(links) = self.links.get_mut(number) {
            *links = Links { previous: NONE, next };
        }
        if let Some(links) = self.links.get_mut(next) {
            links.previous = number;
        }
        self.wheel.set_head(slot, number);
    }

    /// Notes that an entry is handed out to be changed, and settles the one before.
    #[inline]
    pub(super) fn touch(&mut self, number: u32) {
        if self.touched != number {
            self.settle_touched();
            self.touched = number;
        }
    }

    /// Hangs the entry that was handed out last where its value now says.
    #[inline(never)]
    pub(super) fn settle_touched(&mut self) {
        let number = core::mem::replace(&mut self.touched, NONE);
        if let Some(used) = self.entry(number).map(|entry| entry.used.get()) {
            self.hang(number, used);
        }
    }

    /// Takes an entry out of the wheel.
    #[inline(never)]
    fn unhang(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        entry.facts = entry.facts.without(Facts::HUNG);
        let slot = entry.wheel_slot;
        let Some(place) = self.links.get_mut(number) else { return };
        let links = core::mem::replace(place, Links::LOOSE);
        match self.links.get_mut(links.previous) {
            Some(previous) => previous.next = links.next,
            None => self.wheel.set_head(slot, links.next),
        }
        if let Some(next) = self.links.get_mut(links.next) {
            next.previous = links.previous;
        }
    }
}
