//! Expiry without scanning.
//!
//! A lazy timer wheel: each entry hangs in the slot of the tick at which it would expire if it were
//! never used again. Using an entry only writes its time. When its tick comes, the entry is looked
//! at: it expires, or hangs itself in the slot of its new tick. So an entry costs at most one look
//! per idle time, and a hit touches no list.
//!
//! An entry that is taken out stays where it hangs, free, until the wheel comes by; and if its
//! place is given to another one meanwhile, that one hangs there, since it will be used later than
//! the first and may be looked at too early, but not too late. So coming and going touches no list
//! either.
//!
//! With 64 ticks to an idle time, an entry is freed 1/64 of it late. Look-ups compare exact times,
//! so lateness shows nowhere but in when a place is free again; and an insertion that finds none
//! looks on until one is, or nothing is due.
//!
//! A packet looks at a few entries, however long the silence before it was: the wheel catches up
//! over the packets that follow, faster while it lags behind. It never goes round more than once
//! for that. An entry that is put back meanwhile hangs behind all slots that are still to be
//! emptied, so that a slot is emptied in so many looks as it has entries.
//!
//! Where entries say themselves how long they live unused, the ticks are those of the longest time.
//! A packet may change an entry so that it expires sooner than where it hangs. So when the next
//! entry is handed out, or the packet is through, the idle time of the one that was handed out last
//! is compared with the time it had before, and an entry with a shorter one is hung anew
//! ([`RawTable::settle_touched`]). Other tables have nothing of that.
//!
//! The wheel itself knows entries by their numbers, so that one copy of its code serves tables of
//! all types.

use super::super::memory::{Arena, bytes_for};
use super::super::{Memory, OutOfMemory};
use super::entry::{Facts, Links, NONE};
use super::raw::RawTable;
use crate::key::Key;
use crate::plain::Plain;

/// Slots. More than the ticks of an idle time, so that a wheel that does not lag behind finds an
/// entry when its tick comes.
const SLOTS: usize = 256;
const TICKS_PER_IDLE: u64 = 64;
/// Entries that one packet looks at.
const LOOKS_PER_PACKET: u32 = 4;
/// The same of a wheel that lags behind by more than so many ticks.
const LOOKS_BEHIND: u32 = 32;
const MAX_LAG: u64 = 128;

/// The wheel, and which entries hang in it.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Its slots: heads of lists, as entry number + 1.
    heads: &'static mut [u32],
    /// How entries hang in a slot together.
    links: Arena<Links>,
    /// Nanoseconds of a tick.
    tick: u64,
    /// 2^64 by that, rounded up: hanging an entry multiplies instead of dividing.
    ticks_per_ns: u128,
    /// The next tick whose slot is to be looked at.
    due: u64,
    /// When that tick begins (ns): saves the division. The beginning of time, when the next packet
    /// is to do something else.
    due_at: u64,
}

/// The entry that was last handed out to be changed, and how long it lived unused until then (ns).
#[derive(Debug)]
pub(super) struct Touched {
    number: u32,
    idle: u64,
}

impl Touched {
    /// No entry.
    pub(super) const NONE: Self = Self { number: NONE, idle: 0 };
}

/// A look at entries whose tick has come.
#[derive(Debug)]
struct Round {
    /// The tick that it is.
    today: u64,
    /// Entries that may still be looked at.
    looks: u32,
}

impl Wheel {
    /// Bytes of [`Memory`] that it takes, for so many entries.
    pub(super) const fn bytes(entries: usize) -> usize {
        Arena::<Links>::bytes(entries) + bytes_for::<u32>(SLOTS)
    }

    /// A wheel of which nothing is due, in this memory.
    #[inline(always)]
    pub(super) fn create(
        memory: &mut Memory,
        entries: usize,
        idle: u64,
    ) -> Result<Self, OutOfMemory> {
        let (heads, links) = (memory.take_u32(SLOTS)?, Arena::create(memory, entries)?);
        let tick = (idle / TICKS_PER_IDLE).max(1);
        // Without a division of 128 bits, which the NIC's processor has not.
        let ticks_per_ns = u128::from(u64::MAX / tick) + 1;
        Ok(Self { heads, links, tick, ticks_per_ns, due: 0, due_at: 0 })
    }

    /// There is one entry more, which hangs nowhere.
    pub(super) fn add(&mut self) {
        // As much room as for entries.
        let _ = self.links.push(Links::LOOSE);
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

    /// The first tick at which an entry last used at `used` has expired; when that is past, as it
    /// may be of one that comes from the other side, the tick that is due. An entry that never
    /// expires is looked at all the same, once in an idle time.
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

    /// Begins a look at a few entries, or at all that are due when `room` is looked for; none when
    /// there is nothing to look at.
    #[inline(never)]
    fn begin(&mut self, now: u64, room: bool) -> Option<Round> {
        let today = now.checked_div(self.tick).unwrap_or(0);
        let lag = today.checked_sub(self.due)?;
        // A jump over more than the whole wheel: each slot needs one look only.
        if lag >= SLOTS as u64 {
            self.set_due(today - (SLOTS as u64 - 1));
        }
        let looks = match lag {
            _ if room => u32::MAX,
            0..=MAX_LAG => LOOKS_PER_PACKET,
            _ => LOOKS_BEHIND,
        };
        Some(Round { today, looks })
    }

    /// Takes the next entry out that is to be looked at, of the slot that is due.
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

    /// Hangs an entry where it is looked at in time, unless it does already: in slot `hung`, if it
    /// hangs. Gives its slot.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn hang(&mut self, number: u32, hung: Option<u8>, used: u64, idle: u64) -> u8 {
        let tick = self.tick_of(used, idle);
        if let Some(slot) = hung {
            if self.next_look(slot) <= tick {
                return slot;
            }
            self.unlink(number, slot);
        }
        // One whose tick is more than a turn away is looked at too early, in the last slot of this
        // turn, rather than in one that is still to be emptied.
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

    /// Takes an entry out of the slot that it hangs in.
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

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Looks at a few entries whose tick has come; or at as many as it takes until there are fewer
    /// than `below`.
    pub(super) fn expire(&mut self, now: u64, below: Option<u32>) {
        let Some(mut round) = self.wheel.begin(now, below.is_some()) else { return };
        while let Some(number) = self.wheel.next(&mut round) {
            let Some(entry) = self.entries.get_mut(number) else { continue };
            entry.facts = entry.facts.without(Facts::HUNG);
            let used = entry.used.get();
            let Some(entry) = self.entry(number) else { continue };
            if self.expired_at(entry, now) {
                self.release_expired(number);
                if below.is_some_and(|below| self.len() < below) {
                    return;
                }
            } else {
                self.hang(number, used);
            }
        }
    }

    /// Hangs an entry into the wheel, unless it hangs where it is looked at in time.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn hang(&mut self, number: u32, used: u64) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        let hung = entry.facts.has(Facts::HUNG).then_some(entry.wheel_slot);
        let idle = Self::idle_of(self.shape.idle, &entry.value);
        entry.wheel_slot = self.wheel.hang(number, hung, used, idle);
        entry.facts = entry.facts.with(Facts::HUNG);
    }

    /// Notes that an entry is about to be handed out to be changed, and settles the one before.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn touch(&mut self, number: u32) {
        if self.touched.number != number {
            self.settle_touched();
            if let Some(entry) = self.entries.get(number) {
                let idle = Self::idle_of(self.shape.idle, &entry.value);
                self.touched = Touched { number, idle };
            }
        }
    }

    /// Hangs the entry that was handed out last where its value now says, if that is sooner than
    /// what it said before. Otherwise it may be looked at too early where it hangs, not too late. At
    /// the NIC it stands by itself, for its program is to be small.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn settle_touched(&mut self) {
        let Touched { number, idle } = core::mem::replace(&mut self.touched, Touched::NONE);
        let Some(entry) = self.entries.get(number) else { return };
        if Self::idle_of(self.shape.idle, &entry.value) < idle {
            core::hint::cold_path();
            self.hang_sooner(number);
        }
    }

    #[cold]
    #[inline(never)]
    fn hang_sooner(&mut self, number: u32) {
        if let Some(used) = self.entry(number).map(|entry| entry.used.get()) {
            self.hang(number, used);
        }
    }
}
