//! The contestants: queues of records between two threads, behind one pair of traits.

use std::sync::atomic::AtomicU64;

use cora_runtime::link::ring::{CONTROL_WORDS, Consumer, Producer, SharedMemory};
use ringbuf::traits::{Consumer as _, Producer as _, Split as _};
use rtrb::chunks::ChunkError;

/// Capacity of every queue, in records.
pub(super) const RECORDS: usize = 1024;

/// Words in a record of the crates: a cache line.
const WORDS: usize = 8;

/// A record of the crates. Alignment makes them faster.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line([u64; WORDS]);

/// Returns the content of the record with this number.
pub(super) fn content<const N: usize>(number: u64) -> [u64; N] {
    std::array::from_fn(|at| number.wrapping_add(at as u64))
}

pub(super) fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// The writing end of a queue.
pub(super) trait Send: std::marker::Send {
    /// Sends up to `batch` records, numbered from `from` on, together; returns the number with
    /// room.
    fn send(&mut self, from: u64, batch: usize) -> usize;

    /// Announces a pause until the next received record, as run loops tell a ring.
    fn rest(&mut self) {}
}

/// The reading end of a queue.
pub(super) trait Receive: std::marker::Send {
    /// Takes up to `batch` records and adds their words up; returns the number of records.
    fn receive(&mut self, batch: usize, sum: &mut u64) -> usize;

    /// Returns the sum of `count` records numbered from 0.
    fn expected(&self, count: u64) -> u64;
}

/// Returns the sum of the words of `count` records of `words` words.
pub(super) fn expected(count: u64, words: u64) -> u64 {
    let numbers = (0..count).fold(0, u64::wrapping_add);
    numbers.wrapping_mul(words).wrapping_add(count * (words * (words - 1) / 2))
}

/// An end on lines of its own, as in a thread's own memory: the private fields of both ends must
/// not share a line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Apart<End>(pub(super) End);

impl<End: Send> Send for Apart<End> {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        self.0.send(from, batch)
    }

    fn rest(&mut self) {
        self.0.rest();
    }
}

impl<End: Receive> Receive for Apart<End> {
    fn receive(&mut self, batch: usize, sum: &mut u64) -> usize {
        self.0.receive(batch, sum)
    }

    fn expected(&self, count: u64) -> u64 {
        self.0.expected(count)
    }
}

/// Puts each end on lines of its own.
pub(super) fn apart<S: Send, R: Receive>((sender, receiver): (S, R)) -> (Apart<S>, Apart<R>) {
    (Apart(sender), Apart(receiver))
}

/// The writing end of Cora's ring, with payloads of `N` words.
#[derive(Debug)]
pub(super) struct Pushing<const N: usize>(Producer<SharedMemory>);

/// The reading end.
#[derive(Debug)]
pub(super) struct Popping<const N: usize> {
    consumer: Consumer<SharedMemory>,
    /// Room for more than a record: short records are copied by whole lines. It is kept, as in a
    /// run loop: zeroing it for each poll is no work of a ring.
    buffer: [[u8; 8]; 16],
}

/// Allocates words shared by two threads, leaked and line-aligned like a mapping.
pub(super) fn words(count: usize) -> &'static [AtomicU64] {
    const ALIGN: usize = 128;
    let words: Vec<AtomicU64> = (0..count + ALIGN / 8).map(|_| AtomicU64::new(0)).collect();
    let words = words.leak();
    let skip = words.as_ptr().addr().wrapping_neg() % ALIGN / 8;
    &words[skip..skip + count]
}

/// Allocates a ring's memory.
pub(super) fn shared(data_bytes: usize) -> SharedMemory {
    SharedMemory::new(words(CONTROL_WORDS + data_bytes / 8)).expect("a ring's size")
}

/// Makes a ring with room for as many records of one line as the crates have.
pub(super) fn cora<const N: usize>() -> (impl Send, impl Receive) {
    cora_in::<N>(shared(RECORDS * 64 * (1 + N / 8)))
}

/// Makes a ring in this memory.
pub(super) fn cora_in<const N: usize>(memory: SharedMemory) -> (impl Send, impl Receive) {
    let popping = Popping::<N> { consumer: Consumer::new(memory), buffer: [[0; 8]; 16] };
    apart((Pushing::<N>(Producer::new(memory)), popping))
}

impl<const N: usize> Send for Pushing<N> {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        let mut sent = 0;
        while sent < batch {
            let record = content::<N>(from + sent as u64);
            let Some((first, others)) = record.split_first_chunk::<7>() else { break };
            let others = others.first().copied().map(u64::to_le_bytes);
            if self.0.push_behind(1, first, others.as_slice().as_flattened()).is_err() {
                break;
            }
            sent += 1;
        }
        self.0.publish();
        sent
    }

    fn rest(&mut self) {
        self.0.rest();
    }
}

impl<const N: usize> Receive for Popping<N> {
    fn receive(&mut self, batch: usize, total: &mut u64) -> usize {
        let mut received = 0;
        while received < batch {
            let popped = self.consumer.pop(self.buffer.as_flattened_mut());
            if popped.expect("an honest peer").is_none() {
                break;
            }
            for word in &self.buffer[..N] {
                *total = total.wrapping_add(u64::from_le_bytes(*word));
            }
            received += 1;
        }
        self.consumer.release();
        received
    }

    fn expected(&self, count: u64) -> u64 {
        expected(count, N as u64)
    }
}

/// Makes a queue of the crate rtrb, used by chunks.
pub(super) fn rtrb() -> (impl Send, impl Receive) {
    apart(rtrb::RingBuffer::new(RECORDS))
}

impl Send for rtrb::Producer<Line> {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        if batch == 1 {
            return usize::from(self.push(Line(content(from))).is_ok());
        }
        let room = match self.write_chunk_uninit(batch) {
            Ok(_) => batch,
            Err(ChunkError::TooFewSlots(room)) => room,
        };
        let chunk = self.write_chunk_uninit(room).expect("it said so");
        chunk.fill_from_iter((from..).map(|number| Line(content(number))))
    }
}

impl Receive for rtrb::Consumer<Line> {
    fn receive(&mut self, batch: usize, total: &mut u64) -> usize {
        if batch == 1 {
            let Ok(line) = self.pop() else { return 0 };
            *total = total.wrapping_add(sum(&line.0));
            return 1;
        }
        let ready = match self.read_chunk(batch) {
            Ok(_) => batch,
            Err(ChunkError::TooFewSlots(ready)) => ready,
        };
        let chunk = self.read_chunk(ready).expect("it said so");
        let (first, second) = chunk.as_slices();
        for line in first.iter().chain(second) {
            *total = total.wrapping_add(sum(&line.0));
        }
        chunk.commit_all();
        ready
    }

    fn expected(&self, count: u64) -> u64 {
        expected(count, WORDS as u64)
    }
}

/// Makes a queue of the crate ringbuf, used by slices.
pub(super) fn ringbuf() -> (impl Send, impl Receive) {
    apart(ringbuf::HeapRb::new(RECORDS).split())
}

impl Send for ringbuf::HeapProd<Line> {
    fn send(&mut self, from: u64, batch: usize) -> usize {
        if batch == 1 {
            return usize::from(self.try_push(Line(content(from))).is_ok());
        }
        self.push_iter((from..).take(batch).map(|number| Line(content(number))))
    }
}

impl Receive for ringbuf::HeapCons<Line> {
    fn receive(&mut self, batch: usize, total: &mut u64) -> usize {
        if batch == 1 {
            let Some(line) = self.try_pop() else { return 0 };
            *total = total.wrapping_add(sum(&line.0));
            return 1;
        }
        let (first, second) = self.as_slices();
        let ready = first.len().saturating_add(second.len()).min(batch);
        for line in first.iter().chain(second).take(batch) {
            *total = total.wrapping_add(sum(&line.0));
        }
        self.skip(ready)
    }

    fn expected(&self, count: u64) -> u64 {
        expected(count, WORDS as u64)
    }
}
