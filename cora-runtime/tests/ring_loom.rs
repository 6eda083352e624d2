//! The ring under loom, which tries every interleaving and every value that a load may return:
//! `RUSTFLAGS="--cfg loom" cargo test -p cora-runtime --release --test ring_loom`.
//!
//! The two ends are the code that runs; only the memory is loom's. Each data word has a race
//! detector beside it, so an access that the indices do not order fails, in either direction. The
//! last tests remove one ordering on purpose, and must fail.
#![cfg(loom)]
#![expect(unsafe_code, reason = "loom's race detector is not Sync by itself")]

use std::cell::RefCell;
use std::ops::Range;

use cora_runtime::link::ring::{Consumer, Producer, PushError, RingMemory, StorePolicy, Streaming};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// A data word: its value, and a race detector. At the beginning of a line, and so perhaps of a
/// record, loom tries every value. Elsewhere the detector finds a race without that.
struct Slot {
    value: Value,
    races: UnsafeCell<()>,
}

enum Value {
    LineBegin(AtomicU64),
    Other(std::sync::atomic::AtomicU64),
}

impl Slot {
    fn new(index: usize) -> Self {
        let value = if index.is_multiple_of(8) {
            Value::LineBegin(AtomicU64::new(0))
        } else {
            Value::Other(std::sync::atomic::AtomicU64::new(0))
        };
        Self { value, races: UnsafeCell::new(()) }
    }

    fn load(&self, order: Ordering) -> u64 {
        match &self.value {
            Value::LineBegin(value) => value.load(order),
            Value::Other(value) => value.load(Ordering::Relaxed),
        }
    }

    fn store(&self, word: u64, order: Ordering) {
        match &self.value {
            Value::LineBegin(value) => value.store(word, order),
            Value::Other(value) => value.store(word, Ordering::Relaxed),
        }
    }
}

struct Words {
    head: AtomicU64,
    tail: AtomicU64,
    data: Vec<Slot>,
}

// SAFETY: nothing is stored in the cells; loom is told of accesses to them, and loom runs one
// thread at a time.
unsafe impl Sync for Words {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Words {}

/// Orderings of the stores to headers and indices. The right ones are all `Release`.
#[derive(Clone, Copy)]
struct Orders {
    header: Ordering,
    head: Ordering,
    tail: Ordering,
    /// Whether streamed words are visible once they are settled, as they should be.
    settles: bool,
}

const RIGHT: Orders = Orders {
    header: Ordering::Release,
    head: Ordering::Release,
    tail: Ordering::Release,
    settles: true,
};

#[derive(Clone)]
struct LoomMemory {
    words: Arc<Words>,
    orders: Orders,
    /// The condition for streaming, at any distance of the consumer.
    streaming: Option<Streaming>,
    /// Words that are streamed and not settled. They are the producer's own, though the consumer's
    /// clone of the memory has a list, too.
    streamed: RefCell<Vec<(usize, [u64; 2])>>,
}

impl LoomMemory {
    fn new(words: usize, position: u64, orders: Orders) -> Self {
        let words = Words {
            head: AtomicU64::new(position),
            tail: AtomicU64::new(position),
            data: (0..words).map(Slot::new).collect(),
        };
        Self { words: Arc::new(words), orders, streaming: None, streamed: RefCell::default() }
    }

    fn streaming(words: usize, orders: Orders, batch: u64) -> Self {
        let streaming = Some(Streaming { batch, trip: 0, looks_every: 0 });
        Self { streaming, ..Self::new(words, 0, orders) }
    }
}

impl RingMemory for LoomMemory {
    fn words(&self) -> usize {
        self.words.data.len()
    }
    fn load(&self, index: usize) -> u64 {
        let slot = &self.words.data[index % self.words.data.len()];
        slot.races.with(|_| ());
        slot.load(Ordering::Relaxed)
    }
    fn store(&self, index: usize, word: u64) {
        let slot = &self.words.data[index % self.words.data.len()];
        slot.races.with_mut(|_| ());
        slot.store(word, Ordering::Relaxed);
    }
    fn header(&self, index: usize) -> u64 {
        self.words.data[index % self.words.data.len()].load(Ordering::Acquire)
    }
    fn set_header(&self, index: usize, word: u64) {
        // No race detector: the peer polls this word on purpose.
        self.words.data[index % self.words.data.len()].store(word, self.orders.header);
    }
    fn head(&self) -> u64 {
        self.words.head.load(Ordering::Acquire)
    }
    fn set_head(&self, position: u64) {
        self.words.head.store(position, self.orders.head);
    }
    fn tail(&self) -> u64 {
        self.words.tail.load(Ordering::Acquire)
    }
    fn set_tail(&self, position: u64) {
        self.words.tail.store(position, self.orders.tail);
    }
}

impl StorePolicy for LoomMemory {
    const STREAMS: bool = true;

    fn streaming(&self) -> Option<Streaming> {
        self.streaming
    }
    unsafe fn stream_pair(&self, index: usize, words: [u64; 2]) {
        self.streamed.borrow_mut().push((index, words));
    }
    fn settle(&self) {
        if self.orders.settles {
            for (index, words) in self.streamed.borrow_mut().drain(..) {
                self.store_pair(index, words);
            }
        }
    }
}

/// Payload of record `number`.
fn payload(number: u16, len: usize) -> Vec<u8> {
    (0..len).map(|at| at as u8 ^ (number as u8 + 1)).collect()
}

fn push(producer: &mut Producer<LoomMemory>, number: u16, len: usize) {
    let payload = payload(number, len);
    let (head, tail) = payload.split_at(len / 3);
    while let Err(error) = producer.push(number, &[head, tail]) {
        assert_eq!(error, PushError::Full);
        thread::yield_now();
    }
}

fn pop(consumer: &mut Consumer<LoomMemory>, number: u16, len: usize) {
    let mut buffer = [0; 128];
    loop {
        if let Some(record) = consumer.pop(&mut buffer).expect("an honest peer") {
            assert_eq!((record.kind, &buffer[..record.len]), (number, &payload(number, len)[..]));
            return;
        }
        thread::yield_now();
    }
}

/// Three records, the first two published together, around the end of a lap.
fn batch_around_a_lap(orders: Orders) {
    loom::model(move || {
        let memory = LoomMemory::new(32, 16, orders);
        let mut producer = Producer::new(memory.clone());
        let writing = thread::spawn(move || {
            push(&mut producer, 0, 3);
            push(&mut producer, 1, 20);
            producer.publish();
            push(&mut producer, 2, 9);
            producer.publish();
        });
        let mut consumer = Consumer::new(memory);
        for (number, len) in [(0, 3), (1, 20), (2, 9)] {
            pop(&mut consumer, number, len);
            consumer.release();
        }
        writing.join().expect("the producer ends");
    });
}

/// The ring is full, so further records wait until the consumer gives room back, for two records
/// together.
fn full_ring(orders: Orders) {
    loom::model(move || {
        let memory = LoomMemory::new(32, 0, orders);
        let mut producer = Producer::new(memory.clone());
        for number in 0..3 {
            push(&mut producer, number, 10);
        }
        producer.publish();
        let writing = thread::spawn(move || {
            for number in 3..5 {
                push(&mut producer, number, 10);
                producer.publish();
            }
        });
        let mut consumer = Consumer::new(memory);
        for number in 0..5 {
            pop(&mut consumer, number, 10);
            if number % 2 == 1 {
                consumer.release();
            }
        }
        writing.join().expect("the producer ends");
    });
}

/// A batch of two lines, and one of three with the last two streamed.
fn streamed_batch(orders: Orders) {
    loom::model(move || {
        let memory = LoomMemory::streaming(64, orders, 16);
        let mut producer = Producer::new(memory.clone());
        let batch = |producer: &mut Producer<LoomMemory>, numbers: Range<u64>| {
            for number in numbers {
                producer.push_behind(number as u16, &[number], b"behind").expect("room");
            }
            producer.publish();
        };
        batch(&mut producer, 0..2);
        let writing = thread::spawn(move || batch(&mut producer, 2..5));
        let mut consumer = Consumer::new(memory);
        let (mut buffer, mut number) = ([0; 64], 0_u64);
        while number < 5 {
            if let Some(record) = consumer.pop(&mut buffer).expect("an honest peer") {
                let expected = [&number.to_le_bytes()[..], b"behind"].concat();
                assert_eq!((record.kind, &buffer[..record.len]), (number as u16, &expected[..]));
                number += 1;
            } else {
                assert_ne!(number, 3, "a batch is shown as a whole");
                thread::yield_now();
            }
        }
        writing.join().expect("the producer ends");
    });
}

#[test]
fn ring_streamed_batch() {
    streamed_batch(RIGHT);
}

#[test]
#[should_panic(expected = "a batch is shown as a whole")]
fn ring_that_does_not_settle_is_caught() {
    streamed_batch(Orders { settles: false, ..RIGHT });
}

#[test]
fn ring_batch_around_a_lap() {
    batch_around_a_lap(RIGHT);
}

#[test]
fn ring_full() {
    full_ring(RIGHT);
}

/// A record of two lines, with one line left in the lap: padding and record become visible
/// together.
#[test]
fn ring_padding() {
    loom::model(|| {
        let memory = LoomMemory::new(64, 48, RIGHT);
        let mut producer = Producer::new(memory.clone());
        let writing = thread::spawn(move || {
            push(&mut producer, 0, 5);
            producer.publish();
            push(&mut producer, 1, 70);
            producer.publish();
        });
        let mut consumer = Consumer::new(memory);
        pop(&mut consumer, 0, 5);
        pop(&mut consumer, 1, 70);
        consumer.release();
        writing.join().expect("the producer ends");
    });
}

/// A consumer that also reads the index never takes an honest producer for a broken one.
fn index_and_header(orders: Orders) {
    loom::model(move || {
        let memory = LoomMemory::new(32, 16, orders);
        let mut producer = Producer::new(memory.clone());
        let writing = thread::spawn(move || {
            push(&mut producer, 0, 3);
            producer.publish();
            producer.rest();
            push(&mut producer, 1, 3);
            producer.publish();
        });
        let mut consumer = Consumer::new(memory);
        for number in 0..2 {
            consumer.is_empty_indeed().expect("an honest peer");
            pop(&mut consumer, number, 3);
            consumer.is_empty_indeed().expect("an honest peer");
        }
        writing.join().expect("the producer ends");
        assert_eq!(consumer.is_empty_indeed(), Ok(true));
    });
}

#[test]
fn ring_index_and_header() {
    index_and_header(RIGHT);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn ring_without_release_of_the_header_is_caught() {
    batch_around_a_lap(Orders { header: Ordering::Relaxed, ..RIGHT });
}

#[test]
#[should_panic(expected = "an honest peer: BadCheck")]
fn ring_without_release_of_the_head_is_caught() {
    index_and_header(Orders { head: Ordering::Relaxed, ..RIGHT });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn ring_without_release_of_the_tail_is_caught() {
    full_ring(Orders { tail: Ordering::Relaxed, ..RIGHT });
}
