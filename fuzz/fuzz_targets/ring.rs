//! Any bytes as a ring's memory, and any peer: whatever stands there, the two ends return records,
//! nothing, or errors, in bounded time.
//!
//! The input is the memory to begin with and then a script, of operations and of the peer's
//! mischief between them.
#![no_main]

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use cora_runtime::link::ring::{
    CONTROL_WORDS, Consumer, Producer, PushError, RingMemory, SharedMemory,
};
use libfuzzer_sys::fuzz_target;

/// Words of data: sixteen lines.
const WORDS: usize = 128;
/// Words of a ring in which longer records are possible, to forge headers with.
const LARGE: usize = 4096;

static RING: [AtomicU64; CONTROL_WORDS + WORDS] = [const { AtomicU64::new(0) }; _];
static FORGE: [AtomicU64; CONTROL_WORDS + LARGE] = [const { AtomicU64::new(0) }; _];

fuzz_target!(|bytes: &[u8]| {
    let Some((fill, script)) = bytes.split_first() else { return };
    let script = fill_memory(*fill, script);
    let memory = SharedMemory::new(&RING).expect("a ring's size");
    let mut ends = Ends {
        producer: Producer::new(memory),
        consumer: Consumer::new(memory),
        honest: fill % 4 == 0,
        pushed: Vec::new(),
        published: 0,
        popped: 0,
    };
    for step in script.chunks_exact(4) {
        ends.step(memory, [step[0], step[1], step[2], step[3]]);
    }
});

/// Zeroes, or the first bytes of the script; returns the rest of it.
fn fill_memory(fill: u8, script: &[u8]) -> &[u8] {
    for word in &RING {
        word.store(0, Relaxed);
    }
    if fill % 4 != 1 || script.len() < 8 * RING.len() {
        return script;
    }
    let (memory, script) = script.split_at(8 * RING.len());
    for (word, bytes) in RING.iter().zip(memory.as_chunks::<8>().0) {
        word.store(u64::from_le_bytes(*bytes), Relaxed);
    }
    script
}

/// Both ends, and what an honest run should give.
struct Ends {
    producer: Producer<SharedMemory>,
    consumer: Consumer<SharedMemory>,
    /// The peer leaves the memory alone: records come out as they went in.
    honest: bool,
    pushed: Vec<(u16, Vec<u8>)>,
    published: usize,
    popped: usize,
}

impl Ends {
    fn step(&mut self, memory: SharedMemory, [code, a, b, c]: [u8; 4]) {
        let number = u16::from_le_bytes([a, b]);
        match code % 8 {
            0 | 1 => self.push(usize::from(number % 400), c),
            2 => {
                self.producer.publish();
                self.published = self.pushed.len();
                if a % 2 == 0 {
                    self.producer.rest();
                }
            }
            3 => self.pop(usize::from(number % 400)),
            4 => self.release(c),
            _ if self.honest => self.pop(self.consumer.max_record()),
            5 => forge(memory, u64::from(a) * 8, usize::from(u16::from_le_bytes([b, c])) % 5000),
            6 if c % 2 == 0 => memory.set_header(usize::from(a) * 8 % WORDS, 0),
            6 => memory.store(usize::from(a), u64::from_le_bytes([b, c, a, 0, b, c, a, b])),
            _ => mislead(memory, number, c),
        }
        assert!(self.consumer.occupancy() <= WORDS * 8);
        assert!(self.producer.failure().is_some() || self.producer.occupancy() <= WORDS * 8);
    }

    /// Gives room back, and now and then looks as one does before sleeping.
    fn release(&mut self, how: u8) {
        self.consumer.release();
        if how % 2 == 0 {
            match self.consumer.is_empty_indeed() {
                Ok(empty) => assert!(!self.honest || empty == (self.popped == self.published)),
                Err(error) => assert!(!self.honest, "{error}"),
            }
        }
    }

    fn push(&mut self, len: usize, byte: u8) {
        let payload: Vec<u8> = (0..len).map(|at| byte.wrapping_add(at as u8)).collect();
        let (head, tail) = payload.split_at(len / 3);
        let room = self.producer.has_room(len);
        let outcome = self.producer.push(u16::from(byte), &[head, tail]);
        assert_eq!(room, outcome.is_ok());
        match outcome {
            Ok(()) => self.pushed.push((u16::from(byte), payload)),
            Err(PushError::TooLong) => assert!(len > self.producer.max_record()),
            Err(PushError::Full) => {}
            Err(PushError::Failed(error)) => assert!(!self.honest, "{error}"),
        }
    }

    fn pop(&mut self, room: usize) {
        let mut buffer = vec![0; if self.honest { self.consumer.max_record() } else { room }];
        // One record per line at most, so more without an end is a hang.
        for _ in 0..=WORDS / 8 {
            match self.consumer.pop(&mut buffer) {
                Ok(Some(record)) => {
                    assert!(record.len <= buffer.len());
                    if self.honest {
                        let (kind, payload) = &self.pushed[self.popped];
                        assert_eq!((record.kind, &buffer[..record.len]), (*kind, &payload[..]));
                    }
                    self.popped += 1;
                }
                Ok(None) => return,
                Err(error) => {
                    assert!(!self.honest, "{error}");
                    assert_eq!(self.consumer.failure(), Some(error));
                    return;
                }
            }
        }
        panic!("more records than the ring can hold");
    }
}

/// Writes a header whose check is right, whatever it claims: made by an honest producer in a ring
/// where that is possible.
fn forge(memory: SharedMemory, position: u64, len: usize) {
    let large = SharedMemory::new(&FORGE).expect("a ring's size");
    large.set_head(position);
    large.set_tail(position);
    let mut producer = Producer::new(large);
    producer.push(9, &[&vec![0; len]]).expect("an empty ring");
    producer.publish();
    memory.store(position as usize % WORDS, large.load(position as usize % LARGE));
}

/// Moves an index, near or far.
fn mislead(memory: SharedMemory, number: u16, how: u8) {
    let position = match how % 4 {
        0 => u64::from(number % 64) * 8,
        1 => u64::from(number),
        2 => u64::MAX - u64::from(number),
        _ => u64::from(number) << 48,
    };
    if how & 4 == 0 { memory.set_head(position) } else { memory.set_tail(position) }
}
