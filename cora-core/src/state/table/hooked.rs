//! Expired entries of a state with a hook (`#[on_expire]`), until the hook has run.
//!
//! An entry ends at a time that every plan agrees on: its last use plus its idle time, or its
//! insertion plus its life. Which side
//! notices that, and when, depends on the plan. So the hook does not run at the end but [`DELAY`]
//! later in packet time, and before the first packet from then on. Until then, the side that runs
//! hooks has heard of every entry that ended. Hooks run in the order of the ends, and of the keys
//! among equal ends. So a hook runs between the same two packets under every plan.
//!
//! Entries of such a state live at least [`SHORTEST`]. So those that end within less than that all
//! lived at one moment, and there is room for all of them. The wheel of such a table has short
//! ticks, examines whatever is due, and stops while there is no room.
//!
//! Tables of other states keep nothing, and none of this code is compiled for them.

use super::super::memory::Arena;
use super::super::{Keyed, Malformed, Memory, OutOfMemory, Table};
use super::apart::Apart;
use super::entry::{NONE, Whole};
use super::lived::Holds as _;
use super::raw::{RawTable, Shape};
use super::scope::Scope as _;
use crate::bucket::Mark;
use crate::key::EntryKey;
use crate::plain::Plain;

/// How much later than its entry's end a hook runs (ns of packet time).
pub const DELAY: u64 = 1_000_000_000;

/// When the hook runs of an entry that ended at `end` (ns).
#[doc(hidden)]
#[inline]
#[must_use]
pub const fn hook_time(end: u64) -> u64 {
    end.saturating_add(DELAY)
}

/// The shortest idle time of an entry whose end has a hook (ns).
pub const SHORTEST: u64 = 2 * DELAY;

/// Places beyond those for all entries: look-ups and insertions free expired entries, too, and only
/// the wheel asks for room.
const BEYOND: usize = 64;

/// An entry that expired, as its hook gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended<S: Keyed> {
    /// The key that it was inserted under.
    pub key: S::Key,
    /// Its value.
    pub entry: S,
    /// When it ended (ns of packet time): its last use plus its idle time, or its insertion plus
    /// its life, whichever was first.
    pub at: u64,
}

/// What changed among the expired entries of a durable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting<'a> {
    /// An entry waits for its hook: the bytes that identify it, the whole entry, which begins with
    /// them, and its [bucket](Hooked::take_expired).
    Is(&'a [u8], &'a [u8], u8),
    /// The hook of the entry with this identification has run.
    Ran(&'a [u8]),
}

/// A table whose entries' ends have a hook, for the migration protocol.
pub trait Hooked {
    /// Frees the entries that expired by `now`, which no waiting packet finds any more. `false`:
    /// more are due, and there is no room until those here were told.
    fn expire_by(&mut self, now: u64) -> bool;

    /// Frees the flow's entries that expired by `now`, before the others move: the flow's replicas
    /// then are of these alone.
    fn expire_flow(&mut self, flow: u32, now: u64);

    /// Reports the expired entries, whole and encoded, and forgets them: the other side runs their
    /// hooks.
    fn tell_expired(&mut self, tell: &mut dyn FnMut(&[u8]));

    /// Takes an expired entry from the other side, or from its replica. If flows are buckets, it
    /// was of this one; otherwise the number means nothing.
    ///
    /// # Errors
    /// If the bytes encode no entry, or if there is no room for it.
    fn take_expired(&mut self, piece: &[u8], bucket: u8) -> Result<(), Malformed>;

    /// Bytes at the beginning of an encoded entry that identify it among expired ones.
    fn ended_key_bytes(&self) -> usize;

    /// Reports what changed since the last call, for the replicas of a durable state.
    fn tell_waiting(&mut self, tell: &mut dyn FnMut(Waiting<'_>));

    /// Visits the entries that wait for their hooks, encoded, in no particular order.
    fn each_expired(&self, visit: &mut dyn FnMut(&[u8]));

    /// Whether [`Self::tell_waiting`] has anything to report.
    fn has_news(&self) -> bool;

    /// Forgets all expired entries: what their hooks would change is lost.
    fn discard_expired(&mut self);
}

/// Facts of a place.
pub(super) const WAITS: u8 = 1;
/// It is on the list of places whose entry has no replica.
const LISTED: u8 = 2;
/// There is a replica of its entry.
pub(super) const COPIED: u8 = 4;

/// A place for an expired entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<K, V> {
    /// When it ended; in a free place, the number of the next free one.
    pub(super) end: u64,
    pub(super) whole: Whole<K, V>,
    /// The next one that is kept [apart](super::apart).
    pub(super) next: u32,
    pub(super) facts: u8,
    /// If flows are buckets: the one that it was of.
    pub(super) bucket: u8,
}

/// The expired entries that wait for their hooks.
#[derive(Debug)]
pub(super) struct Expired<K: 'static, V: 'static> {
    pub(super) places: Arena<Place<K, V>>,
    free: u32,
    /// A heap of ends and places, the earliest first. Those from `waiting` on are void.
    pub(super) order: Arena<(u64, u32)>,
    pub(super) waiting: usize,
    /// Those whose buckets move.
    pub(super) apart: Apart,
    /// The earliest end; the maximum if none waits.
    pub(super) next: u64,
    /// For a durable state: places whose entries may need a replica.
    uncopied: Arena<u32>,
    /// For a durable state: entries with a replica whose hooks ran.
    ran: Arena<Whole<K, V>>,
    /// Entries without a place.
    lost: u64,
}

impl<K: EntryKey, V: Plain> Expired<K, V> {
    /// Numbers of places, and of notes for replicas. A host may hold entries up to its capacity and
    /// in its spare places, and a NIC as many as its capacity: all of them may end within a second.
    const fn room(shape: Shape) -> (usize, usize) {
        let places = 2 * shape.capacity as usize + shape.spare as usize + BEYOND;
        match (V::HOOKED, V::DURABLE) {
            (true, true) => (places, places),
            (true, false) => (places, 0),
            (false, _) => (0, 0),
        }
    }

    pub(super) const fn bytes(shape: Shape) -> usize {
        let (places, notes) = Self::room(shape);
        Arena::<Place<K, V>>::bytes(places)
            + Arena::<(u64, u32)>::bytes(places)
            + Arena::<u32>::bytes(notes)
            + Arena::<Whole<K, V>>::bytes(notes)
    }

    pub(super) fn create(memory: &mut Memory, shape: Shape) -> Result<Self, OutOfMemory> {
        let mut none = Self {
            places: Arena::empty(),
            free: NONE,
            order: Arena::empty(),
            waiting: 0,
            apart: Apart::NONE,
            next: u64::MAX,
            uncopied: Arena::empty(),
            ran: Arena::empty(),
            lost: 0,
        };
        if const { V::HOOKED } {
            let (places, notes) = Self::room(shape);
            none.places = Arena::create(memory, places)?;
            none.order = Arena::create(memory, places)?;
            if const { V::DURABLE } {
                none.uncopied = Arena::create(memory, notes)?;
                none.ran = Arena::create(memory, notes)?;
            }
        }
        Ok(none)
    }

    /// Whether the wheel may free another entry.
    fn has_room(&self) -> bool {
        self.waiting + self.apart.count + BEYOND < self.places.capacity()
    }

    /// Keeps an entry of a flow until its hook runs. `false`: there is no place.
    pub(super) fn keep(&mut self, end: u64, whole: &Whole<K, V>, facts: u8, flow: u32) -> bool {
        let bucket = flow as u8;
        let place = Place { end, whole: *whole, next: NONE, facts: WAITS | facts, bucket };
        let number = match self.places.get_mut(self.free) {
            Some(free) => {
                let number = self.free;
                self.free = free.end as u32;
                let listed = free.facts & LISTED;
                *free = Place { facts: place.facts | listed, ..place };
                number
            }
            None => match self.places.push(place) {
                Ok(number) => number,
                Err(_) => return false,
            },
        };
        self.put_in_order((end, number), bucket);
        if const { V::DURABLE } {
            self.list(number);
        }
        true
    }

    /// Lists the place for a replica, unless there is one or it is listed.
    fn list(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(number) else { return };
        if place.facts & (LISTED | COPIED) == 0 && self.uncopied.push(number).is_ok() {
            place.facts |= LISTED;
        }
    }

    /// Takes the entry that ended first, with its end.
    pub(super) fn take_first(&mut self) -> Option<(u64, Whole<K, V>)> {
        let &(end, number) = self.order.get(0).filter(|_| self.waiting > 0)?;
        self.sift_down();
        Some((end, self.vacate(number)?))
    }

    /// Frees a place that is neither in order nor apart.
    pub(super) fn vacate(&mut self, number: u32) -> Option<Whole<K, V>> {
        let place = self.places.get_mut(number)?;
        let whole = place.whole;
        let copied = place.facts & COPIED != 0;
        place.facts &= LISTED;
        place.end = u64::from(self.free);
        self.free = number;
        if copied {
            // As many as there are places, and each is told before its place is copied again.
            let _ = self.ran.push(whole);
        }
        Some(whole)
    }
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Whether anything happens when an entry ends.
    pub(super) const NOTES_ENDS: bool = V::RECORDED || V::HOOKED;

    /// Bytes at the beginning of an encoded entry that identify it among expired ones: its keys and
    /// its last use.
    const ENDED_NAME: usize = Self::NAME + K::SIZE + 8;

    /// Whether the wheel may free another entry.
    pub(super) fn may_expire(&self) -> bool {
        !V::HOOKED || self.expired.has_room()
    }

    /// Keeps an expired entry until its hook runs.
    #[inline(never)]
    pub(super) fn keep_expired(&mut self, whole: &Whole<K, V>, flow: u32) {
        let end = self.end_of(whole);
        self.keep_ended(end, whole, flow);
    }

    /// The same of an entry that was evicted just now.
    #[inline(never)]
    pub(super) fn keep_evicted(&mut self, whole: &Whole<K, V>, flow: u32) {
        self.keep_ended(self.now(), whole, flow);
    }

    fn keep_ended(&mut self, end: u64, whole: &Whole<K, V>, flow: u32) {
        self.expired.lost += u64::from(!self.expired.keep(end, whole, 0, flow));
    }

    pub(super) fn end_of(&self, whole: &Whole<K, V>) -> u64 {
        let unused = whole.used.saturating_add(Self::idle_of(self.shape.idle, &whole.value));
        if const { V::LIVES } { unused.min(whole.value.dies()) } else { unused }
    }

    /// The end of the entry whose hook is next; the maximum if there is none.
    #[inline(always)]
    pub(crate) const fn next_end(&self) -> u64 {
        self.expired.next
    }

    /// No hook is due before this time (ns): neither of an entry that is known to have ended, nor
    /// of one that the wheel has still to examine.
    #[inline(always)]
    pub(crate) const fn next_hook(&self) -> u64 {
        let (known, unknown) = (hook_time(self.expired.next), self.wheel.next_hook());
        if known < unknown { known } else { unknown }
    }

    fn ended_mark(&self) -> Option<Mark> {
        let (_, number) = self.expired.order.get(0).filter(|_| self.expired.waiting > 0)?;
        let whole = &self.expired.places.get(*number)?.whole;
        self.mark_of(&whole.key, whole.of_second)
    }

    /// Number of expired entries that were lost for want of room.
    pub const fn lost_ends(&self) -> u64 {
        self.expired.lost
    }
}

impl<K: EntryKey, V: Plain> Hooked for RawTable<K, V> {
    fn expire_by(&mut self, now: u64) -> bool {
        self.visit.now = self.visit.now.max(now);
        self.visit.horizon = self.visit.horizon.max(now);
        if self.wheel.is_due(now) {
            self.expire(now, None);
        }
        self.may_expire()
    }

    fn expire_flow(&mut self, flow: u32, now: u64) {
        let mut number = self.by_flow.first(flow);
        while number != NONE {
            let next = self.by_flow.next(number);
            if self.entry(number).is_some_and(|entry| self.expired_at(entry, now)) {
                self.release_expired(number);
            }
            number = next;
        }
    }

    fn tell_expired(&mut self, tell: &mut dyn FnMut(&[u8])) {
        if self.expired.waiting > 0 {
            self.each_expired(tell);
            self.discard_expired();
        }
    }

    fn take_expired(&mut self, piece: &[u8], bucket: u8) -> Result<(), Malformed> {
        let whole = Self::decode(piece).ok_or(Malformed)?;
        let kept = self.expired.keep(self.end_of(&whole), &whole, COPIED, bucket.into());
        if kept { Ok(()) } else { Err(Malformed) }
    }

    fn ended_key_bytes(&self) -> usize {
        Self::ENDED_NAME
    }

    fn tell_waiting(&mut self, tell: &mut dyn FnMut(Waiting<'_>)) {
        for at in 0..self.expired.ran.len() as u32 {
            if let Some(whole) = self.expired.ran.get(at) {
                Self::encode(whole, &mut |piece| {
                    tell(Waiting::Ran(piece.get(..Self::ENDED_NAME).unwrap_or_default()));
                });
            }
        }
        self.expired.ran.clear();
        for at in 0..self.expired.uncopied.len() as u32 {
            let number = self.expired.uncopied.get(at).copied().unwrap_or(NONE);
            let Some(place) = self.expired.places.get_mut(number) else { continue };
            place.facts &= !LISTED;
            if place.facts & WAITS != 0 {
                place.facts |= COPIED;
                let bucket = place.bucket;
                Self::encode(&place.whole, &mut |piece| {
                    let name = piece.get(..Self::ENDED_NAME).unwrap_or_default();
                    tell(Waiting::Is(name, piece, bucket));
                });
            }
        }
        self.expired.uncopied.clear();
    }

    fn each_expired(&self, visit: &mut dyn FnMut(&[u8])) {
        for at in 0..self.expired.waiting as u32 {
            let number = self.expired.order.get(at).map_or(NONE, |(_, number)| *number);
            if let Some(place) = self.expired.places.get(number) {
                Self::encode(&place.whole, visit);
            }
        }
        self.expired.each_apart(&mut |whole| Self::encode(whole, visit));
    }

    fn has_news(&self) -> bool {
        self.expired.ran.len() + self.expired.uncopied.len() > 0
    }

    fn discard_expired(&mut self) {
        let Expired { places, order, uncopied, ran, .. } = &mut self.expired;
        places.clear();
        order.clear();
        uncopied.clear();
        ran.clear();
        self.expired.waiting = 0;
        self.expired.apart.forget();
        self.expired.free = NONE;
        self.expired.next = u64::MAX;
    }
}

/// For generated code.
impl<S: Keyed> Table<S> {
    /// The end of the entry whose hook is next; the maximum if none waits.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub const fn next_end(&self) -> u64 {
        self.raw.next_end()
    }

    /// No hook is due before this time (ns).
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub const fn next_hook(&self) -> u64 {
        self.raw.next_hook()
    }

    /// The mark of the packets that the entry was of whose hook is next, where ports decide
    /// buckets.
    #[doc(hidden)]
    #[must_use]
    pub fn ended_mark(&self) -> Mark {
        self.raw.ended_mark().unwrap_or_default()
    }

    /// Takes the entry whose hook is next.
    #[doc(hidden)]
    #[must_use]
    pub fn take_ended(&mut self) -> Option<Ended<S>> {
        let (at, whole) = self.raw.expired.take_first()?;
        Some(Ended { key: *S::Scope::key(&whole.key), entry: *whole.value.value(), at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Address, SourceAddress};
    use crate::plain::Describe;
    use crate::state::table::prefetch::ALONE;
    use crate::state::table::{Durable as _, Travelling as _};
    use crate::state::{NO_FLOW, Visit, memory_for_tests};
    use core::time::Duration;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000_000;

    /// A number, and an idle time (ns).
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Held(u64, u64);

    impl Plain for Held {
        const SIZE: usize = 16;
        const DURABLE: bool = true;
        const HOOKED: bool = true;
        const IDLE_VARIES: bool = true;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
            self.1.put(&mut out[8..]);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            Some(Self(u64::get(bytes)?, u64::get(bytes.get(8..)?)?))
        }
        fn describe(&self, to: &mut dyn Describe) {
            self.0.describe(to);
        }
        fn idle_time(&self) -> Duration {
            Duration::from_nanos(self.1)
        }
    }

    type Tested = RawTable<SourceAddress, Held>;

    /// Few draws, so that Miri is done soon.
    const fn scaled(count: u64) -> u64 {
        if cfg!(miri) { count / 16 } else { count }
    }

    /// A sequence of numbers that looks like chance.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 33) % end
        }
    }

    fn sized(capacity: u32, idle: u64) -> Tested {
        let shape = Shape { capacity, spare: capacity, idle, reply: false };
        let mut memory = memory_for_tests(Tested::bytes(shape) + 4096);
        let mut table = Tested::create(&mut memory, shape).unwrap();
        table.attach(&mut memory_for_tests(1 << 16), 8).unwrap();
        table
    }

    fn table() -> Tested {
        sized(8, 4 * SECOND)
    }

    fn key(last: u64) -> SourceAddress {
        SourceAddress(Address::v4([10, 0, (last >> 8) as u8, last as u8]))
    }

    fn visit(table: &mut Tested, now: u64, flow: u32) {
        table.begin(Visit { now, horizon: now, undo: false, flow, ahead: ALONE });
    }

    /// A table with one entry of flow 3: it ends at 4.1 s, which is amid a tick of the wheel.
    fn with_one() -> (Tested, u64) {
        let mut table = table();
        visit(&mut table, SECOND / 10, 3);
        table.insert(key(1), None, Held(1, 4 * SECOND)).unwrap();
        (table, 4 * SECOND + SECOND / 10)
    }

    /// An encoded entry.
    fn piece(number: u64, used: u64, idle: u64) -> Vec<u8> {
        let (key, value) = (key(number), Held(number, idle));
        let whole = Whole { key, reply: key, used, value, of_second: false };
        let mut bytes = Vec::new();
        Tested::encode(&whole, &mut |piece| bytes = piece.to_vec());
        bytes
    }

    /// The entries that wait for their hooks, in the order of the hooks: numbers and ends.
    fn hooks(table: &mut Tested) -> Vec<(u64, u64)> {
        let next = |table: &mut Tested| table.expired.take_first();
        std::iter::from_fn(|| next(table)).map(|(end, whole)| (whole.value.0, end)).collect()
    }

    /// What replicas learn of, by number: entries that wait, and entries whose hooks ran.
    fn news(table: &mut Tested) -> (Vec<u64>, Vec<u64>) {
        let (mut waiting, mut ran) = (Vec::new(), Vec::new());
        let known = |name: &[u8]| {
            let [.., high, low] = SourceAddress::get(name)?.0.as_v4()?;
            Some(u64::from(high) << 8 | u64::from(low))
        };
        table.tell_waiting(&mut |what| match what {
            Waiting::Is(name, piece, _) => {
                assert!(piece.starts_with(name) && name.len() == Tested::ENDED_NAME);
                waiting.push(Tested::decode(piece).unwrap().value.0);
            }
            Waiting::Ran(name) => {
                assert_eq!(name.len(), Tested::ENDED_NAME);
                ran.push(known(name).unwrap());
            }
        });
        (waiting, ran)
    }

    #[test]
    fn hooks_come_by_end_and_key_whatever_came_first() {
        for seed in 0..scaled(48) {
            let (mut draw, mut table, mut model) = (Draw(seed), table(), BTreeSet::new());
            for _ in 0..scaled(400) {
                let number = draw.below(1000);
                let used = draw.below(6);
                let bytes = piece(number, used, 3 * SECOND);
                let name = bytes[..Tested::NAME].to_vec();
                if model.len() < 64 && model.insert((used + 3 * SECOND, name, number)) {
                    table.take_expired(&bytes, 0).unwrap();
                }
                if draw.below(3) == 0 {
                    let first = model.pop_first().map(|(end, _, number)| (number, end));
                    let next = table.expired.take_first();
                    assert_eq!(next.map(|(end, whole)| (whole.value.0, end)), first, "seed {seed}");
                }
                let first = model.first().map_or(u64::MAX, |(end, ..)| *end);
                assert_eq!(table.next_end(), first, "seed {seed}");
            }
            let rest: Vec<_> = model.into_iter().map(|(end, _, number)| (number, end)).collect();
            assert_eq!(hooks(&mut table), rest, "seed {seed}");
            assert_eq!(table.lost_ends(), 0);
        }
    }

    #[test]
    fn an_end_is_noted_once_however_it_is_noticed() {
        type Way = (&'static str, fn(&mut Tested, u64));
        let ways: [Way; 6] = [
            ("a look-up", |table, end| {
                visit(table, end, NO_FLOW);
                assert!(table.find_mut(&key(1)).is_none());
            }),
            ("an insertion", |table, end| {
                visit(table, end, NO_FLOW);
                table.insert(key(1), None, Held(2, 4 * SECOND)).unwrap();
                table.remove(&key(1)).unwrap();
            }),
            ("the wheel", |table, end| visit(table, end + DELAY / 2, NO_FLOW)),
            ("a handover", |table, end| {
                assert_eq!(table.take_out(3, end, 8, &mut |_| panic!("it expired")), 0);
            }),
            ("a move of its flow", |table, end| table.expire_flow(3, end)),
            ("the end of its flow", |table, _| table.remove_flow(3)),
        ];
        for (way, notice) in ways {
            let (mut table, end) = with_one();
            visit(&mut table, end - 1, NO_FLOW);
            assert!(table.expire_by(end - 1));
            assert_eq!((table.next_end(), table.len()), (u64::MAX, 1), "{way}: it lives");
            notice(&mut table, end);
            assert!(table.expire_by(end + 9 * SECOND));
            assert_eq!(table.len(), 0, "{way}");
            assert_eq!(hooks(&mut table), [(1, end)], "{way}");
        }
    }

    #[test]
    fn only_what_expired_ends_before_its_flow_moves() {
        let (mut table, end) = with_one();
        visit(&mut table, 2 * SECOND, 3);
        table.insert(key(2), None, Held(2, 4 * SECOND)).unwrap();
        visit(&mut table, 2 * SECOND, 4);
        table.insert(key(3), None, Held(3, 2 * SECOND)).unwrap();
        table.expire_flow(3, end - 1);
        assert_eq!(hooks(&mut table), []);
        table.expire_flow(3, end);
        assert_eq!((hooks(&mut table), table.len()), (Vec::from([(1, end)]), 2));
    }

    #[test]
    fn what_comes_late_from_the_other_side_has_ended() {
        let ways: [fn(&mut Tested, &[u8]) -> bool; 3] = [
            |table, piece| table.import_entry(piece, 4, 8).is_ok(),
            |table, piece| table.take_back(piece, 4).is_ok(),
            |table, piece| table.restore(piece, 4, 0).is_ok(),
        ];
        for come in ways {
            let mut table = table();
            visit(&mut table, 4 * SECOND, 4);
            assert!(come(&mut table, &piece(1, 0, 4 * SECOND)));
            assert_eq!((hooks(&mut table), table.len()), (Vec::from([(1, 4 * SECOND)]), 0));
        }
    }

    #[test]
    fn what_is_removed_or_moves_does_not_end() {
        let (mut table, end) = with_one();
        table.remove(&key(1)).unwrap();
        assert!(table.expire_by(end + SECOND));
        assert_eq!(hooks(&mut table), []);

        let (mut table, end) = with_one();
        assert_eq!(table.take_out(3, end - 1, 8, &mut |_| {}), 1);
        assert!(table.expire_by(end + SECOND));
        assert_eq!(hooks(&mut table), []);

        // It stays until its flow's record is removed, even if that takes longer than it lives.
        let (mut table, end) = with_one();
        table.disown(3, end - 1);
        assert!(table.expire_by(end + SECOND));
        assert_eq!(table.len(), 1);
        table.remove_flow(3);
        assert_eq!((hooks(&mut table), table.len()), (Vec::new(), 0));
    }

    #[test]
    fn the_wheel_waits_for_room_and_goes_on() {
        let mut table = sized(4, 4 * SECOND);
        // Places for twelve entries, and those beyond.
        for (round, now) in (0..4).map(|round| (round, round * 10 * SECOND)) {
            visit(&mut table, now, NO_FLOW);
            for number in 0..4 {
                table.insert(key(number), None, Held(10 * round + number, 4 * SECOND)).unwrap();
            }
        }
        let mut told = Vec::new();
        let tell = |table: &mut Tested, told: &mut Vec<u64>| {
            table.tell_expired(&mut |piece| told.push(Tested::decode(piece).unwrap().value.0));
        };
        assert!(!table.expire_by(40 * SECOND));
        assert_eq!((table.len(), told.len()), (4, 0), "twelve wait");
        tell(&mut table, &mut told);
        assert_eq!((told.len(), table.next_end()), (12, u64::MAX));
        assert!(table.expire_by(40 * SECOND));
        tell(&mut table, &mut told);
        told.sort_unstable();
        assert_eq!(told, [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33]);
        assert_eq!((table.len(), table.lost_ends()), (0, 0));
        tell(&mut table, &mut told);
        assert_eq!(told.len(), 16, "each is told once");
    }

    #[test]
    fn no_more_is_taken_than_there_is_room_for() {
        let mut table = sized(4, 4 * SECOND);
        for number in 0..12 + BEYOND as u64 {
            table.take_expired(&piece(number, 0, 4 * SECOND), 0).unwrap();
        }
        let more = piece(100, 0, 4 * SECOND);
        assert_eq!(table.take_expired(&more, 0), Err(Malformed));
        table.expired.take_first().unwrap();
        table.take_expired(&more, 0).unwrap();
        assert_eq!(table.take_expired(&more[1..], 0), Err(Malformed));
        assert_eq!(hooks(&mut table).len(), 12 + BEYOND);
    }

    #[test]
    fn replicas_learn_of_those_that_wait_and_of_hooks_that_ran() {
        let (mut table, end) = with_one();
        visit(&mut table, 2 * SECOND, 3);
        table.insert(key(2), None, Held(2, 4 * SECOND)).unwrap();
        assert!(!table.has_news());
        assert!(table.expire_by(end + DELAY / 2));
        assert!(table.has_news());
        assert_eq!(news(&mut table), (Vec::from([1]), Vec::new()));
        assert!(!table.has_news());
        assert_eq!(news(&mut table), (Vec::new(), Vec::new()));
        // The hook of one that nobody was told of needs no word.
        assert!(table.expire_by(9 * SECOND));
        assert_eq!(hooks(&mut table), [(1, end), (2, 6 * SECOND)]);
        assert_eq!(news(&mut table), (Vec::new(), Vec::from([1])));
        // There is a replica of one that came from the other side; its place may be another's.
        table.take_expired(&piece(3, end, 4 * SECOND), 0).unwrap();
        assert_eq!(news(&mut table), (Vec::new(), Vec::new()));
        assert_eq!(hooks(&mut table).len(), 1);
        table.take_expired(&piece(4, end, 4 * SECOND), 0).unwrap();
        assert_eq!(news(&mut table), (Vec::new(), Vec::from([3])));
        table.discard_expired();
        assert_eq!(
            (table.has_news(), table.next_end(), hooks(&mut table).len()),
            (false, u64::MAX, 0)
        );
    }

    #[test]
    fn each_replica_ends_whatever_places_are_used_again() {
        let (mut table, mut draw, mut copies) = (table(), Draw(1), BTreeSet::new());
        let mut waiting = BTreeSet::new();
        for number in 0..scaled(512) {
            if waiting.len() < 60 && draw.below(2) == 0 {
                let whole = Tested::decode(&piece(number, draw.below(99), 4 * SECOND)).unwrap();
                table.keep_expired(&whole, 0);
                waiting.insert(number);
            } else if let Some((_, whole)) = table.expired.take_first() {
                waiting.remove(&whole.value.0);
            }
            if draw.below(4) == 0 {
                let (is, ran) = news(&mut table);
                assert!(ran.iter().all(|number| copies.remove(number)), "one of {ran:?} had none");
                assert!(is.iter().all(|number| copies.insert(*number)), "one of {is:?} had one");
                assert_eq!(copies, waiting);
            }
        }
    }

    #[test]
    fn the_shortest_time_counts_instead_of_less() {
        let mut table = table();
        visit(&mut table, 0, NO_FLOW);
        table.insert(key(1), None, Held(1, 1)).unwrap();
        table.insert(key(2), None, Held(2, 3 * SECOND)).unwrap();
        table.insert(key(3), None, Held(3, 99 * SECOND)).unwrap();
        assert!(table.expire_by(SHORTEST - 1));
        assert_eq!(table.len(), 3);
        assert!(table.expire_by(9 * SECOND));
        assert_eq!(hooks(&mut table), [(1, SHORTEST), (2, 3 * SECOND), (3, 4 * SECOND)]);
    }

    #[test]
    fn an_entry_is_freed_well_before_its_hook_is_due() {
        // Turns of the wheel are shorter than the longest idle time, or much longer.
        for (seed, longest) in (0..scaled(16)).zip([2, 7, 100, 100_000].into_iter().cycle()) {
            let (mut draw, mut now) = (Draw(seed), SECOND);
            let (mut table, mut alive, mut over) =
                (sized(64, longest * SECOND), Vec::new(), Vec::new());
            for number in 0..scaled(600) {
                now += match draw.below(40) {
                    0 => draw.below(2 * longest * SECOND),
                    1..4 => draw.below(3 * SECOND),
                    _ => draw.below(SECOND / 20),
                };
                let is_due = alive.iter().any(|(_, end)| end + DELAY <= now);
                assert!(!is_due || table.next_hook() <= now, "seed {seed}: asked too late");
                visit(&mut table, now, NO_FLOW);
                assert!(table.expire_by(now));
                while let Some((end, whole)) = table.expired.take_first() {
                    assert!(end <= now, "it had not ended");
                    over.push((whole.value.0, end));
                }
                alive.retain(|entry| !over.contains(entry));
                let late = alive.iter().find(|(_, end)| end + DELAY / 2 <= now);
                assert_eq!(late, None, "seed {seed}, at {now}");
                let idle = SHORTEST.max(draw.below(longest * SECOND));
                if table.insert(key(number), None, Held(number, idle)).is_ok() {
                    alive.push((number, now + idle));
                }
            }
            assert!(table.expire_by(now + 2 * longest * SECOND));
            over.extend(hooks(&mut table));
            let mut numbers: Vec<_> = over.iter().map(|(number, _)| *number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), over.len(), "each ends once");
        }
    }
}
