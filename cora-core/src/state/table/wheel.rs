//! Expiry without scanning.
//!
//! A lazy timer wheel: each entry is in the slot of the tick at which it would expire if it were
//! never used again. A use only writes the entry's time. At its tick, the entry is examined: it
//! expires, or moves to the slot of its new tick. So an entry costs at most one examination per
//! idle time, and a hit touches no list.
//!
//! A removed entry stays in its slot, free, until the tick. If its place is reused meanwhile, the
//! new entry takes over that slot: it expires later than the first, so it may be examined too
//! early, but not too late. So insert and remove touch no list either.
//!
//! With 64 ticks to an idle time, an entry is freed 1/64 of it late. Look-ups compare exact times,
//! so the delay is visible only in the time when a place becomes free. An insertion without a free
//! place continues until there is one, or nothing is due.
//!
//! A packet examines a few entries, regardless of the silence before it: the wheel catches up over
//! the following packets, faster if it lags behind. It never makes more than one turn for that. An
//! entry that moves to a new slot meanwhile goes behind all slots that are still to be emptied. So
//! the number of examinations to empty a slot equals its number of entries.
//!
//! If entries have their own idle times, the ticks are those of the longest. A packet may change an
//! entry so that it expires before its slot's tick. So when the next entry is handed out, or the
//! packet is completed, the idle time of the last one handed out is compared with its old one. An
//! entry with a shorter time moves to an earlier slot ([`RawTable::reschedule_touched`]). Other
//! tables skip this.
//!
//! Entries that never expire are in no slot.
//!
//! The wheel addresses entries by number, so that one copy of its code serves tables of all types.

use super::super::memory::{Arena, bytes_for};
use super::super::{Memory, OutOfMemory};
use super::entry::{Facts, Links, NONE};
use super::hooked::DELAY;
use super::lived::NEVER;
use super::raw::{RawTable, Shape};
use crate::key::EntryKey;
use crate::plain::Plain;

/// Number of slots. Exceeds the ticks of an idle time, so that a wheel without lag examines an
/// entry at its tick.
const SLOTS: usize = 256;
const TICKS_PER_IDLE: u64 = 64;
/// The idle time (ns) that ticks are for if the longest is unknown: that of UDP after RFC 4787
/// (REQ-5). An entry with a longer one is examined once per turn, which is four times that.
const USUAL: u64 = 300_000_000_000;
/// Entries that one packet examines.
const LOOKS_PER_PACKET: u32 = 4;
/// The same for a wheel with a lag of more than [`MAX_LAG`] ticks.
const LOOKS_BEHIND: u32 = 32;
const MAX_LAG: u64 = 128;

/// The wheel, with the links of its entries.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Its slots: list heads, as entry number + 1.
    heads: &'static mut [u32],
    /// The links between entries of a slot.
    links: Arena<Links>,
    /// Nanoseconds of a tick.
    tick: u64,
    /// 2^64 divided by `tick`, rounded up: linking an entry multiplies instead of dividing.
    ticks_per_ns: u128,
    /// The next tick with a slot to be examined.
    due: u64,
    /// When that tick begins (ns); saves the division. Zero if the next packet has other due work.
    due_at: u64,
}

/// The entry last handed out for a change, with its idle time (ns) at that moment.
#[derive(Debug)]
pub(super) struct Touched {
    number: u32,
    idle: u64,
}

impl Touched {
    /// No entry.
    pub(super) const NONE: Self = Self { number: NONE, idle: 0 };
}

/// One pass over due entries.
#[derive(Debug)]
struct Round {
    /// The current tick.
    today: u64,
    /// Entries that may still be examined.
    looks: u32,
}

impl Wheel {
    /// Bytes of [`Memory`] for this many entries.
    pub(super) const fn bytes(entries: usize) -> usize {
        Arena::<Links>::bytes(entries) + bytes_for::<u32>(SLOTS)
    }

    /// A wheel without due entries, in this memory, with ticks of so many nanoseconds.
    #[inline(always)]
    pub(super) fn create(
        memory: &mut Memory,
        entries: usize,
        tick: u64,
    ) -> Result<Self, OutOfMemory> {
        let (heads, links) = (memory.take_u32(SLOTS)?, Arena::create(memory, entries)?);
        let tick = tick.max(1);
        // Avoids a 128-bit division, which the NIC's processor lacks.
        let ticks_per_ns = u128::from(u64::MAX / tick) + 1;
        Ok(Self { heads, links, tick, ticks_per_ns, due: 0, due_at: 0 })
    }

    /// Adds an entry that is in no slot.
    pub(super) fn add(&mut self) {
        // As much space as for entries, so this succeeds.
        let _ = self.links.push(Links::LOOSE);
    }

    /// Whether a tick is due.
    #[inline]
    pub(super) const fn is_due(&self, now: u64) -> bool {
        now >= self.due_at
    }

    /// The earliest time (ns) at which a hook may be due of an entry that was not examined yet. Its
    /// slot begins two ticks after its end at most, and with hooks two ticks are [`DELAY`]/2 at
    /// most.
    #[inline]
    pub(super) const fn next_hook(&self) -> u64 {
        self.due_at.saturating_add(DELAY / 2)
    }

    /// Makes the next packet do due work.
    #[inline(always)]
    pub(super) const fn call(&mut self) {
        self.due_at = 0;
    }

    /// Marks that work as done.
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

    /// The first tick at which an entry last used at `used` has expired. If that is in the past, as
    /// it may be for one from the other side, the due tick. An entry that never expires is still
    /// examined once per idle time.
    fn tick_of(&self, used: u64, idle: u64) -> u64 {
        if used == u64::MAX {
            return self.due + TICKS_PER_IDLE;
        }
        let end = used.saturating_add(idle).saturating_add(self.tick - 1);
        // At most one tick too late.
        let tick = (u128::from(end) * self.ticks_per_ns) >> 64;
        (tick as u64).max(self.due)
    }

    /// The next tick at which the slot is examined.
    const fn next_look(&self, slot: u8) -> u64 {
        self.due + (slot as u64).wrapping_sub(self.due) % SLOTS as u64
    }

    /// Begins a pass over a few entries, or over `all` that are due; `None` if nothing is due.
    #[inline(never)]
    fn begin(&mut self, now: u64, all: bool) -> Option<Round> {
        let today = now.checked_div(self.tick).unwrap_or(0);
        let lag = today.checked_sub(self.due)?;
        // A jump over more than the whole wheel: one examination of each slot suffices.
        if lag >= SLOTS as u64 {
            self.set_due(today - (SLOTS as u64 - 1));
        }
        let looks = match lag {
            _ if all => u32::MAX,
            0..=MAX_LAG => LOOKS_PER_PACKET,
            _ => LOOKS_BEHIND,
        };
        Some(Round { today, looks })
    }

    /// Removes the next entry to be examined from the due slot.
    #[inline(never)]
    fn next(&mut self, round: &mut Round) -> Option<u32> {
        while self.due <= round.today {
            let slot = (self.due % SLOTS as u64) as u8;
            let number = self.head(slot);
            if self.links.get(number).is_some() {
                round.looks = round.looks.checked_sub(1)?;
                self.unlink(number, slot);
                return Some(number);
            }
            self.set_due(self.due + 1);
        }
        None
    }

    /// Links an entry into a slot that is examined in time, unless it is linked into such a slot.
    /// Returns its slot.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn schedule(&mut self, number: u32, linked: Option<u8>, used: u64, idle: u64) -> u8 {
        let tick = self.tick_of(used, idle);
        if let Some(slot) = linked {
            if self.next_look(slot) <= tick {
                return slot;
            }
            self.unlink(number, slot);
        }
        // An entry more than one turn ahead is examined too early, in the last slot of this turn,
        // instead of joining a slot that is still to be emptied.
        let slot = (tick.min(self.due + (SLOTS as u64 - 1)) % SLOTS as u64) as u8;
        let next = self.head(slot);
        if let Some(links) = self.links.get_mut(number) {
            *links = Links { previous: NONE, next };
        }
        if let Some(links) = self.links.get_mut(next) {
            links.previous = number;
        }
        self.set_head(slot, number);
        slot
    }

    /// Unlinks an entry from its slot.
    #[inline(never)]
    fn unlink(&mut self, number: u32, slot: u8) {
        let Some(place) = self.links.get_mut(number) else { return };
        let links = core::mem::replace(place, Links::LOOSE);
        match self.links.get_mut(links.previous) {
            Some(previous) => previous.next = links.next,
            None => self.set_head(slot, links.next),
        }
        if let Some(next) = self.links.get_mut(links.next) {
            next.previous = links.previous;
        }
    }
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Nanoseconds of a tick. An entry is examined two ticks after its end at the latest; with a
    /// hook, that is well before the hook's time.
    #[inline(always)]
    pub(super) const fn tick(shape: Shape) -> u64 {
        // Of entries with idle times of their own, the longest may be unknown.
        let longest = if V::IDLE_VARIES && shape.idle == NEVER { USUAL } else { shape.idle };
        let tick = longest / TICKS_PER_IDLE;
        if V::HOOKED && tick > DELAY / 4 { DELAY / 4 } else { tick }
    }

    /// Examines a few due entries, or all if their ends have a hook; or as many as necessary to get
    /// fewer entries than `below`.
    pub(super) fn expire(&mut self, now: u64, below: Option<u32>) {
        let all = V::HOOKED || below.is_some();
        let Some(mut round) = self.wheel.begin(now, all) else { return };
        while self.may_expire()
            && let Some(number) = self.wheel.next(&mut round)
        {
            let Some(entry) = self.entries.get_mut(number) else { continue };
            entry.facts = entry.facts.without(Facts::SCHEDULED);
            let used = entry.used.get();
            let Some(entry) = self.entry(number) else { continue };
            if V::HOOKED && entry.facts.has(Facts::MOVED) {
                // It is about to leave for the other side, which notices its end.
                continue;
            }
            if self.expired_at(entry, now) {
                self.release_expired(number);
                if below.is_some_and(|below| self.len() < below) {
                    return;
                }
            } else {
                self.schedule(number, used);
            }
        }
    }

    /// Links the entry into the wheel, unless its slot is examined in time.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn schedule(&mut self, number: u32, used: u64) {
        if const { !Self::EXPIRES } {
            return;
        }
        let Some(entry) = self.entries.get_mut(number) else { return };
        let linked = entry.facts.has(Facts::SCHEDULED).then_some(entry.wheel_slot);
        let mut idle = Self::idle_of(self.shape.idle, &entry.value);
        if const { V::LIVES } {
            idle = idle.min(entry.value.dies().saturating_sub(used));
        }
        if const { V::FOREVER } && idle == NEVER {
            return;
        }
        entry.wheel_slot = self.wheel.schedule(number, linked, used, idle);
        entry.facts = entry.facts.with(Facts::SCHEDULED);
    }

    /// Records that an entry is about to be handed out for a change, and settles the previous one.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn touch(&mut self, number: u32) {
        if self.touched.number != number {
            self.reschedule_touched();
            if let Some(entry) = self.entries.get(number) {
                let idle = Self::idle_of(self.shape.idle, &entry.value);
                self.touched = Touched { number, idle };
            }
        }
    }

    /// Moves the entry last handed out to the slot for its new idle time, if that is shorter than
    /// before. A longer one is examined too early in its slot, but not too late. Not inlined at the
    /// NIC, to save code size.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn reschedule_touched(&mut self) {
        let Touched { number, idle } = core::mem::replace(&mut self.touched, Touched::NONE);
        let Some(entry) = self.entries.get(number) else { return };
        if Self::idle_of(self.shape.idle, &entry.value) < idle {
            core::hint::cold_path();
            self.schedule_sooner(number);
        }
    }

    #[cold]
    #[inline(never)]
    fn schedule_sooner(&mut self, number: u32) {
        self.schedule_again(number);
    }

    /// Moves the entry to an earlier slot, if it ends before its slot's tick.
    pub(super) fn schedule_again(&mut self, number: u32) {
        if let Some(used) = self.entry(number).map(|entry| entry.used.get()) {
            self.schedule(number, used);
        }
    }
}
