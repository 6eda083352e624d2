//! The memory of rings and payload buffers: plain words, and a process that may die between any two
//! stores.

use std::cell::Cell;
use std::rc::Rc;

use cora_runtime::link::ring::{Consumer, Producer, RingMemory, StorePolicy};

/// The remaining life of a process, in stores to shared memory. No other process sees its actions
/// after the last store.
#[derive(Clone, Debug)]
pub(crate) struct Life(Rc<Cell<u64>>);

impl Life {
    /// Creates an endless life.
    pub(crate) fn endless() -> Self {
        Self(Rc::new(Cell::new(u64::MAX)))
    }

    /// Ends the life after at most `stores` further stores. A dead process stays dead.
    pub(crate) fn ends_after(&self, stores: u64) {
        self.0.set(stores.min(self.0.get()));
    }

    /// A process that lives by now goes on for good.
    pub(crate) fn spare(&self) {
        if !self.is_over() {
            self.0.set(u64::MAX);
        }
    }

    /// Returns whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.0.get() == 0
    }

    /// Counts a store, and returns whether it takes place.
    pub(crate) fn goes_on(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(u64::from(left != u64::MAX)));
        left > 0
    }
}

/// Words of a ring or of payload buffers, as one process sees them.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    head: Rc<Cell<u64>>,
    tail: Rc<Cell<u64>>,
    data: Rc<[Cell<u64>]>,
    life: Life,
}

impl Words {
    /// Creates `bytes` bytes, a power of two.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            head: Rc::default(),
            tail: Rc::default(),
            data: vec![Cell::new(0); bytes / 8].into(),
            life: Life::endless(),
        }
    }

    /// Returns the writing end, for a process with this life.
    pub(crate) fn producer(&self, life: &Life) -> Producer<Self> {
        Producer::new(self.in_life(life))
    }

    /// Returns the reading end, for a process with this life.
    pub(crate) fn consumer(&self, life: &Life) -> Consumer<Self> {
        Consumer::new(self.in_life(life))
    }

    /// Returns the view of a process with this life.
    pub(crate) fn in_life(&self, life: &Life) -> Self {
        Self { life: life.clone(), ..self.clone() }
    }

    fn set(&self, cell: &Cell<u64>, word: u64) {
        if self.life.goes_on() {
            cell.set(word);
        }
    }
}

/// Stores take effect at once, in their order.
impl StorePolicy for Words {}

impl RingMemory for Words {
    fn words(&self) -> usize {
        self.data.len()
    }
    fn load(&self, index: usize) -> u64 {
        self.data[index % self.data.len()].get()
    }
    fn store(&self, index: usize, word: u64) {
        self.set(&self.data[index % self.data.len()], word);
    }
    fn header(&self, index: usize) -> u64 {
        self.data[index % self.data.len()].get()
    }
    fn set_header(&self, index: usize, word: u64) {
        self.set(&self.data[index % self.data.len()], word);
    }
    fn head(&self) -> u64 {
        self.head.get()
    }
    fn set_head(&self, position: u64) {
        self.set(&self.head, position);
    }
    fn tail(&self) -> u64 {
        self.tail.get()
    }
    fn set_tail(&self, position: u64) {
        self.set(&self.tail, position);
    }
}
