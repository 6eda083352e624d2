//! Full tables: entries that return always have a place, and new entries get one where eviction is
//! allowed.

use cora_core::key::{Address, SourceAddress};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::{InsertError, Travelling, Why};
use cora_core::state::{Line, Memory, NO_FLOW, Visit};
use proptest::prelude::*;
use std::collections::BTreeSet;

const CAPACITY: u32 = 24;
const IDLE: u64 = 1_000;

/// Assured if odd; recorded, so that endings are reported.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value<const EVICTS: bool>(u32);

impl<const EVICTS: bool> Plain for Value<EVICTS> {
    const SIZE: usize = 4;
    const EVICTS: bool = EVICTS;
    const RECORDED: bool = true;
    fn is_assured(&self) -> bool {
        self.0 % 2 == 1
    }
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u32::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

type Tested<const EVICTS: bool> = RawTable<SourceAddress, Value<EVICTS>>;

fn table<const EVICTS: bool>() -> Tested<EVICTS> {
    let shape = Shape { capacity: CAPACITY, spare: CAPACITY, idle: IDLE, reply: false };
    let bytes = Tested::<EVICTS>::bytes(shape) + 4096;
    let lines = vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak();
    let mut memory = Memory::new(lines).with_seed(3);
    let mut table = Tested::create(&mut memory, shape).expect("there is memory");
    table.attach(&mut memory, 2 * CAPACITY).expect("there is memory");
    table
}

fn key(number: u32) -> SourceAddress {
    SourceAddress(Address::v4(number.to_be_bytes()))
}

fn at(now: u64) -> Visit {
    Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead: ALONE }
}

fn values<const EVICTS: bool>(table: &Tested<EVICTS>, now: u64) -> BTreeSet<u32> {
    let mut all = BTreeSet::new();
    table.each_alive(now, &mut |it| {
        all.insert(it.value.0);
    });
    all
}

/// An entry as exported by the other side.
fn piece<const EVICTS: bool>(number: u32, used: u64, value: u32) -> Vec<u8> {
    let mut other = table::<EVICTS>();
    other.begin(Visit { flow: 0, ..at(used) });
    other.insert(key(number), None, Value(value)).expect("it is empty");
    let mut pieces = Vec::new();
    other.take_out(0, used, 1, &mut |piece| pieces.push(piece.to_vec()));
    pieces.remove(0)
}

#[test]
fn what_is_not_assured_makes_room_and_what_is_stays() {
    let mut table = table::<true>();
    for number in 0..CAPACITY {
        table.begin(at(1 + u64::from(number)));
        table.insert(key(number), None, Value(number)).expect("there is room");
    }
    // Half of them are assured. New entries that are not assured evict each other.
    let mut told = 0;
    for number in CAPACITY..10 * CAPACITY {
        table.begin(at(1 + u64::from(number)));
        table.insert(key(number), None, Value(2 * number)).expect("one makes room");
        assert_eq!(table.len(), CAPACITY);
        table.tell_ended(&mut |ending| told += u64::from(ending.why == Why::Evicted));
    }
    let left = values(&table, 0);
    assert!((0..CAPACITY).filter(|number| number % 2 == 1).all(|number| left.contains(&number)));
    assert_eq!([table.evicted(), told], [u64::from(9 * CAPACITY); 2]);
}

#[test]
fn none_makes_room_where_all_are_assured_or_the_state_does_not_say() {
    let mut all_assured = table::<true>();
    let mut says_nothing = table::<false>();
    for number in 0..CAPACITY {
        all_assured.begin(at(1));
        all_assured.insert(key(number), None, Value(1)).expect("there is room");
        says_nothing.begin(at(1));
        says_nothing.insert(key(number), None, Value(0)).expect("there is room");
    }
    for number in CAPACITY..3 * CAPACITY {
        all_assured.begin(at(2));
        assert_eq!(all_assured.insert(key(number), None, Value(0)), Err(InsertError::Full));
        says_nothing.begin(at(2));
        assert_eq!(says_nothing.insert(key(number), None, Value(0)), Err(InsertError::Full));
    }
    assert_eq!((all_assured.evicted(), says_nothing.evicted()), (0, 0));
}

/// A packet with undo leaves the decision to the side that is final, and no packet evicts an entry
/// that it has just found or made.
#[test]
fn a_packet_drives_out_no_entry_of_its_own() {
    let mut table = table::<true>();
    table.begin(at(1));
    for number in 0..CAPACITY {
        table.insert(key(number), None, Value(0)).expect("there is room");
    }
    assert_eq!(table.insert(key(99), None, Value(0)), Err(InsertError::Full));
    table.begin(Visit { undo: true, ..at(2) });
    assert_eq!(table.insert(key(99), None, Value(0)), Err(InsertError::Full));
    assert!(table.overflowed(), "it punts");
    table.rollback();
    table.begin(at(3));
    for number in 0..CAPACITY - 1 {
        assert!(table.get(&key(number)).is_some());
    }
    // Wherever the hand is, the entry that was not found is evicted.
    assert_eq!(
        (0..4).find_map(|_| table.insert(key(99), None, Value(0)).ok()),
        Some(()),
        "one is left that may go"
    );
    assert_eq!(table.get(&key(CAPACITY - 1)), None);
}

/// Of the examined entries, the least recently used is evicted: an honest new entry outlives nearly
/// as many others as the table holds.
#[test]
fn who_waits_for_an_answer_is_not_driven_out_at_once() {
    let mut survived = 0;
    for offset in 0..20_u64 {
        let mut table = table::<true>();
        for number in 0..CAPACITY + offset as u32 {
            table.begin(at(1 + u64::from(number)));
            table.insert(key(number), None, Value(0)).expect("one makes room");
        }
        table.begin(at(100));
        table.insert(key(9_999), None, Value(0)).expect("one makes room");
        for number in 0..CAPACITY / 2 {
            table.begin(at(101 + u64::from(number)));
            table.insert(key(1_000 + number), None, Value(0)).expect("one makes room");
        }
        survived += u32::from(table.get(&key(9_999)).is_some());
    }
    assert!(survived >= 19, "{survived} of 20 survived");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 200 },
        failure_persistence: None,
        ..Default::default()
    })]

    /// In any state, an entry that returns is present afterwards, and the table holds at most as
    /// many entries as it has places. Only a key in use by another entry is refused.
    #[test]
    fn what_comes_back_always_has_a_place(
        steps in prop::collection::vec((0_u32..200, 0_u32..8, prop::bool::ANY), 1..250),
    ) {
        let mut table = table::<true>();
        for (time, (number, flow, returns)) in (1..).zip(steps) {
            table.begin(Visit { flow, ..at(time) });
            if returns {
                let there = table.get(&key(number)).is_some();
                table.begin(at(time));
                let taken = table.take_back(&piece::<true>(number, time, number), flow);
                prop_assert_eq!(taken.is_ok(), !there);
                prop_assert!(table.get(&key(number)).is_some());
            } else {
                let _ = table.insert(key(number), None, Value(number));
            }
            prop_assert!(table.len() <= 2 * CAPACITY);
            let mut listed = 0;
            for flow in 0..8 {
                listed += table.count_flow(flow, 0);
            }
            prop_assert_eq!(listed, table.len(), "each is in its flow's list");
        }
    }
}

/// Entries of the flow that returns are the last to evict each other.
#[test]
fn a_flow_that_comes_back_does_not_drive_itself_out() {
    let mut table = table::<false>();
    // The capacity of both sides, all of another flow and used more recently.
    for number in 0..2 * CAPACITY {
        table.begin(at(500));
        table.take_back(&piece::<false>(number, 500, number), 1).expect("there is room");
    }
    for number in 0..16 {
        table.begin(at(501));
        table.take_back(&piece::<false>(1_000 + number, 100, 0), 2).expect("one makes room");
    }
    table.begin(at(501));
    assert!((0..16).all(|number| table.get(&key(1_000 + number)).is_some()));
    assert_eq!((table.len(), table.evicted()), (2 * CAPACITY, 16));
}
