//! A peer that writes anything, anywhere, at any time: each operation ends with a record, with
//! nothing, or with an error, and takes bounded time.
// Not under Miri: safe code on heap memory, which takes it minutes; see `ring_threads.rs`.
#![cfg(not(any(loom, miri)))]

mod ring_memory;

use cora_runtime::link::ring::{Consumer, Producer, PushError, RingError, RingMemory, Streaming};
use proptest::prelude::*;

use ring_memory::HeapMemory;

const WORDS: usize = 64;

/// A write by the peer between two of our operations.
#[derive(Clone, Debug)]
enum Mischief {
    Word {
        index: usize,
        word: u64,
    },
    /// A header with the right check, and any content.
    Header {
        position: u64,
        len: usize,
        kind: u16,
    },
    Head(u64),
    Tail(u64),
}

fn index() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (0..40_u64).prop_map(|line| line * 8),
        1 => 0..400_u64,
        1 => any::<u64>(),
        1 => Just(u64::MAX - 7),
    ]
}

fn mischief() -> impl Strategy<Value = Mischief> {
    prop_oneof![
        1 => (0..WORDS, any::<u64>()).prop_map(|(index, word)| Mischief::Word { index, word }),
        4 => ((0..40_u64), 0..600_usize, any::<u16>())
            .prop_map(|(line, len, kind)| Mischief::Header { position: line * 8, len, kind }),
        2 => index().prop_map(Mischief::Head),
        2 => index().prop_map(Mischief::Tail),
    ]
}

/// A header word as an honest producer writes it, from a ring in which that length is possible.
fn forge(position: u64, len: usize, kind: u16) -> u64 {
    let scratch = HeapMemory::new(1024, position);
    let mut producer = Producer::new(scratch.clone());
    producer.push(kind, &[&vec![0; len]]).expect("an empty ring");
    producer.publish();
    scratch.load(position as usize % 1024)
}

fn commit(memory: &HeapMemory, mischief: &Mischief) {
    match *mischief {
        Mischief::Word { index, word } => memory.store(index, word),
        Mischief::Header { position, len, kind } => {
            memory.store(position as usize % WORDS, forge(position, len, kind));
        }
        Mischief::Head(index) => memory.set_head(index),
        Mischief::Tail(index) => memory.set_tail(index),
    }
}

/// Pops until nothing is left. A ring holds one record per line at most, so more is a hang.
fn drain(consumer: &mut Consumer<HeapMemory>, buffer: &mut [u8]) -> Result<(), TestCaseError> {
    for _ in 0..=WORDS / 8 {
        match consumer.pop(buffer) {
            Ok(Some(record)) => prop_assert!(record.len <= consumer.max_record()),
            Ok(None) => return Ok(()),
            Err(error) => {
                prop_assert_eq!(consumer.pop(buffer), Err(error), "a failed ring stays failed");
                prop_assert_eq!(consumer.failure(), Some(error));
                return Ok(());
            }
        }
    }
    prop_assert!(false, "more records than the ring can hold");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ring_consumer_survives_any_peer(
        buffer in prop_oneof![Just(0_usize), Just(20), Just(200)],
        rounds in prop::collection::vec(prop::collection::vec(mischief(), 1..6), 1..10),
    ) {
        let memory = HeapMemory::new(WORDS, 0);
        let mut consumer = Consumer::new(memory.clone());
        let mut buffer = vec![0; buffer];
        for round in rounds {
            for act in &round {
                commit(&memory, act);
            }
            drain(&mut consumer, &mut buffer)?;
            let indeed = consumer.is_empty_indeed();
            prop_assert_eq!(indeed.err(), consumer.failure());
            consumer.release();
        }
    }

    #[test]
    fn ring_producer_survives_any_peer(
        start in 0..16_u64,
        // It streams at any distance of the peer, if the peer is far enough, or never.
        trip in 0..3_u64,
        rounds in prop::collection::vec((prop::collection::vec(mischief(), 0..4), 0..200_usize), 1..20),
    ) {
        let when = Streaming { batch: 8, trip, looks_every: 16 };
        let memory = HeapMemory::streaming(WORDS, start * 8, when);
        memory.set_trip(1);
        let mut producer = Producer::new(memory.clone());
        for (acts, len) in rounds {
            for act in &acts {
                commit(&memory, act);
            }
            let room = producer.has_room(len);
            let outcome = producer.push(1, &[&vec![7; len]]);
            prop_assert_eq!(room, outcome.is_ok());
            if let Err(PushError::Failed(error)) = outcome {
                prop_assert_eq!(producer.failure(), Some(error));
                prop_assert_eq!(producer.free_bytes(), 0);
            }
            let _ = producer.push_behind(2, &[1], &vec![7; len]);
            prop_assert!(producer.occupancy() <= WORDS * 8);
            producer.publish();
            prop_assert_eq!(memory.streamed(), 0, "what is shown is there");
            if len % 2 == 0 {
                producer.rest();
            }
        }
    }

    #[test]
    fn ring_ends_open_on_any_memory(
        words in prop::collection::vec(any::<u64>(), WORDS), head in index(), tail in index(),
    ) {
        let memory = HeapMemory::new(WORDS, 0);
        for (index, word) in words.iter().enumerate() {
            memory.store(index, *word);
        }
        memory.set_head(head);
        memory.set_tail(tail);
        let mut producer = Producer::new(memory.clone());
        prop_assert!(producer.occupancy() <= WORDS * 8 && producer.free_bytes() <= WORDS * 8);
        if producer.push(1, &[b"payload"]).is_ok() {
            prop_assert!(head.wrapping_sub(tail) < WORDS as u64);
        }
        drain(&mut Consumer::new(memory), &mut [0; 200])?;
    }
}

/// The bytes popped from a ring with one record of 20 bytes at position 0, after `mischief`, until
/// the ring is empty and should be.
fn pop_after(mischief: &[Mischief]) -> Result<usize, RingError> {
    let memory = HeapMemory::new(WORDS, 0);
    let mut producer = Producer::new(memory.clone());
    producer.push(1, &[&[5; 20]]).expect("room");
    producer.publish();
    producer.rest();
    for act in mischief {
        commit(&memory, act);
    }
    let (mut consumer, mut bytes) = (Consumer::new(memory), 0);
    while let Some(record) = consumer.pop(&mut [0; 200])? {
        bytes += record.len;
    }
    consumer.is_empty_indeed().map(|_| bytes)
}

#[test]
fn ring_errors_say_what_the_peer_did() {
    assert_eq!(pop_after(&[]), Ok(20));
    let word = 0xdead_beef;
    assert_eq!(
        pop_after(&[Mischief::Word { index: 0, word }]),
        Err(RingError::BadCheck { position: 0, word })
    );
    // Longer than any record of this ring.
    let error = RingError::BadLength { position: 0, len: 500, room: 120 };
    assert_eq!(pop_after(&[Mischief::Header { position: 0, len: 500, kind: 1 }]), Err(error));
}

/// No record needs the producer's index, so it is read when there is no record.
#[test]
fn ring_notices_a_producer_whose_index_is_wrong() {
    let after = |mischief: &[Mischief]| {
        let memory = HeapMemory::new(WORDS, 0);
        let mut consumer = Consumer::new(memory.clone());
        for act in mischief {
            commit(&memory, act);
        }
        let indeed = consumer.is_empty_indeed();
        // A consumer that only polls for records finds the same after a while.
        let mut consumer = Consumer::new(memory.clone());
        let found = (0..100).find_map(|_| consumer.pop(&mut [0; 200]).err());
        assert_eq!(found, indeed.err());
        indeed
    };
    assert_eq!(after(&[]), Ok(true));
    let (index, lowest, highest) = (64, 0, 56);
    let error = RingError::IndexOutOfRange { index, lowest, highest };
    assert_eq!(after(&[Mischief::Head(index)]), Err(error));
    assert_eq!(error.to_string(), "the peer's ring index is 64, but only 0 to 56 is possible");
    assert_eq!(after(&[Mischief::Head(12)]), Err(RingError::IndexUnaligned { index: 12 }));
    // The index is beyond, and there is no header.
    let error = RingError::BadCheck { position: 0, word: 0 };
    assert_eq!(after(&[Mischief::Head(8)]), Err(error));
}

/// The index is read while a long record is taken. That record is still returned, but none behind
/// it, however short.
#[test]
fn ring_gives_nothing_more_once_an_index_was_wrong() {
    let memory = HeapMemory::new(4096, 0);
    let mut producer = Producer::new(memory.clone());
    let mut consumer = Consumer::new(memory.clone());
    for len in [200; 60].into_iter().chain([20; 20]) {
        producer.push(1, &[&vec![0; len]]).expect("room");
        producer.publish();
    }
    memory.set_head(8 * 4096);
    let mut buffer = [0; 256];
    let taken = (0..80).take_while(|_| consumer.pop(&mut buffer).is_ok()).count();
    assert!((1..60).contains(&taken), "{taken}");
    // After the peer's error, its next record is a short one.
    let position = 4 * 8 * taken as u64;
    memory.store(position as usize, forge(position, 20, 1));
    let error = RingError::IndexOutOfRange { index: 8 * 4096, lowest: 0, highest: 4096 - 8 };
    assert_eq!((consumer.failure(), consumer.pop(&mut buffer)), (Some(error), Err(error)));
}

#[test]
fn ring_notices_a_producer_whose_index_goes_back() {
    let memory = HeapMemory::new(WORDS, 0);
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    producer.push(1, &[b"one"]).expect("room");
    producer.push(1, &[b"two"]).expect("room");
    producer.publish();
    producer.rest();
    assert_eq!(consumer.is_empty_indeed(), Ok(false));
    memory.set_head(8);
    let error = RingError::IndexOutOfRange { index: 8, lowest: 16, highest: 56 };
    assert_eq!(consumer.is_empty_indeed(), Err(error));
}

/// An honest index is written after its header, so it may be less than the popped position.
#[test]
fn ring_takes_no_offence_at_an_index_that_is_late() {
    let memory = HeapMemory::new(WORDS, 0);
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    producer.push(1, &[b"one"]).expect("room");
    producer.publish();
    assert_eq!(memory.head(), 0, "told when there is time");
    assert!(consumer.pop(&mut [0; 8]).is_ok_and(|record| record.is_some()));
    consumer.release();
    assert_eq!(consumer.is_empty_indeed(), Ok(true));
    assert_eq!(consumer.occupancy(), 0);
}

/// Headers without end, each behind the last record: no more than a ring's worth is taken until
/// room is given back.
#[test]
fn ring_notices_headers_without_room() {
    let memory = HeapMemory::new(WORDS, 0);
    for line in 0..8 {
        commit(&memory, &Mischief::Header { position: line * 8, len: 3, kind: 1 });
    }
    let mut consumer = Consumer::new(memory);
    for _ in 0..7 {
        assert!(consumer.pop(&mut [0; 8]).is_ok_and(|record| record.is_some()));
    }
    let error = RingError::BadLength { position: 56, len: 3, room: 0 };
    assert_eq!(consumer.pop(&mut [0; 8]), Err(error));
}

/// The peer clears a header after the poll that found it: the header is read again, so the first
/// result does not matter.
#[test]
fn ring_forgets_a_header_that_was_cleared() {
    let memory = HeapMemory::new(WORDS, 0);
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    producer.push(1, &[b"one"]).expect("room");
    producer.publish();
    producer.rest();
    assert_eq!(consumer.is_empty(), Ok(false));
    memory.store(0, 0);
    assert_eq!(consumer.pop(&mut [0; 8]), Ok(None));
    let error = RingError::BadCheck { position: 0, word: 0 };
    assert_eq!(consumer.is_empty_indeed(), Err(error), "but the index is beyond");
}

#[test]
fn ring_reports_a_buffer_that_is_too_short() {
    let memory = HeapMemory::new(WORDS, 0);
    let mut producer = Producer::new(memory.clone());
    producer.push(1, &[&[5; 20]]).expect("room");
    producer.publish();
    let outcome = Consumer::new(memory).pop(&mut [0; 19]);
    assert_eq!(outcome, Err(RingError::BufferTooShort { len: 20, buffer: 19 }));
}

#[test]
fn ring_notices_a_consumer_that_goes_back() {
    let memory = HeapMemory::new(WORDS, 64);
    let mut producer = Producer::new(memory.clone());
    memory.set_tail(56);
    let error = RingError::IndexOutOfRange { index: 56, lowest: 64, highest: 64 };
    assert_eq!(producer.free_bytes(), 0);
    assert_eq!(producer.push(1, &[]), Err(PushError::Failed(error)));
}

/// A remote sender forges the payload that will be left in the next header's place: a header for
/// that very position.
#[test]
fn ring_takes_no_payload_of_a_lap_before_for_a_header() {
    let memory = HeapMemory::new(WORDS, 0);
    let (mut producer, mut consumer) =
        (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    let mut payload = [1; 120];
    let forged = forge(WORDS as u64 + 8, 20, 9);
    payload[56..64].copy_from_slice(&forged.to_le_bytes());
    // Two lines, then one for each record, into the next lap's first.
    for len in [120, 56, 56, 56, 56, 56, 56, 56] {
        assert!(producer.push(1, &[&payload[..len]]).is_ok());
        producer.publish();
        let popped = consumer.pop(&mut [0; 200]).expect("an honest peer");
        assert_eq!(popped.map(|record| record.len), Some(len));
        assert_eq!(consumer.pop(&mut [0; 200]), Ok(None), "one was pushed");
        consumer.release();
        if len == 120 {
            assert_eq!(memory.load(8), forged, "it stands there");
        }
    }
    assert_eq!(memory.load(8), 0, "and was taken away");
}
