//! Memory for regions. A region asks for memory that stays for good, so it is used again.

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static FREE: RefCell<Vec<&'static [AtomicU64]>> = const { RefCell::new(Vec::new()) };
}

/// Memories in use. It must be dropped after everything that uses them.
#[derive(Debug, Default)]
pub(super) struct Lent(Vec<&'static [AtomicU64]>);

impl Lent {
    /// Zeroed memory of so many words. All that a thread asks for have the same size.
    pub(super) fn lend(&mut self, words: usize) -> &'static [AtomicU64] {
        let memory = FREE.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
            let new: Vec<_> = (0..words).map(|_| AtomicU64::new(0)).collect();
            new.leak()
        });
        for word in memory {
            word.store(0, Relaxed);
        }
        self.0.push(memory);
        memory
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        FREE.with_borrow_mut(|free| free.append(&mut self.0));
    }
}
