//! Stores to memory that outlives the process. Tests record them, and check the memory after each.

use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(test))]
pub(crate) fn store(word: &AtomicU64, value: u64, order: Ordering) {
    word.store(value, order);
}

#[cfg(test)]
pub(crate) use self::noted::{memory, noted, store};

#[cfg(test)]
mod noted {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        /// Addresses and values, in order.
        static STORES: RefCell<Vec<(usize, u64)>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn store(word: &AtomicU64, value: u64, order: Ordering) {
        STORES.with_borrow_mut(|stores| stores.push((word.as_ptr().addr(), value)));
        word.store(value, order);
    }

    /// The stores to these words since the last call: numbers of words, and values.
    pub(crate) fn noted(words: &[AtomicU64]) -> Vec<(usize, u64)> {
        let first = words.as_ptr().addr();
        let stores = STORES.take().into_iter();
        let here =
            stores.filter_map(|(address, value)| Some((address.checked_sub(first)? / 8, value)));
        here.filter(|(at, _)| *at < words.len()).collect()
    }

    pub(crate) fn memory(words: usize) -> &'static [AtomicU64] {
        (0..words).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak()
    }
}
