//! Ended entries of a recorded state, kept until they are reported.
//!
//! An entry ends once, at one side: when it expires unused, or when a completed packet removes it.
//! An entry does not end if a punt restores it, if it moves to the other side, or if an insertion
//! replaces its value. The time when an expired entry is noticed depends on the plan, but not the
//! fact that it ended, nor its content then. Tables of other states keep nothing, and none of this
//! code is compiled for them.

use super::super::memory::Arena;
use super::super::{Memory, NO_FLOW, OutOfMemory};
use super::entry::{Facts, Whole};
use super::raw::{RawTable, Shape};
use crate::key::EntryKey;
use crate::plain::Plain;

/// Extra slots beyond the table's capacity, for entries that one packet removes.
const BEYOND: usize = 64;

/// Why an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was unused for its idle time.
    Expired,
    /// A packet removed it.
    Removed,
    /// It was evicted for another one.
    Evicted,
}

/// An entry that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending<'a> {
    /// The cause.
    pub why: Why,
    /// The whole entry, encoded; empty for an entry without a free slot.
    pub piece: &'a [u8],
}

/// Ended entries that were not reported yet.
#[derive(Debug)]
pub(super) struct Endings<K: 'static, V: 'static> {
    waiting: Arena<(Why, Whole<K, V>)>,
    /// Number of ended entries without a free slot: more entries ended between two reports than the
    /// table holds.
    lost: u32,
}

impl<K: EntryKey, V: Plain> Endings<K, V> {
    const fn room(shape: Shape) -> usize {
        if V::RECORDED { shape.capacity as usize + BEYOND } else { 0 }
    }

    pub(super) const fn bytes(shape: Shape) -> usize {
        Arena::<(Why, Whole<K, V>)>::bytes(Self::room(shape))
    }

    pub(super) fn create(memory: &mut Memory, shape: Shape) -> Result<Self, OutOfMemory> {
        let waiting = if const { V::RECORDED } {
            Arena::create(memory, Self::room(shape))?
        } else {
            Arena::empty()
        };
        Ok(Self { waiting, lost: 0 })
    }

    fn keep(&mut self, why: Why, whole: Whole<K, V>) {
        self.lost = self.lost.saturating_add(u32::from(self.waiting.push((why, whole)).is_err()));
    }
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Removes an expired entry.
    #[inline(always)]
    pub(super) fn release_expired(&mut self, number: u32) {
        if const { Self::NOTES_ENDS } {
            self.note_end(number, Why::Expired);
        }
        let lives_on = self.entries.get(number).is_some_and(|it| it.facts.has(Facts::MOVED));
        self.expirations += u64::from(!lives_on);
        self.release(number);
    }

    /// Logs that the entry, which is about to be freed, has ended, unless it moved to the other
    /// side.
    #[inline(never)]
    pub(super) fn note_end(&mut self, number: u32, why: Why) {
        let Some(entry) = self.entries.get(number) else { return };
        if !entry.facts.has(Facts::MOVED) {
            let whole = self.whole(number, entry);
            let flow = self.by_flow.flow_of(number).unwrap_or(NO_FLOW);
            self.note_whole(why, &whole, flow);
        }
    }

    /// Logs an entry from the other side that expired during its transfer.
    #[inline(always)]
    pub(super) fn note_late(&mut self, whole: &Whole<K, V>, flow: u32) {
        if const { Self::NOTES_ENDS } {
            self.note_whole(Why::Expired, whole, flow);
        }
    }

    /// Logs an entry from the other side that could not be installed.
    #[inline(always)]
    pub(super) fn note_refused(&mut self, whole: &Whole<K, V>, flow: u32) {
        if const { Self::NOTES_ENDS } {
            self.note_whole(Why::Evicted, whole, flow);
        }
    }

    /// Keeps an entry that ended for its record and for its hook.
    fn note_whole(&mut self, why: Why, whole: &Whole<K, V>, flow: u32) {
        if const { V::RECORDED } {
            self.endings.keep(why, *whole);
        }
        if const { V::HOOKED } {
            match why {
                Why::Expired => self.keep_expired(whole, flow),
                Why::Evicted => self.keep_evicted(whole, flow),
                // The handler that removes an entry has it in hand.
                Why::Removed => {}
            }
        }
    }

    /// Reports the entries that ended since the last call.
    pub fn tell_ended(&mut self, tell: &mut dyn FnMut(Ending<'_>)) {
        for at in 0..self.endings.waiting.len() as u32 {
            if let Some((why, whole)) = self.endings.waiting.get(at) {
                Self::encode(whole, &mut |piece| tell(Ending { why: *why, piece }));
            }
        }
        self.endings.waiting.clear();
        for _ in 0..core::mem::take(&mut self.endings.lost) {
            tell(Ending { why: Why::Expired, piece: &[] });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SourceAddress;
    use crate::plain::Describe;
    use crate::state::table::Travelling;
    use crate::state::table::prefetch::ALONE;
    use crate::state::{NO_FLOW, Visit, memory_for_tests};
    use std::vec::Vec;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Seen(u64);

    impl Plain for Seen {
        const SIZE: usize = 8;
        const RECORDED: bool = true;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            u64::get(bytes).map(Self)
        }
        fn describe(&self, to: &mut dyn Describe) {
            self.0.describe(to);
        }
    }

    type Tested = RawTable<SourceAddress, Seen>;

    fn table() -> Tested {
        let shape = Shape { capacity: 8, spare: 8, idle: 1_000, reply: false };
        let mut memory = memory_for_tests(Tested::bytes(shape) + 4096);
        let mut table = Tested::create(&mut memory, shape).unwrap();
        table.attach(&mut memory_for_tests(1 << 16), 8).unwrap();
        table
    }

    fn key(last: u8) -> SourceAddress {
        SourceAddress(crate::key::Address::v4([10, 0, 0, last]))
    }

    fn visit(now: u64, undo: bool, flow: u32) -> Visit {
        Visit { now, horizon: now, undo, flow, ahead: ALONE }
    }

    /// The values of ended entries, and whether each was removed.
    fn told(table: &mut Tested) -> Vec<(u64, bool)> {
        let mut all = Vec::new();
        table.tell_ended(&mut |Ending { why, piece }| {
            all.push((Tested::decode(piece).unwrap().value.0, why == Why::Removed));
        });
        all.sort_unstable();
        all
    }

    #[test]
    fn an_entry_that_expires_is_told_once_however_that_is_noticed() {
        let mut table = table();
        table.begin(visit(0, false, NO_FLOW));
        table.insert(key(1), None, Seen(1)).unwrap();
        table.insert(key(2), None, Seen(2)).unwrap();
        assert_eq!(told(&mut table), []);
        // A look-up notices one of them, the wheel the other.
        table.begin(visit(1_000, false, NO_FLOW));
        assert!(table.find_mut(&key(1)).is_none());
        table.insert(key(1), None, Seen(11)).unwrap();
        table.begin(visit(1_500, false, NO_FLOW));
        assert_eq!(told(&mut table), [(1, false), (2, false)]);
        assert_eq!(told(&mut table), []);
    }

    #[test]
    fn what_a_packet_takes_out_ends_when_the_packet_is_through() {
        let mut table = table();
        table.begin(visit(0, false, NO_FLOW));
        table.insert(key(1), None, Seen(1)).unwrap();
        table.begin(visit(1, true, NO_FLOW));
        assert_eq!(table.remove(&key(1)), Some(Seen(1)));
        table.insert(key(1), None, Seen(2)).unwrap();
        table.rollback();
        assert_eq!(told(&mut table), [], "it is there again");
        table.begin(visit(2, true, NO_FLOW));
        table.find_mut(&key(1)).unwrap().1.0 = 5;
        table.remove(&key(1));
        table.insert(key(1), None, Seen(2)).unwrap();
        table.commit();
        assert_eq!(told(&mut table), [(5, true)]);
        // At once if undo is off.
        table.begin(visit(3, false, NO_FLOW));
        table.remove(&key(1));
        assert_eq!(told(&mut table), [(2, true)]);
    }

    #[test]
    fn what_goes_to_the_other_side_has_not_ended_and_what_expires_on_its_way_has() {
        let (mut here, mut there) = (table(), table());
        here.begin(visit(0, false, 3));
        here.insert(key(1), None, Seen(1)).unwrap();
        here.begin(visit(900, false, 3));
        here.insert(key(2), None, Seen(2)).unwrap();
        let mut pieces = Vec::new();
        assert_eq!(here.take_out(3, 900, 8, &mut |piece| pieces.push(piece.to_vec())), 2);
        assert_eq!(told(&mut here), []);
        there.begin(visit(1_100, false, 4));
        for piece in &pieces {
            there.import_entry(piece, 4, 8).unwrap();
        }
        assert_eq!(told(&mut there), [(1, false)]);
        assert_eq!(there.take_out(4, 2_000, 8, &mut |_| panic!("it expired")), 0);
        assert_eq!(told(&mut there), [(2, false)]);
    }

    #[test]
    fn more_than_there_is_room_for_is_counted() {
        let mut table = table();
        table.begin(visit(0, false, NO_FLOW));
        for number in 0..100 {
            table.insert(key(1), None, Seen(number)).unwrap();
            table.remove(&key(1));
        }
        let (mut whole, mut lost) = (0, 0);
        table.tell_ended(&mut |ending| {
            if ending.piece.is_empty() {
                lost += 1;
            } else {
                whole += 1;
            }
        });
        assert_eq!((whole, lost), (72, 28));
    }
}
