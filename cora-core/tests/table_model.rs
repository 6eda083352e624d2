//! The table against a model: a list with linear search gives the same answers, through expiry,
//! undo, flows that come and go, and jumps in time.
#![cfg(not(loom))]
#![allow(unreachable_pub, missing_docs, reason = "a test's own module")]

mod table_support;

use cora_core::state::Visit;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::Shape;
use cora_core::state::table::transfer::ImportError;
use cora_core::state::table::{InsertError, Travelling};
use proptest::prelude::*;
use table_support::{Entry, FLOWS, LIFE, LONGEST, Model, Small, Subject, Value, table};

/// One step.
#[derive(Clone, Debug)]
enum Step {
    /// The previous packet is committed or rolled back; another one begins.
    Packet {
        later: Later,
        lag: bool,
        undo: bool,
        keep: bool,
        flow: u32,
        /// The announced key of the next packet.
        announced: Small,
    },
    Get(Small),
    Change(Small, u32),
    Insert(Small, Small, u32),
    Remove(Small),
    /// This many entries come and go at once.
    Churn(u8),
    Import(Small, Small, Later, u32),
    RemoveFlow(u32),
}

/// A time span, relative to the idle time.
#[derive(Clone, Copy, Debug)]
enum Later {
    Nothing,
    Little(u64),
    AlmostIdle,
    Idle,
    Much(u64),
}

impl Later {
    const fn of(self, idle: u64) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Little(part) => idle * part / 16,
            Self::AlmostIdle => idle - 1,
            Self::Idle => idle,
            Self::Much(times) => idle.saturating_mul(times),
        }
    }
}

fn later() -> impl Strategy<Value = Later> {
    prop_oneof![
        6 => Just(Later::Nothing),
        8 => (1..8_u64).prop_map(Later::Little),
        1 => Just(Later::AlmostIdle),
        1 => Just(Later::Idle),
        1 => prop::sample::select(vec![2, 3, 5, 100, 1 << 20]).prop_map(Later::Much),
    ]
}

fn small() -> impl Strategy<Value = Small> {
    (0..14_u8).prop_map(Small)
}

fn step() -> impl Strategy<Value = Step> {
    let packet =
        (later(), prop::bool::weighted(0.2), any::<bool>(), any::<bool>(), 0..=FLOWS, small())
            .prop_map(|(later, lag, undo, keep, flow, announced)| Step::Packet {
                later,
                lag,
                undo,
                keep,
                flow,
                announced,
            });
    prop_oneof![
        6 => packet,
        3 => small().prop_map(Step::Get),
        4 => (small(), any::<u32>()).prop_map(|(key, value)| Step::Change(key, value)),
        8 => (small(), small(), any::<u32>()).prop_map(|(key, reply, value)| Step::Insert(key, reply, value)),
        3 => small().prop_map(Step::Remove),
        1 => (1..50_u8).prop_map(Step::Churn),
        2 => (small(), small(), later(), 0..=FLOWS)
            .prop_map(|(key, reply, ago, flow)| Step::Import(key, reply, ago, flow)),
        1 => (0..FLOWS).prop_map(Step::RemoveFlow),
    ]
}

/// A table and its model, side by side.
struct Pair<const VARIES: bool, const LIVES: bool> {
    table: Subject<VARIES, LIVES>,
    model: Model,
    /// The model before the packet, if the packet has undo.
    before: Option<Model>,
    /// The packet's number in its burst.
    packet: u8,
}

impl<const VARIES: bool, const LIVES: bool> Pair<VARIES, LIVES> {
    fn new(shape: Shape) -> Self {
        let model = Model {
            shape,
            varies: VARIES,
            lives: LIVES,
            entries: Vec::new(),
            touched: Vec::new(),
            made: Vec::new(),
            now: 0,
            horizon: 0,
            flow: FLOWS,
        };
        Self { table: table(shape), model, before: None, packet: 0 }
    }

    fn end_packet(&mut self, keep: bool) {
        let Some(before) = self.before.take() else { return self.table.commit() };
        if keep && !self.table.overflowed() {
            return self.table.commit();
        }
        self.table.rollback();
        // Only the values are restored: found entries were used.
        let touched = std::mem::replace(&mut self.model, before);
        for entry in &mut self.model.entries {
            if touched.is_alive(entry) && touched.touched.contains(&(entry.key, entry.reply)) {
                entry.used = touched.now;
            }
        }
    }

    fn begin_packet(&mut self, later: u64, lag: bool, undo: bool, flow: u32) {
        let model = &mut self.model;
        model.now = model.now.saturating_add(later).min(u64::MAX / 4);
        if !lag {
            model.horizon = model.now;
        }
        model.flow = flow;
        model.touched.clear();
        model.made.clear();
        let Model { now, horizon, .. } = *model;
        self.table.begin(Visit { now, horizon, undo, flow, ahead: self.packet });
        self.before = undo.then(|| model.clone());
    }

    /// Announces the key of the next packet, in a burst of two: the current packet may still change
    /// the entry.
    fn announce(&mut self, key: Small) {
        self.packet ^= 1;
        self.table.prefetch_index(self.packet, Some(&key));
        self.table.prefetch_entry(self.packet, || Some(key));
    }

    /// Whether the table may report that it is full.
    fn may_be_full(&self) -> bool {
        self.model.held() >= self.model.shape.capacity as usize
    }

    fn insert(&mut self, key: Small, reply: Small, value: u32) -> Result<(), TestCaseError> {
        let may_be_full = self.may_be_full();
        let found = self.table.insert(key, Some(reply), Value(value, self.model.now));
        let full = found == Err(InsertError::Full);
        if full && self.before.is_some() {
            // It is uncertain, so the packet is rolled back regardless of its verdict.
            prop_assert!(self.table.overflowed());
        } else {
            prop_assert!(!full || may_be_full, "{} held", self.model.held());
        }
        let must_be_full = self.model.alive().len() >= self.model.shape.capacity as usize;
        prop_assert_eq!(self.model.insert(key, reply, value, full), found);
        let in_place = self.model.entries.len() <= self.model.shape.capacity as usize;
        prop_assert!(
            found.is_err() || !must_be_full || in_place || self.model.position(key).is_some()
        );
        Ok(())
    }

    fn import(
        &mut self,
        key: Small,
        reply: Small,
        ago: u64,
        flow: u32,
    ) -> Result<(), TestCaseError> {
        // Between packets only.
        self.end_packet(true);
        let used = self.model.now.saturating_sub(ago);
        let inserted = used.saturating_sub(ago % 7);
        let entry = Entry { key, reply, used, inserted, value: 7, flow };
        let most = self.model.shape.capacity;
        let may_be_full = self.may_be_full();
        let found = self.table.import_entry(&entry.encode(LIVES), flow, most);
        let full = found == Err(ImportError::Refused(InsertError::Full));
        prop_assert!(!full || may_be_full);
        let wanted = self.model.import(entry, full);
        prop_assert_eq!(wanted.map(|()| used).map_err(ImportError::Refused), found);
        self.begin_packet(0, true, false, self.model.flow);
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let idle = self.model.shape.idle;
        match *step {
            Step::Packet { later, lag, undo, keep, flow, announced } => {
                self.end_packet(keep);
                self.begin_packet(later.of(idle), lag, undo, flow);
                self.announce(announced);
            }
            Step::Get(key) => {
                let wanted = self.model.find(key).map(|(_, value)| *value);
                prop_assert_eq!(self.table.get(&key).map(|value| value.0), wanted);
            }
            Step::Change(key, value) => self.change(key, value)?,
            Step::Insert(key, reply, value) => self.insert(key, reply, value)?,
            Step::Remove(key) => self.remove(key)?,
            Step::Churn(times) => {
                for number in 0..times {
                    let key = Small(100 + number % 3);
                    self.insert(key, key, 0)?;
                    if self.is_lost() {
                        break;
                    }
                    self.remove(key)?;
                }
            }
            Step::Import(key, reply, ago, flow) => self.import(key, reply, ago.of(idle), flow)?,
            Step::RemoveFlow(flow) => {
                self.end_packet(true);
                self.take_out(flow)?;
                self.model.entries.retain(|entry| entry.flow != flow);
                self.begin_packet(0, true, false, self.model.flow);
            }
        }
        if self.is_lost() {
            self.end_packet(false);
            self.begin_packet(0, true, false, self.model.flow);
        }
        self.agree()
    }

    /// The packet exceeded the undo log: its further actions are irrelevant.
    fn is_lost(&self) -> bool {
        self.before.is_some() && self.table.overflowed()
    }

    fn change(&mut self, key: Small, to: u32) -> Result<(), TestCaseError> {
        let found = self
            .table
            .find_mut(&key)
            .map(|(direction, value)| (direction, std::mem::replace(&mut value.0, to)));
        if self.is_lost() && found.is_none() {
            return Ok(());
        }
        let wanted = self
            .model
            .find(key)
            .map(|(direction, value)| (direction, std::mem::replace(value, to)));
        prop_assert_eq!(found, wanted);
        Ok(())
    }

    fn remove(&mut self, key: Small) -> Result<(), TestCaseError> {
        let found = self.table.remove(&key).map(|value| value.0);
        if self.is_lost() && found.is_none() {
            return Ok(());
        }
        prop_assert_eq!(found, self.model.remove(key));
        Ok(())
    }

    /// Everything observable is equal.
    fn agree(&mut self) -> Result<(), TestCaseError> {
        let wanted = self.model.alive();
        let mut found = Vec::new();
        self.table.each_alive(self.model.now, &mut |entry| {
            found.push((entry.key, entry.reply, entry.used, entry.value.0));
        });
        found.sort_unstable();
        let plain = |entry: &Entry| (entry.key, entry.reply, entry.used, entry.value);
        prop_assert_eq!(found, wanted.iter().map(plain).collect::<Vec<_>>());
        for entry in &wanted {
            for key in [entry.key, entry.reply] {
                let flow = (entry.flow < FLOWS).then_some(entry.flow);
                // With any prediction, for any packet; the current packet comes last.
                for ahead in [ALONE, self.packet ^ 1, self.packet] {
                    prop_assert_eq!(self.table.flow_of((&key, None), self.model.now, ahead), flow);
                }
            }
        }
        for flow in 0..FLOWS {
            let wanted = wanted.iter().filter(|entry| entry.flow == flow).count();
            prop_assert!(wanted == 0 || self.table.look_back(flow).0);
            prop_assert_eq!(self.table.count_flow(flow, self.model.now) as usize, wanted);
        }
        Ok(())
    }

    /// The flow's entries are exported, each once, in pieces of at most two; expired ones are not.
    fn take_out(&mut self, flow: u32) -> Result<(), TestCaseError> {
        let alive = self.model.alive();
        let of_flow = alive.iter().filter(|entry| entry.flow == flow);
        let mut wanted: Vec<Vec<u8>> = of_flow.map(|entry| entry.encode(LIVES)).collect();
        let (mut found, now) = (Vec::new(), self.model.now);
        loop {
            let before = found.len();
            let given = self.table.take_out(flow, now, 2, &mut |piece| found.push(piece.to_vec()));
            prop_assert_eq!(found.len() - before, given as usize);
            if given < 2 {
                break;
            }
        }
        wanted.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, wanted);
        prop_assert!(!self.table.look_back(flow).0);
        Ok(())
    }

    /// After any steps, the table has space for its full capacity again in time.
    fn nothing_leaks(&mut self) -> Result<(), TestCaseError> {
        self.end_packet(false);
        let idle = self.model.shape.idle;
        self.begin_packet(idle.saturating_mul(3), false, false, FLOWS);
        prop_assert_eq!(self.model.alive().len(), 0);
        for number in 0..self.model.shape.capacity {
            let key = Small(number as u8);
            prop_assert_eq!(
                self.table.insert(key, Some(Small(key.0 + 128)), Value(0, self.model.now)),
                Ok(())
            );
        }
        prop_assert_eq!(
            self.table.insert(Small(127), None, Value(0, self.model.now)),
            Err(InsertError::Full)
        );
        prop_assert_eq!(self.table.len(), self.model.shape.capacity);
        Ok(())
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let idle = prop::sample::select(vec![1, 2, 63, 64, 100, 127, 128, 6400, 300_000_000_000]);
    (1..10_u32, any::<bool>(), idle).prop_map(|(capacity, spare, idle)| Shape {
        capacity,
        spare: if spare { capacity } else { 0 },
        idle,
        reply: true,
    })
}

fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 6 } else { 1000 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn agrees_with_the_model(
        shape in shape(),
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 160 }),
    ) {
        let mut pair = Pair::<false, false>::new(shape);
        for step in &steps {
            pair.step(step)?;
        }
        pair.nothing_leaks()?;
    }

    #[test]
    fn agrees_with_the_model_where_entries_say_how_long_they_live(
        shape in shape(),
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 160 }),
    ) {
        let mut pair = Pair::<true, false>::new(shape);
        for step in &steps {
            pair.step(step)?;
        }
        pair.nothing_leaks()?;
    }

    #[test]
    fn agrees_with_the_model_where_insertions_decide_how_long_entries_live(
        shape in shape(),
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 160 }),
    ) {
        // As `Table` has it: no entry is unused for longer than it lives.
        let shape = Shape { idle: shape.idle.min(LIFE), ..shape };
        let mut pair = Pair::<false, true>::new(shape);
        for step in &steps {
            pair.step(step)?;
        }
        pair.nothing_leaks()?;
    }

    #[test]
    fn agrees_with_the_model_where_both_decide(
        shape in shape(),
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 160 }),
    ) {
        let mut pair = Pair::<true, true>::new(Shape { idle: shape.idle.min(LIFE), ..shape });
        for step in &steps {
            pair.step(step)?;
        }
        pair.nothing_leaks()?;
    }
}

const SHAPE: Shape = Shape { capacity: 200, spare: 200, idle: 6400, reply: true };

#[test]
fn more_writes_than_can_be_taken_back_are_told_and_taken_back() {
    let mut table = table::<false, false>(SHAPE);
    let visit = |now, undo| Visit { now, horizon: now, undo, flow: 0, ahead: ALONE };
    table.begin(visit(1, false));
    for key in 0..100 {
        table.insert(Small(key), Some(Small(key + 100)), Value(u32::from(key), 0)).unwrap();
    }
    table.commit();
    let contents = |table: &Subject<false>| {
        let mut contents = Vec::new();
        table.each_alive(2, &mut |entry| contents.push((entry.key, entry.reply, entry.value)));
        contents.sort_unstable();
        contents
    };
    let before = contents(&table);
    table.begin(visit(2, true));
    let mut changed = 0;
    for key in 0..100 {
        match key % 3 {
            0 => changed += u32::from(table.remove(&Small(key)).is_some()),
            1 => {
                if let Some((_, value)) = table.find_mut(&Small(key)) {
                    *value = Value(0, 0);
                    changed += 1;
                }
            }
            _ => {
                changed +=
                    u32::from(table.insert(Small(key), Some(Small(230)), Value(0, 0)).is_ok());
            }
        }
    }
    assert!(table.overflowed());
    assert!((32..100).contains(&changed), "{changed} writes before there was no room to note them");
    table.rollback();
    assert_eq!(contents(&table), before);
    table.begin(visit(2, true));
    assert!(!table.overflowed(), "told of one packet only");
}

#[test]
fn an_insertion_that_fails_changes_nothing() {
    let mut table = table::<false, false>(SHAPE);
    table.begin(Visit { now: 1, horizon: 1, undo: false, flow: 0, ahead: ALONE });
    table.insert(Small(1), Some(Small(11)), Value(1, 0)).unwrap();
    table.insert(Small(2), Some(Small(12)), Value(2, 0)).unwrap();
    assert_eq!(table.insert(Small(1), Some(Small(12)), Value(3, 0)), Err(InsertError::KeyTaken));
    assert_eq!(table.get(&Small(11)), Some(&Value(1, 0)));
}

#[test]
fn what_comes_back_finds_room_in_a_full_table() {
    let shape = Shape { capacity: 3, spare: 3, ..SHAPE };
    let mut table = table::<false, false>(shape);
    table.begin(Visit { now: 10, horizon: 10, undo: false, flow: 0, ahead: ALONE });
    for key in 0..3 {
        table.insert(Small(key), None, Value(0, 0)).unwrap();
    }
    assert_eq!(table.insert(Small(3), None, Value(0, 0)), Err(InsertError::Full));
    for key in 10..13 {
        let entry =
            Entry { key: Small(key), reply: Small(key), used: 9, inserted: 9, value: 1, flow: 1 };
        assert!(matches!(
            table.import_entry(&entry.encode(false), 1, 3),
            Err(ImportError::Refused(InsertError::Full))
        ));
        assert_eq!(table.import_entry(&entry.encode(false), 1, u32::MAX), Ok(9));
    }
    assert_eq!(table.len(), 6);
    assert_eq!(table.insert(Small(11), Some(Small(50)), Value(2, 0)), Ok(()), "one for one");
    assert_eq!(table.insert(Small(3), None, Value(0, 0)), Err(InsertError::Full));
}

#[test]
fn a_late_arrival_is_freed_as_soon_as_one_that_was_always_here() {
    let shape = Shape { capacity: 1, spare: 0, ..SHAPE };
    let mut table = table::<false, false>(shape);
    table.begin(Visit { now: 100_000, horizon: 95_000, undo: false, flow: 0, ahead: ALONE });
    let entry =
        Entry { key: Small(1), reply: Small(1), used: 90_000, inserted: 0, value: 1, flow: 0 };
    assert_eq!(table.import_entry(&entry.encode(false), 0, 1), Ok(90_000));
    table.begin(Visit { now: 100_100, horizon: 100_100, undo: false, flow: 0, ahead: ALONE });
    assert_eq!(table.insert(Small(2), None, Value(0, 0)), Ok(()));
}

/// An entry with an idle time shortened by a packet frees its place after that, though its wheel
/// slot was later.
#[test]
fn what_was_closed_makes_room_soon() {
    let shape = Shape { capacity: 2, spare: 0, ..SHAPE };
    for undo in [false, true] {
        let mut table = table::<true, false>(shape);
        let visit = |now| Visit { now, horizon: now, undo, flow: 0, ahead: ALONE };
        table.begin(visit(1000));
        for key in [1, 2] {
            table.insert(Small(key), None, Value(0, 0)).unwrap();
        }
        table.commit();
        table.begin(visit(1100));
        table.find_mut(&Small(1)).unwrap().1.0 = 2;
        table.find_mut(&Small(2)).unwrap();
        table.commit();
        let soon = 1100 + LONGEST / 16;
        table.begin(visit(soon - 1));
        assert_eq!(table.insert(Small(3), None, Value(0, 0)), Err(InsertError::Full));
        table.rollback();
        table.begin(visit(soon));
        assert!(table.get(&Small(1)).is_none());
        table.begin(visit(soon + LONGEST / 64));
        assert_eq!(table.insert(Small(3), None, Value(0, 0)), Ok(()));
        assert!(table.get(&Small(2)).is_some());
    }
}
