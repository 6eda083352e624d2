//! Values with the time of their insertion, for entries that end some time after it, used or not:
//! `#[state(life = …)]`.
//!
//! The time stands in front of the value and goes wherever that goes: into the undo log, to the
//! other side, into replicas, to hooks. So all of them agree about the end of the entry. It is in
//! the line that a hit reads anyway. Tables of other states keep the bare value, and none of this
//! code is compiled for them.

use core::time::Duration;

use super::super::Keyed;
use crate::plain::{Describe, Plain};

/// In place of a time (ns): it never comes.
pub const NEVER: u64 = u64::MAX;

/// What a table keeps of a value of type `S`.
pub trait Holds<S>: Plain {
    /// For an entry that is inserted at `now`.
    fn begin(value: S, now: u64) -> Self;

    /// The program's value.
    fn value(&self) -> &S;

    /// The same, mutable.
    fn value_mut(&mut self) -> &mut S;

    /// When the entry was inserted (ns of packet time), if that is known.
    fn inserted(&self) -> Option<u64>;
}

impl<S: Plain> Holds<S> for S {
    #[inline(always)]
    fn begin(value: S, _: u64) -> Self {
        value
    }

    #[inline(always)]
    fn value(&self) -> &S {
        self
    }

    #[inline(always)]
    fn value_mut(&mut self) -> &mut S {
        self
    }

    #[inline(always)]
    fn inserted(&self) -> Option<u64> {
        None
    }
}

/// Bytes of the time of the insertion, in front of the encoded value.
const STAMP: usize = 8;

/// A value, and when it was inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lived<S> {
    inserted: u64,
    value: S,
}

impl<S: Keyed> Holds<S> for Lived<S> {
    #[inline(always)]
    fn begin(value: S, now: u64) -> Self {
        Self { inserted: now, value }
    }

    #[inline(always)]
    fn value(&self) -> &S {
        &self.value
    }

    #[inline(always)]
    fn value_mut(&mut self) -> &mut S {
        &mut self.value
    }

    #[inline(always)]
    fn inserted(&self) -> Option<u64> {
        Some(self.inserted)
    }
}

impl<S: Keyed> Plain for Lived<S> {
    const SIZE: usize = STAMP + S::SIZE;
    const DURABLE: bool = S::DURABLE;
    const IDLE_VARIES: bool = S::IDLE_VARIES;
    const FOREVER: bool = false;
    const LIVES: bool = true;
    const UNDIRECTED: bool = S::UNDIRECTED;
    const RECORDED: bool = S::RECORDED;
    const HOOKED: bool = S::HOOKED;
    const EVICTS: bool = S::EVICTS;

    fn put(&self, out: &mut [u8]) {
        self.inserted.put(out);
        if let Some(behind) = out.get_mut(STAMP..) {
            self.value.put(behind);
        }
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { inserted: u64::get(bytes)?, value: S::get(bytes.get(STAMP..)?)? })
    }

    #[inline]
    fn idle_time(&self) -> Duration {
        self.value.idle_time()
    }

    #[inline(always)]
    fn dies(&self) -> u64 {
        self.inserted.saturating_add(S::LIFE)
    }

    #[inline]
    fn is_assured(&self) -> bool {
        self.value.is_assured()
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.value.describe(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Address, SourceAddress};
    use crate::state::table::prefetch::ALONE;
    use crate::state::table::scope::Everywhere;
    use crate::state::table::{
        Change, Hooked, InsertError, Moved, RawOf, RawTable, Table, Travelling,
    };
    use crate::state::{Home, NO_FLOW, Stored, Visit, memory_for_tests};
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000_000;
    /// The life of entries that have one, and their idle time.
    const LIFE: u64 = 10 * SECOND;
    const IDLE: u64 = 6 * SECOND;

    /// A value: its entries are durable, have a hook and idle times of their own, and may be
    /// evicted, as its parameters say.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Value<const KIND: u8>(u64);

    /// With a life, a hook and copies.
    const CACHED: u8 = 0;
    /// With a life, in a table that evicts.
    const EVICTED: u8 = 1;
    /// Without an end.
    const ENDLESS: u8 = 2;
    /// Without an end but for those of an idle time of their own, which is the value.
    const SOME_END: u8 = 3;
    /// Without an end, in a table that evicts odd values.
    const CROWDED: u8 = 4;
    /// With a life alone.
    const ANSWER: u8 = 5;

    const fn lives(kind: u8) -> bool {
        matches!(kind, CACHED | EVICTED | ANSWER)
    }

    impl<const KIND: u8> Plain for Value<KIND> {
        const SIZE: usize = 8;
        const DURABLE: bool = KIND == CACHED;
        const HOOKED: bool = KIND == CACHED;
        const EVICTS: bool = matches!(KIND, EVICTED | CROWDED);
        const FOREVER: bool = !lives(KIND);
        const IDLE_VARIES: bool = KIND == SOME_END;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            u64::get(bytes).map(Self)
        }
        fn describe(&self, to: &mut dyn Describe) {
            self.0.describe(to);
        }
        fn idle_time(&self) -> Duration {
            if self.0 == 0 { Duration::MAX } else { Duration::from_nanos(self.0) }
        }
        fn is_assured(&self) -> bool {
            self.0.is_multiple_of(2)
        }
    }

    macro_rules! keyed {
        ($kind:ident, $held:ty, $idle:expr, $life:expr) => {
            impl Keyed for Value<$kind> {
                type Key = SourceAddress;
                type Scope = Everywhere;
                type Held = $held;
                const NAME: &'static str = stringify!($kind);
                const CAPACITY: u32 = 8;
                const IDLE: u64 = $idle;
                const LIFE: u64 = $life;
                const REPLY: bool = false;
            }
        };
    }
    keyed!(CACHED, Lived<Self>, IDLE, LIFE);
    keyed!(EVICTED, Lived<Self>, IDLE, LIFE);
    keyed!(ANSWER, Lived<Self>, NEVER, LIFE);
    keyed!(ENDLESS, Self, NEVER, NEVER);
    keyed!(SOME_END, Self, NEVER, NEVER);
    keyed!(CROWDED, Self, NEVER, NEVER);

    fn table<const KIND: u8>() -> Table<Value<KIND>>
    where
        Value<KIND>: Keyed<Key = SourceAddress>,
    {
        let bytes = <Table<Value<KIND>> as Stored>::BYTES;
        let mut memory = memory_for_tests(bytes + 8_192);
        let mut table = Table::<Value<KIND>>::create(&mut memory).unwrap();
        table.raw.attach(&mut memory_for_tests(1 << 16), 8).unwrap();
        table
    }

    fn key(last: u64) -> SourceAddress {
        SourceAddress(Address::v4([10, 0, (last >> 8) as u8, last as u8]))
    }

    fn begin<S: Keyed>(table: &mut Table<S>, now: u64, undo: bool) {
        if !table.raw.visit.undo {
            table.commit(false);
        }
        table.begin(Visit { now, horizon: now, undo, flow: 3, ahead: ALONE });
    }

    fn ends<const KIND: u8>(table: &mut Table<Value<KIND>>) -> Vec<(u64, u64)>
    where
        Value<KIND>: Keyed<Key = SourceAddress>,
    {
        let next = || table.take_ended().map(|ended| (ended.entry.0, ended.at));
        core::iter::from_fn(next).collect()
    }

    #[test]
    fn an_entry_ends_when_its_life_is_over_used_or_not() {
        let mut table = table::<CACHED>();
        begin(&mut table, 0, false);
        table.insert(key(1), Value(1)).unwrap();
        for now in [3 * SECOND, 8 * SECOND, LIFE - 1] {
            begin(&mut table, now, false);
            assert_eq!(table.get_mut(&key(1)), Some(&mut Value(1)), "at {now}");
        }
        begin(&mut table, LIFE, false);
        assert_eq!(table.get(&key(1)), None);
        assert_eq!(table.get_mut(&key(1)), None);
        assert_eq!(ends(&mut table), [(1, LIFE)]);
        // Unused, it ends sooner.
        table.insert(key(2), Value(2)).unwrap();
        begin(&mut table, LIFE + IDLE, false);
        assert_eq!(table.get(&key(2)), None);
        assert!(table.raw.expire_by(2 * LIFE));
        assert_eq!(ends(&mut table), [(2, LIFE + IDLE)]);
    }

    #[test]
    fn an_insertion_begins_a_life_anew_and_a_change_does_not() {
        let mut table = table::<CACHED>();
        begin(&mut table, 0, false);
        table.insert(key(1), Value(1)).unwrap();
        table.insert(key(2), Value(2)).unwrap();
        begin(&mut table, 5 * SECOND, false);
        table.insert(key(1), Value(1)).unwrap();
        table.get_mut(&key(2)).unwrap().0 = 3;
        begin(&mut table, LIFE, false);
        assert_eq!((table.get(&key(1)), table.get(&key(2))), (Some(&Value(1)), None));
        begin(&mut table, 5 * SECOND + LIFE, false);
        assert_eq!(table.get(&key(1)), None);
        assert!(table.raw.expire_by(2 * LIFE));
        assert_eq!(ends(&mut table), [(3, LIFE), (1, 5 * SECOND + LIFE)]);
    }

    #[test]
    fn the_time_of_the_insertion_goes_with_the_entry() {
        let (mut here, mut there) = (table::<CACHED>(), table::<CACHED>());
        begin(&mut here, SECOND, false);
        here.insert(key(1), Value(1)).unwrap();
        begin(&mut here, 6 * SECOND, false);
        here.insert(key(2), Value(2)).unwrap();
        assert!(here.get(&key(1)).is_some());
        let mut pieces = Vec::new();
        let given = here.raw.take_out(3, 6 * SECOND, 8, &mut |piece| pieces.push(piece.to_vec()));
        assert_eq!((given, ends(&mut here).len()), (2, 0));
        // One comes in time, and one was on its way for too long: its hook runs there.
        begin(&mut there, LIFE + SECOND, false);
        for piece in &pieces {
            assert_eq!(there.raw.import_entry(piece, 3, 8), Ok(6 * SECOND));
        }
        assert_eq!((there.get(&key(1)), there.get(&key(2))), (None, Some(&Value(2))));
        assert_eq!(ends(&mut there), [(1, LIFE + SECOND)]);
        begin(&mut there, 6 * SECOND + LIFE - 1, false);
        assert!(there.get(&key(2)).is_some());
        begin(&mut there, 6 * SECOND + LIFE, false);
        assert!(there.get(&key(2)).is_none());
        assert!(there.raw.expire_by(2 * LIFE));
        assert_eq!(ends(&mut there), [(2, 6 * SECOND + LIFE)]);
    }

    #[test]
    fn a_punt_takes_a_new_life_back() {
        let mut table = table::<CACHED>();
        begin(&mut table, 0, false);
        table.insert(key(1), Value(1)).unwrap();
        begin(&mut table, 5 * SECOND, true);
        table.insert(key(1), Value(9)).unwrap();
        // The wheel examines it meanwhile, and finds it young.
        table.raw.expire(LIFE, None);
        assert_eq!(table.get(&key(1)), Some(&Value(9)));
        table.rollback();
        begin(&mut table, LIFE - 1, false);
        assert_eq!(table.get(&key(1)), Some(&Value(1)));
        assert!(table.raw.expire_by(LIFE + SECOND / 2));
        assert_eq!(ends(&mut table), [(1, LIFE)], "it was freed well before its hook is due");
        // And so for one that the packet removed.
        table.insert(key(2), Value(2)).unwrap();
        begin(&mut table, LIFE + 5 * SECOND, true);
        table.insert(key(2), Value(9)).unwrap();
        assert_eq!(table.remove(&key(2)), Some(Value(9)));
        table.rollback();
        assert!(table.raw.expire_by(3 * LIFE));
        assert_eq!(ends(&mut table), [(2, LIFE + SECOND / 2 + LIFE)]);
    }

    #[test]
    fn copies_have_the_time_of_the_insertion() {
        let mut table = table::<CACHED>();
        let told = |table: &mut Table<Value<CACHED>>| {
            let mut told = Vec::new();
            table.raw.as_durable().unwrap().tell(&mut |change| match change {
                Change::Is { piece, .. } => told.push(piece.to_vec()),
                Change::Gone(_) => {}
            });
            told
        };
        begin(&mut table, 0, true);
        table.insert(key(1), Value(1)).unwrap();
        table.commit(true);
        let first = told(&mut table);
        // The same value, and another time.
        begin(&mut table, 2 * SECOND, true);
        table.insert(key(1), Value(1)).unwrap();
        table.commit(true);
        let second = told(&mut table);
        assert_eq!((first.len(), second.len()), (1, 1));
        assert_ne!(first, second);
        begin(&mut table, 3 * SECOND, true);
        assert!(table.get_mut(&key(1)).is_some());
        table.commit(true);
        assert_eq!(told(&mut table).len(), 0, "a use is no change");
        table.raw.as_durable().unwrap().export_moved(3, 3 * SECOND, &mut |moved| {
            assert!(matches!(moved, Moved::Same(_, used) if used == 3 * SECOND), "{moved:?}");
        });
        let mut restored = self::table::<CACHED>();
        begin(&mut restored, 9 * SECOND, false);
        restored.raw.as_durable().unwrap().restore(&second[0], 3, 9 * SECOND).unwrap();
        begin(&mut restored, 2 * SECOND + LIFE - 1, false);
        assert!(restored.get(&key(1)).is_some());
        begin(&mut restored, 2 * SECOND + LIFE, false);
        assert!(restored.get(&key(1)).is_none());
        // A copy of one that ended meanwhile.
        restored.raw.as_durable().unwrap().restore(&first[0], 3, 2 * LIFE).unwrap();
        assert!(restored.get(&key(1)).is_none());
    }

    #[test]
    fn an_entry_whose_life_is_over_makes_room() {
        let mut table = table::<EVICTED>();
        for number in 0..8 {
            begin(&mut table, number * SECOND / 2, false);
            table.insert(key(number), Value(2 * number)).unwrap();
        }
        assert_eq!(table.insert(key(9), Value(0)), Err(InsertError::Full));
        begin(&mut table, 5 * SECOND, false);
        assert!((0..8).all(|number| table.contains(&key(number))));
        // Earlier packets still wait, so what ended stays until there is no other place.
        let visit = |now, horizon| Visit { now, horizon, undo: false, flow: 3, ahead: ALONE };
        table.begin(visit(LIFE + SECOND / 2, 5 * SECOND));
        table.insert(key(9), Value(0)).unwrap();
        table.insert(key(10), Value(0)).unwrap();
        assert_eq!(table.insert(key(11), Value(0)), Err(InsertError::Full));
        assert!((2..8).all(|number| table.contains(&key(number))));
        begin(&mut table, 9 * LIFE, false);
        assert_eq!(table.entries(9 * LIFE), 0);
        for number in 0..8 {
            table.insert(key(100 + number), Value(0)).unwrap();
        }
    }

    #[test]
    fn a_life_alone_ends_entries_and_frees_their_places() {
        let mut table = table::<ANSWER>();
        assert_eq!(table.raw.idle(), LIFE, "flows are known for as long");
        for round in 0..5 {
            let at = round * (LIFE + LIFE / 32);
            begin(&mut table, at, false);
            for number in 0..8 {
                table.insert(key(8 * round + number), Value(number)).unwrap();
            }
            assert_eq!(table.insert(key(999), Value(0)), Err(InsertError::Full));
            begin(&mut table, at + LIFE - 1, false);
            assert!((0..8).all(|number| table.contains(&key(8 * round + number))));
            assert_eq!(table.entries(at + LIFE), 0);
        }
    }

    #[test]
    fn other_tables_keep_bare_values() {
        type Bare = RawTable<SourceAddress, Value<ENDLESS>>;
        assert_eq!(
            <Table<Value<ENDLESS>> as Stored>::BYTES,
            Bare::bytes(Table::<Value<ENDLESS>>::SHAPE)
        );
        assert_eq!(RawOf::<Value<ANSWER>>::PIECE, Bare::PIECE + 8);
        assert_eq!(size_of::<Lived<Value<ANSWER>>>(), size_of::<Value<ANSWER>>() + 8);
    }

    #[test]
    fn what_never_expires_ends_by_removal_alone() {
        let mut table = table::<ENDLESS>();
        begin(&mut table, SECOND, false);
        for number in 0..8 {
            table.insert(key(number), Value(number)).unwrap();
        }
        for now in [LIFE, 1 << 50, NEVER / 2, NEVER - 1, NEVER] {
            begin(&mut table, now, false);
            assert!(now == NEVER || !table.raw.wheel.is_due(now), "the wheel has nothing to do");
            assert_eq!(table.insert(key(9), Value(9)), Err(InsertError::Full), "at {now}");
            assert_eq!(table.entries(now), 8);
        }
        begin(&mut table, LIFE, true);
        assert_eq!(table.remove(&key(1)), Some(Value(1)));
        table.rollback();
        begin(&mut table, LIFE, false);
        assert_eq!(table.remove(&key(1)), Some(Value(1)));
        table.insert(key(9), Value(9)).unwrap();
        let (mut there, mut pieces) = (self::table::<ENDLESS>(), Vec::new());
        assert_eq!(table.raw.take_out(3, NEVER, 9, &mut |piece| pieces.push(piece.to_vec())), 8);
        begin(&mut there, NEVER - 1, false);
        for piece in &pieces {
            there.raw.import_entry(piece, NO_FLOW, 8).unwrap();
        }
        assert_eq!(there.entries(NEVER), 8);
        assert_eq!(there.get(&key(9)), Some(&Value(9)));
    }

    #[test]
    fn what_never_expires_may_be_evicted() {
        let mut table = table::<CROWDED>();
        for number in 0..8 {
            begin(&mut table, number, false);
            table.insert(key(number), Value(number)).unwrap();
        }
        for number in [1, 3, 5, 7] {
            begin(&mut table, 100 + number, false);
            table.insert(key(10 + number), Value(0)).unwrap();
            assert_eq!(table.get(&key(number)), None, "the least recently used, not assured one");
        }
        assert_eq!(table.insert(key(99), Value(0)), Err(InsertError::Full));
        assert_eq!(table.raw.evicted(), 4);
    }

    #[test]
    fn an_idle_time_of_its_own_ends_an_entry_among_others_that_stay() {
        let mut table = table::<SOME_END>();
        begin(&mut table, 0, false);
        table.insert(key(1), Value(0)).unwrap();
        table.insert(key(2), Value(30 * SECOND)).unwrap();
        table.insert(key(3), Value(0)).unwrap();
        begin(&mut table, 29 * SECOND, false);
        table.get_mut(&key(3)).unwrap().0 = 40 * SECOND;
        begin(&mut table, 30 * SECOND, false);
        assert!(table.get(&key(1)).is_some() && table.get(&key(2)).is_none());
        // The wheel frees the ended ones, of which nobody asks.
        for step in 1..=100 {
            begin(&mut table, (30 + step) * SECOND, false);
        }
        assert_eq!(table.raw.len(), 1);
        table.get_mut(&key(1)).unwrap().0 = 1;
        begin(&mut table, 200 * SECOND, false);
        begin(&mut table, 300 * SECOND, false);
        assert_eq!(table.raw.len(), 0, "it stayed until it said otherwise");
    }
}
