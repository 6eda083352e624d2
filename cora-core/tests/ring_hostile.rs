//! A peer that writes what it likes, where it likes, when it likes: each operation ends with a
//! record, with nothing, or with an error, and takes bounded time.
// Not under Miri: safe code on heap memory, which takes it minutes; see `ring_threads.rs`.
#![cfg(not(any(loom, miri)))]

mod ring_memory;

use cora_core::ring::{Consumer, Producer, PushError, RingError, RingMemory};
use proptest::prelude::*;
use ring_memory::HeapMemory;

const WORDS: usize = 64;

/// Something the peer writes between two of our operations.
#[derive(Clone, Debug)]
enum Mischief {
    Word {
        index: usize,
        word: u64,
    },
    /// A header with the right check, whatever it claims.
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

/// A header word as an honest producer writes it, got from a ring where that length is possible.
fn forge(position: u64, len: usize, kind: u16) -> u64 {
    let scratch = HeapMemory::new(1024, position);
    Producer::new(scratch.clone()).push(kind, &[&vec![0; len]]).expect("an empty ring");
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
            consumer.release();
        }
    }

    #[test]
    fn ring_producer_survives_any_peer(
        start in 0..16_u64,
        rounds in prop::collection::vec((prop::collection::vec(mischief(), 0..4), 0..200_usize), 1..20),
    ) {
        let memory = HeapMemory::new(WORDS, start * 8);
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
            prop_assert!(producer.failure().is_some() || producer.occupancy() <= WORDS * 8);
            producer.publish();
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
        if producer.push(1, &[b"payload"]).is_ok() {
            prop_assert!(head.wrapping_sub(tail) < WORDS as u64);
        }
        drain(&mut Consumer::new(memory), &mut [0; 200])?;
    }
}

/// A ring with one record of 20 bytes at position 0, spoilt by `mischief`.
fn pop_after(mischief: &[Mischief]) -> Result<Option<usize>, RingError> {
    let memory = HeapMemory::new(WORDS, 0);
    let mut producer = Producer::new(memory.clone());
    producer.push(1, &[&[5; 20]]).expect("room");
    producer.publish();
    for act in mischief {
        commit(&memory, act);
    }
    Ok(Consumer::new(memory).pop(&mut [0; 200])?.map(|record| record.len))
}

#[test]
fn ring_errors_say_what_the_peer_did() {
    assert_eq!(pop_after(&[]), Ok(Some(20)));
    let (index, lowest, highest) = (72, 0, 64);
    let error = RingError::IndexOutOfRange { index, lowest, highest };
    assert_eq!(pop_after(&[Mischief::Head(index)]), Err(error));
    assert_eq!(error.to_string(), "the peer's ring index is 72, but only 0 to 64 is possible");
    assert_eq!(pop_after(&[Mischief::Head(12)]), Err(RingError::IndexUnaligned { index: 12 }));
    let word = 0xdead_beef;
    assert_eq!(
        pop_after(&[Mischief::Word { index: 0, word }]),
        Err(RingError::BadCheck { position: 0, word })
    );
    // Longer than what is published, and longer than any record of this ring.
    let header = |len| [Mischief::Header { position: 0, len, kind: 1 }];
    for len in [57, 500] {
        let error = RingError::BadLength { position: 0, len: len as u32, room: 56 };
        assert_eq!(pop_after(&header(len)), Err(error));
    }
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
