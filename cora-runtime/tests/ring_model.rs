//! The ring against a model: random pushes, publications, pops and releases agree with a
//! `VecDeque`, around many laps.
// Not under Miri: safe code on heap memory, which takes it minutes; see `ring_threads.rs`.
#![cfg(not(any(loom, miri)))]

mod ring_memory;

use std::collections::VecDeque;

use cora_runtime::link::ring::{Consumer, Producer, PushError, Streaming};
use proptest::prelude::*;

use ring_memory::HeapMemory;

/// One step of either side.
#[derive(Clone, Debug)]
enum Step {
    Push {
        kind: u16,
        len: usize,
        cuts: (usize, usize),
    },
    /// A body of `len` bytes behind words.
    PushBehind {
        kind: u16,
        len: usize,
    },
    Publish,
    Rest,
    Pop,
    Release,
    /// Only up to one of the records popped and not released, or to a position that is none.
    ReleaseTo(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let push = (any::<u16>(), 0..300_usize, (0..300_usize, 0..300_usize))
        .prop_map(|(kind, len, cuts)| Step::Push { kind, len, cuts });
    let behind =
        (any::<u16>(), 0..250_usize).prop_map(|(kind, len)| Step::PushBehind { kind, len });
    let step = prop_oneof![4 => push, 4 => behind, 2 => Just(Step::Publish), 1 => Just(Step::Rest), 8 => Just(Step::Pop), 2 => Just(Step::Release), 1 => (0..12_usize).prop_map(Step::ReleaseTo)];
    prop::collection::vec(step, 1..200)
}

/// The expected behaviour of a ring, in the simplest way.
struct Model {
    words: u64,
    head: u64,
    published: u64,
    tail: u64,
    released: u64,
    /// The end of each record, its kind and its payload.
    records: VecDeque<(u64, u16, Vec<u8>)>,
    /// The ends of records that were popped.
    ends: Vec<u64>,
}

impl Model {
    /// Where a record of `len` bytes would end, if it has room.
    fn room(&self, len: usize) -> Result<u64, PushError> {
        let span = (len as u64 + 8).div_ceil(64) * 8;
        if span > self.words / 4 {
            return Err(PushError::TooLong);
        }
        let lap_end = (self.head / self.words + 1) * self.words;
        let begin = if self.head + span > lap_end { lap_end } else { self.head };
        if begin + span > self.released + self.words - 8 {
            Err(PushError::Full)
        } else {
            Ok(begin + span)
        }
    }

    fn push(&mut self, kind: u16, payload: &[u8]) -> Result<(), PushError> {
        self.head = self.room(payload.len())?;
        self.records.push_back((self.head, kind, payload.to_vec()));
        Ok(())
    }

    fn pop(&mut self) -> Option<(u16, Vec<u8>)> {
        if self.records.front()?.0 > self.published {
            return None;
        }
        let (end, kind, payload) = self.records.pop_front()?;
        self.tail = end;
        self.ends.push(end);
        Some((kind, payload))
    }
}

/// `payload` as three parts, cut at two places.
fn cut(payload: &[u8], (a, b): (usize, usize)) -> [&[u8]; 3] {
    let (head, tail) = payload.split_at(a.min(payload.len()));
    let (middle, tail) = tail.split_at(b.min(tail.len()));
    [head, middle, tail]
}

fn run(memory: HeapMemory, words: usize, start: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
    let (words, records) = (words as u64, VecDeque::new());
    let (published, ends) = (start, Vec::new());
    let mut model =
        Model { words, head: start, published, tail: start, released: start, records, ends };
    let (mut buffer, mut popped) = ([0_u8; 300], 0);
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Push { kind, len, cuts } => {
                let payload: Vec<u8> = (0..*len).map(|at| (at ^ number) as u8).collect();
                prop_assert_eq!(producer.has_room(*len), model.room(*len).is_ok());
                let outcome = producer.push(*kind, &cut(&payload, *cuts));
                prop_assert_eq!(outcome, model.push(*kind, &payload));
            }
            Step::PushBehind { kind, len } => {
                let head = [0, 1, 2, 3, number as u64];
                let body: Vec<u8> = (0..*len).map(|at| (at ^ number) as u8).collect();
                let payload = [head.map(u64::to_le_bytes).as_flattened(), &body].concat();
                let outcome = producer.push_behind(*kind, &head, &body);
                prop_assert_eq!(outcome, model.push(*kind, &payload));
            }
            Step::Publish => {
                producer.publish();
                model.published = model.head;
            }
            // Has no visible effect, with unpublished records or without.
            Step::Rest => producer.rest(),
            Step::Pop => {
                let found = consumer.pop(&mut buffer).expect("an honest peer");
                let found = found.map(|record| (record.kind, buffer[..record.len].to_vec()));
                popped += u64::from(found.is_some());
                prop_assert_eq!(found, model.pop());
            }
            Step::Release => {
                consumer.release();
                model.released = model.tail;
            }
            Step::ReleaseTo(which) => {
                prop_assert_eq!(consumer.position(), model.tail);
                for wrong in [model.tail + 8, model.released.wrapping_sub(8), model.tail + 1] {
                    prop_assert!(!consumer.release_to(wrong), "{}", wrong);
                }
                let last = model.ends.iter().rev().nth(*which).copied().unwrap_or(start);
                let is_held = last >= model.released;
                prop_assert_eq!(consumer.release_to(last), is_held);
                model.released = if is_held { last } else { model.released };
            }
        }
    }
    prop_assert_eq!(consumer.records(), popped);
    prop_assert_eq!(producer.free_bytes() as u64, (words - 8 - (model.head - model.released)) * 8);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ring_agrees_with_the_model(size in 5..9_u32, start in 0..64_u64, steps in steps()) {
        let (words, start) = (1 << size, start * 8);
        run(HeapMemory::new(words, start), words, start, &steps)?;
    }

    /// Streamed lines become visible when they have to, and not before.
    #[test]
    fn ring_that_streams_agrees_with_the_model(size in 5..9_u32, start in 0..64_u64, steps in steps()) {
        let (words, start) = (1 << size, start * 8);
        let when = Streaming { batch: 16, trip: 0, looks_every: 0 };
        run(HeapMemory::streaming(words, start, when), words, start, &steps)?;
    }
}

#[test]
fn ring_streams_behind_a_long_batch_all_but_the_first_record() {
    let memory = HeapMemory::streaming(512, 0, Streaming { batch: 24, trip: 0, looks_every: 0 });
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    let mut buffer = [0; 64];
    let mut batch = |records: u64| {
        let head = |number| [number, 1, 2, 3, 4];
        for number in 0..records {
            producer.push_behind(7, &head(number), b"body").expect("room");
        }
        let streamed = memory.streamed();
        producer.publish();
        assert_eq!(memory.streamed(), 0, "all is there when it is shown");
        for number in 0..records {
            let popped = consumer.pop(&mut buffer).expect("an honest peer").expect("it is shown");
            let payload = [head(number).map(u64::to_le_bytes).as_flattened(), b"body"].concat();
            assert_eq!((popped.kind, &buffer[..popped.len]), (7, &payload[..]));
        }
        consumer.release();
        streamed
    };
    assert_eq!(batch(3), 0, "nothing was before it");
    assert_eq!(batch(2), 4, "one of two, a line of four pairs");
    assert_eq!(batch(5), 0, "two were not many");
    assert_eq!(batch(1), 0, "the first shows the others");
    assert_eq!(batch(3), 0);
}

/// Pushes a batch of `records` records of a line each, and takes them. Returns whether any was
/// streamed.
fn streams(
    memory: &HeapMemory,
    producer: &mut Producer<HeapMemory>,
    consumer: &mut Consumer<HeapMemory>,
    records: usize,
) -> bool {
    for _ in 0..records {
        producer.push_behind(1, &[2], b"body").expect("room");
    }
    let streamed = memory.streamed() > 0;
    producer.publish();
    while consumer.pop(&mut [0; 64]).expect("an honest peer").is_some() {}
    consumer.release();
    streamed
}

/// Cores may move while a ring is in use: it streams as long as lines come from far away.
#[test]
fn ring_streams_while_the_consumer_is_far_away() {
    // A batch of four lines is long, and each batch has a measurement.
    let memory = HeapMemory::streaming(64, 0, Streaming { batch: 32, trip: 250, looks_every: 32 });
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    let mut last = |trip: u64, batches: usize| {
        memory.set_trip(trip);
        let batches = (0..batches).map(|_| streams(&memory, &mut producer, &mut consumer, 4));
        batches.last().unwrap_or_default()
    };
    assert!(!last(249, 100), "near");
    assert!(!last(250, 3), "two or three looks do not decide");
    assert!(last(250, 100), "far");
    assert!(last(10, 3), "nor do they the other way");
    assert!(!last(10, 100), "near again");
}

/// A large ring has room for long. It measures the consumer's distance all the same, but not for
/// short batches.
#[test]
fn ring_that_is_large_finds_out_how_far_the_consumer_is() {
    let lap = 1 << 12;
    for (records, expected) in [(4, true), (3, false)] {
        let when = Streaming { batch: 32, trip: 250, looks_every: 64 };
        let memory = HeapMemory::streaming(lap, 0, when);
        memory.set_trip(250);
        let (mut producer, mut consumer) =
            (Producer::new(memory.clone()), Consumer::new(memory.clone()));
        let of_a_lap = lap / 8 / (records + 1);
        let streamed =
            (0..of_a_lap).any(|_| streams(&memory, &mut producer, &mut consumer, records));
        assert_eq!(streamed, expected, "{records} records a batch");
    }
}

#[test]
fn ring_takes_several_records_when_it_says_so() {
    let memory = HeapMemory::new(64, 56);
    let mut producer = Producer::new(memory);
    // One line remains of the lap: the long record pads it and takes two of the next lap's eight.
    // One line is never used.
    assert!(producer.has_room_for(&[100, 100, 100]));
    assert!(!producer.has_room_for(&[100, 100, 100, 1]));
    for len in [100, 100, 100] {
        producer.push(0, &[&[9; 100][..len]]).expect("it said so");
    }
    assert_eq!(producer.push(0, &[&[1]]), Err(PushError::Full));
    assert_eq!(producer.occupancy(), 64 * 8 - 64);
}

#[test]
fn ring_shows_nothing_before_it_is_published() {
    let memory = HeapMemory::new(64, 0);
    let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
    let mut buffer = [0; 64];
    producer.push(1, &[b"first"]).expect("room");
    producer.push(2, &[b"second"]).expect("room");
    assert_eq!(consumer.pop(&mut buffer), Ok(None));
    producer.publish();
    assert_eq!(consumer.pop(&mut buffer).map(|record| record.map(|r| r.kind)), Ok(Some(1)));
    assert_eq!(consumer.pop(&mut buffer).map(|record| record.map(|r| r.kind)), Ok(Some(2)));
    assert_eq!(consumer.is_empty(), Ok(true));
    let before = producer.free_bytes();
    consumer.release();
    assert_eq!(producer.free_bytes(), before + 128);
}

#[test]
fn ring_ends_go_on_where_the_indices_stand() {
    let memory = HeapMemory::new(64, 0);
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    let mut buffer = [0; 64];
    for kind in 0..3 {
        producer.push(kind, &[&kind.to_le_bytes()]).expect("room");
    }
    producer.publish();
    producer.rest();
    assert!(consumer.pop(&mut buffer).is_ok_and(|record| record.is_some()));
    consumer.release();

    let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
    producer.push(3, &[]).expect("room");
    producer.publish();
    let mut kinds = Vec::new();
    while let Some(record) = consumer.pop(&mut buffer).expect("an honest peer") {
        kinds.push(record.kind);
    }
    assert_eq!(kinds, [1, 2, 3]);
}
