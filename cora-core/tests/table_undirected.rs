//! Tables with values that are found from both directions, as flow records are. Compared with a
//! list with linear search, with and without announcements. Also tests the words that give both
//! directions the same hash.
#![cfg(not(loom))]

use cora_core::key::{Address, FiveTuple, Key as _};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::Direction;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::{Line, Memory, NO_FLOW, Visit};
use proptest::prelude::*;

/// A value that is found from both directions.
#[derive(Clone, Copy, Debug)]
struct Both;

impl Plain for Both {
    const SIZE: usize = 0;
    const UNDIRECTED: bool = true;
    fn put(&self, _: &mut [u8]) {}
    fn get(_: &[u8]) -> Option<Self> {
        Some(Self)
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

const CAPACITY: u32 = 12;

fn table() -> RawTable<FiveTuple, Both> {
    let shape = Shape { capacity: CAPACITY, spare: 0, idle: u64::MAX / 4, reply: false };
    let bytes = RawTable::<FiveTuple, Both>::bytes(shape);
    let lines = vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 16].leak();
    RawTable::create(&mut Memory::new(lines).with_seed(7), shape).expect("memory made for it")
}

/// Ends from a small space, so that flows collide; some are loops from an end to itself.
fn tuple() -> impl Strategy<Value = FiveTuple> {
    ((0..3_u8, 0..3_u8), (0..2_u16, 0..2_u16)).prop_map(|(ends, ports)| FiveTuple {
        source: Address::v4([10, 0, 0, ends.0]),
        destination: Address::v4([10, 0, 0, ends.1]),
        source_port: ports.0,
        destination_port: ports.1,
        protocol: 17,
    })
}

#[derive(Clone, Debug)]
enum Step {
    Add(FiveTuple),
    Release(FiveTuple),
    /// Packets of one burst, announced together.
    Find(Vec<FiveTuple>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => tuple().prop_map(Step::Add),
        1 => tuple().prop_map(Step::Release),
        3 => prop::collection::vec(tuple(), 1..8).prop_map(Step::Find),
    ]
}

const fn visit(ahead: u8) -> Visit {
    Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead }
}

/// The direction in which one of the keys finds this one.
fn modelled(keys: &[FiveTuple], key: FiveTuple) -> Option<Direction> {
    keys.iter().find_map(|there| match key {
        _ if *there == key => Some(Direction::Original),
        _ if there.reversed() == key => Some(Direction::Reply),
        _ => None,
    })
}

proptest! {
    #[test]
    fn both_directions_find_the_same(steps in prop::collection::vec(step(), 0..if cfg!(miri) { 20 } else { 200 })) {
        let (mut table, mut keys) = (table(), Vec::new());
        table.begin(visit(ALONE));
        for step in steps {
            match step {
                Step::Add(key) => {
                    let known = modelled(&keys, key).is_some();
                    if !known && keys.len() < CAPACITY as usize {
                        prop_assert!(table.add(key, Both).is_ok());
                        keys.push(key);
                    }
                }
                Step::Release(key) => {
                    let number = table.number_of(&key);
                    prop_assert_eq!(number.is_some(), modelled(&keys, key).is_some());
                    number.inspect(|number| table.release_number(*number));
                    keys.retain(|there| *there != key && there.reversed() != key);
                }
                Step::Find(burst) => {
                    for (number, key) in (0..).zip(&burst) {
                        table.prefetch_index(number, Some(key));
                    }
                    for (number, key) in (0..).zip(&burst) {
                        table.prefetch_entry(number, || Some(*key));
                    }
                    for (number, key) in (0..).zip(&burst) {
                        for ahead in [number, ALONE] {
                            table.begin(visit(ahead));
                            let found = table.find(key);
                            prop_assert_eq!(found.map(|(_, direction)| direction), modelled(&keys, *key));
                            let entry = found.and_then(|(number, _)| table.entry(number));
                            prop_assert!(entry.is_none_or(|entry| entry.key().undirected() == key.undirected()));
                        }
                    }
                    table.begin(visit(ALONE));
                }
            }
        }
    }

    #[test]
    fn words_are_those_of_both_directions_and_of_no_other_flow(one in tuple(), other in tuple()) {
        prop_assert_eq!(one.undirected(), one.reversed().undirected());
        prop_assert!([one.words(), one.reversed().words()].contains(&one.undirected()));
        let same = one == other || one == other.reversed();
        prop_assert_eq!(one.undirected() == other.undirected(), same);
    }
}
