//! Ring memory on the heap, for tests: the accesses of shared memory, without its lifetime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cora_core::ring::RingMemory;

/// Clones share their words.
#[derive(Clone)]
pub(crate) struct HeapMemory(Arc<Words>);

struct Words {
    head: AtomicU64,
    tail: AtomicU64,
    data: Vec<AtomicU64>,
}

impl HeapMemory {
    /// An empty ring with so many words of data, whose indices begin at `position`.
    pub(crate) fn new(words: usize, position: u64) -> Self {
        Self(Arc::new(Words {
            head: AtomicU64::new(position),
            tail: AtomicU64::new(position),
            data: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }))
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
