//! The reports of a durable table suffice: a receiver has the table's contents after every packet,
//! through undo, expiry, and flows that come and go. Packets without changes cause no reports.
#![cfg(not(loom))]

use std::collections::BTreeMap;

use cora_core::key::{Address, FiveTuple, Within, protocol};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::{Change, Durable, Moved, Travelling};
use cora_core::state::{Line, Memory, Visit};
use proptest::prelude::*;

const FLOWS: u32 = 3;
const IDLE: u64 = 640;
const KEYS: u8 = 6;

/// A value of a durable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value(u32);

impl Plain for Value {
    const SIZE: usize = 4;
    const DURABLE: bool = true;
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

type Subject = RawTable<Name, Value>;

fn table() -> Subject {
    let shape = Shape { capacity: 8, spare: 8, idle: IDLE, reply: false };
    let lines = vec![Line::ZERO; (Subject::bytes(shape) + 4096) / Line::BYTES].leak();
    let mut memory = Memory::new(lines).with_seed(3);
    let mut table = Subject::create(&mut memory, shape).expect("there is memory");
    table.attach(&mut memory, FLOWS).expect("there is memory");
    table
}

/// The longest keys that there are: within a group.
type Name = Within<FiveTuple, FiveTuple>;

fn key(number: u8) -> Name {
    let of = |number: u8| FiveTuple {
        source: Address::v4([10, 0, 0, number]),
        destination: Address::v4([10, 0, 1, 1]),
        source_port: 1,
        destination_port: 2,
        protocol: protocol::UDP,
    };
    // Two of them differ in the group alone.
    Within { group: of(number % 2), key: of(number / 2) }
}

/// Replicas, by key, and the number of reported changes.
#[derive(Default)]
struct Copies {
    pieces: BTreeMap<Vec<u8>, Vec<u8>>,
    told: usize,
}

impl Copies {
    fn note(&mut self, table: &mut Subject) {
        table.tell(&mut |change| {
            self.told += 1;
            match change {
                Change::Is { key, piece, .. } => drop(self.pieces.insert(key.into(), piece.into())),
                Change::Gone(key) => drop(self.pieces.remove(key)),
            }
        });
    }

    fn values(&self) -> BTreeMap<Name, Value> {
        let whole = self.pieces.values().map(|piece| Subject::decode(piece).expect("an entry"));
        whole.map(|whole| (whole.key, whole.value)).collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A packet begins `later`, possibly with undo at its end.
    Packet {
        later: u64,
        undo: bool,
        keep: bool,
        flow: u32,
    },
    Find(u8),
    Change(u8, u32),
    Insert(u8, u32),
    Remove(u8),
    /// The flow goes to the other side, and comes back according to its replicas.
    Leave(u32),
    /// The flow is forgotten, as if all its entries had been removed.
    Forget(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    let later = prop_oneof![8 => 0_u64..20, 1 => Just(IDLE), 1 => Just(5 * IDLE)];
    prop_oneof![
        4 => (later, any::<bool>(), any::<bool>(), 0..FLOWS)
            .prop_map(|(later, undo, keep, flow)| Step::Packet { later, undo, keep, flow }),
        2 => key().prop_map(Step::Find),
        3 => (key(), 0_u32..3).prop_map(|(key, value)| Step::Change(key, value)),
        3 => (key(), 0_u32..3).prop_map(|(key, value)| Step::Insert(key, value)),
        2 => key().prop_map(Step::Remove),
        1 => (0..FLOWS).prop_map(Step::Leave),
        1 => (0..FLOWS).prop_map(Step::Forget),
    ]
}

/// Ends the packet, and compares the reports with the table.
fn end(table: &mut Subject, copies: &mut Copies, keep: bool, now: u64) {
    if keep {
        table.commit();
    } else {
        table.rollback();
    }
    copies.note(table);
    let mut alive = BTreeMap::new();
    table.each_alive(now, &mut |whole| {
        alive.insert(whole.key, whole.value);
    });
    let copied = copies.values();
    for (key, value) in &alive {
        assert_eq!(copied.get(key), Some(value), "{key:?} has another copy");
    }
    // The others are entries that expired and that the wheel has not examined yet.
    let stale = copied.keys().filter(|key| !alive.contains_key(*key));
    for key in stale {
        assert!(table.number_of(key).is_some(), "{key:?} is gone, and has a copy");
    }
}

/// The flow leaves by handover; each entry is whole, or has an equal replica.
fn leave(table: &mut Subject, copies: &mut Copies, flow: u32, now: u64) {
    let mut back = Vec::new();
    table.export_moved(flow, now, &mut |moved| match moved {
        Moved::Whole(piece) => back.push((piece.to_vec(), None)),
        Moved::Same(key, used) => back.push((copies.pieces[key].clone(), Some(used))),
    });
    let mut before = BTreeMap::new();
    table.each_alive(now, &mut |whole| {
        before.insert(whole.key, (whole.value, whole.used));
    });
    table.disown(flow, now);
    table.remove_flow(flow);
    copies.note(table);
    for (piece, used) in back {
        let whole = Subject::decode(&piece).expect("an entry");
        let used = used.unwrap_or(whole.used);
        assert_eq!(before[&whole.key], (whole.value, used), "another entry was handed over");
        assert!(table.number_of(&whole.key).is_none());
        table.restore(&piece, flow, used).expect("there was room before");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 300 }, ..ProptestConfig::default() })]

    #[test]
    fn copies_are_what_the_table_holds(steps in prop::collection::vec(step(), 1..if cfg!(miri) { 20 } else { 120 })) {
        let (mut table, mut copies) = (table(), Copies::default());
        let (mut now, mut keeps, mut undoes) = (10 * IDLE, true, false);
        let visit = |now, undo, flow| Visit { now, horizon: now, undo, flow, ahead: ALONE };
        table.begin(visit(now, false, 0));
        for step in steps {
            match step {
                Step::Packet { later, undo, keep, flow } => {
                    end(&mut table, &mut copies, keeps, now);
                    now += later;
                    // Only with undo can a packet be rolled back.
                    (undoes, keeps) = (undo, keep || !undo);
                    table.begin(visit(now, undo, flow));
                }
                Step::Find(number) => {
                    table.get(&key(number));
                }
                Step::Change(number, value) => {
                    if let Some((_, place)) = table.find_mut(&key(number)) {
                        *place = Value(value);
                    }
                }
                // The table may be full.
                Step::Insert(number, value) => {
                    let _full = table.insert(key(number), None, Value(value));
                }
                Step::Remove(number) => {
                    table.remove(&key(number));
                }
                // Flows move between packets.
                Step::Leave(_) | Step::Forget(_) if undoes => {}
                Step::Leave(flow) => leave(&mut table, &mut copies, flow, now),
                Step::Forget(flow) => table.remove_flow(flow),
            }
        }
        end(&mut table, &mut copies, keeps, now);
    }
}

#[test]
fn what_changed_nothing_is_not_told() {
    let (mut table, mut copies) = (table(), Copies::default());
    let visit = Visit { now: IDLE, horizon: IDLE, undo: true, flow: 1, ahead: ALONE };
    table.begin(visit);
    table.insert(key(1), None, Value(7)).expect("there is room");
    table.commit();
    copies.note(&mut table);
    assert_eq!(copies.told, 1);
    for keep in [true, false] {
        table.begin(visit);
        // Looked up for a change, but unchanged.
        assert!(table.find_mut(&key(1)).is_some());
        assert_eq!(table.get(&key(1)), Some(&Value(7)));
        if keep {
            table.commit();
        } else {
            table.rollback();
        }
        // Changed, and rolled back.
        table.begin(visit);
        if let Some((_, place)) = table.find_mut(&key(1)) {
            *place = Value(8);
        }
        table.remove(&key(1));
        table.insert(key(2), None, Value(1)).expect("there is room");
        table.rollback();
        copies.note(&mut table);
    }
    assert_eq!(copies.told, 1, "something was told of packets that changed nothing");
    assert_eq!(copies.values(), BTreeMap::from([(key(1), Value(7))]));
}

/// A packet with a later time may have come first: earlier ones wait until their flow is here.
#[test]
fn an_entry_that_comes_back_lives_for_packets_that_still_wait() {
    let (mut table, mut copies) = (table(), Copies::default());
    // The encoding from the other side: key and group, reply key, time of last use, value.
    let mut piece = vec![0; Name::SIZE + 1 + Name::SIZE + 8 + Value::SIZE];
    key(1).put(&mut piece);
    key(1).put(&mut piece[Name::SIZE + 1..]);
    100_u64.put(&mut piece[2 * Name::SIZE + 1..]);
    Value(7).put(&mut piece[2 * Name::SIZE + 9..]);
    // For an entry used at 100, the packet at 1,000 would find nothing; the waiting one at 200 will
    // find it.
    table.begin(Visit { now: 1_000, horizon: 200, undo: true, flow: 1, ahead: ALONE });
    table.commit();
    assert_eq!(table.import_entry(&piece, 1, u32::MAX), Ok(100));
    table.changed(&piece);
    copies.note(&mut table);
    assert_eq!(copies.values(), BTreeMap::from([(key(1), Value(7))]));
    table.begin(Visit { now: 200, horizon: 200, undo: true, flow: 1, ahead: ALONE });
    assert_eq!(table.get(&key(1)), Some(&Value(7)));
}
