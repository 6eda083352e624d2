//! Ring memory on the heap, for tests: the accesses of shared memory, without its lifetime.

#![expect(unsafe_code, reason = "to stream is for memory that does, and this says whether it does")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cora_runtime::link::ring::{RingMemory, StorePolicy, Streaming};

/// Clones share their words.
#[derive(Clone)]
pub(crate) struct HeapMemory(Arc<Words>);

struct Words {
    head: AtomicU64,
    tail: AtomicU64,
    data: Vec<AtomicU64>,
    streaming: Option<Streaming>,
    /// Advance of the clock between two readings, and its value.
    trip: AtomicU64,
    clock: AtomicU64,
    /// Words that are streamed and not settled: they come as late as they may.
    streamed: Mutex<Vec<(usize, [u64; 2])>>,
}

impl HeapMemory {
    /// An empty ring with `words` words of data, and indices that begin at `position`.
    pub(crate) fn new(words: usize, position: u64) -> Self {
        Self::of(words, position, None)
    }

    /// The same, streaming under these conditions.
    pub(crate) fn streaming(words: usize, position: u64, when: Streaming) -> Self {
        Self::of(words, position, Some(when))
    }

    fn of(words: usize, position: u64, streaming: Option<Streaming>) -> Self {
        Self(Arc::new(Words {
            head: AtomicU64::new(position),
            tail: AtomicU64::new(position),
            data: (0..words).map(|_| AtomicU64::new(0)).collect(),
            streaming,
            trip: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            streamed: Mutex::default(),
        }))
    }

    /// Sets the time that lines take to come.
    pub(crate) fn set_trip(&self, trip: u64) {
        self.0.trip.store(trip, Ordering::Relaxed);
    }

    /// Pairs of words that are streamed and not settled.
    pub(crate) fn streamed(&self) -> usize {
        self.0.streamed.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl RingMemory for HeapMemory {
    fn words(&self) -> usize {
        self.0.data.len()
    }
    fn load(&self, index: usize) -> u64 {
        self.0.data[index % self.0.data.len()].load(Ordering::Relaxed)
    }
    fn store(&self, index: usize, word: u64) {
        self.0.data[index % self.0.data.len()].store(word, Ordering::Relaxed);
    }
    fn header(&self, index: usize) -> u64 {
        self.0.data[index % self.0.data.len()].load(Ordering::Acquire)
    }
    fn set_header(&self, index: usize, word: u64) {
        self.0.data[index % self.0.data.len()].store(word, Ordering::Release);
    }
    fn head(&self) -> u64 {
        self.0.head.load(Ordering::Acquire)
    }
    fn set_head(&self, position: u64) {
        self.0.head.store(position, Ordering::Release);
    }
    fn tail(&self) -> u64 {
        self.0.tail.load(Ordering::Acquire)
    }
    fn set_tail(&self, position: u64) {
        self.0.tail.store(position, Ordering::Release);
    }
}

impl StorePolicy for HeapMemory {
    const STREAMS: bool = true;

    fn streaming(&self) -> Option<Streaming> {
        self.0.streaming
    }
    fn clock(&self) -> u64 {
        let trip = self.0.trip.load(Ordering::Relaxed);
        self.0.clock.fetch_add(trip, Ordering::Relaxed)
    }
    unsafe fn stream_pair(&self, index: usize, words: [u64; 2]) {
        assert!(self.0.streaming.is_some(), "it does not stream");
        let mut streamed = self.0.streamed.lock().unwrap_or_else(PoisonError::into_inner);
        streamed.push((index, words));
    }
    fn settle(&self) {
        let mut streamed = self.0.streamed.lock().unwrap_or_else(PoisonError::into_inner);
        // In the least expected order.
        for (index, words) in streamed.drain(..).rev() {
            self.store_pair(index, words);
        }
    }
}
