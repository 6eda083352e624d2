//! Outboxes for tests of handlers. Their memory is used again, and never given back: an outbox
//! hands out others that share it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use cora_core::outbox::Outbox;
use cora_core::state::Memory;

use crate::RunError;
use crate::memory::map::state_memory;
use crate::memory::pages::Pages;

thread_local! {
    /// Outboxes that nobody has at the moment. An outbox stays in its thread.
    static FREE: RefCell<Vec<Outbox>> = const { RefCell::new(Vec::new()) };
}

/// An outbox with room for packets and messages, lent for a test.
#[derive(Debug)]
pub struct LentOutbox(Outbox);

impl LentOutbox {
    /// An empty outbox.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn new() -> Result<Self, RunError> {
        if let Some(mut outbox) = FREE.with_borrow_mut(Vec::pop) {
            outbox.clear();
            return Ok(Self(outbox));
        }
        let lines = state_memory(Outbox::BYTES_WITH_MESSAGES + 128, Pages::Small, false);
        let lines = lines.map_err(|error| RunError::System {
            what: "memory for an outbox",
            cause: std::io::Error::other(format!("{error:?}")),
        })?;
        Ok(Self(Outbox::create_with_messages(&mut Memory::new(lines)).map_err(RunError::Memory)?))
    }
}

impl Deref for LentOutbox {
    type Target = Outbox;

    fn deref(&self) -> &Outbox {
        &self.0
    }
}

impl DerefMut for LentOutbox {
    fn deref_mut(&mut self) -> &mut Outbox {
        &mut self.0
    }
}

impl Drop for LentOutbox {
    fn drop(&mut self) {
        let outbox = std::mem::replace(&mut self.0, Outbox::none());
        // If the thread ends, nobody takes one any more.
        let _ended = FREE.try_with(|free| free.borrow_mut().push(outbox));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let mapped = || {
            let status = std::fs::read_to_string("/proc/self/statm").expect("this is Linux");
            status.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).expect("a number")
        };
        let before = mapped();
        for _ in 0..10_000 {
            let mut outbox = LentOutbox::new().expect("memory");
            assert!(outbox.is_empty(), "nothing is left of the one before");
            outbox.send_frame(&[1; 60], cora_core::packet::Port(0)).expect("room");
            assert_eq!(outbox.len(), 1);
        }
        // Ten thousand outboxes are two gigabytes.
        let after = mapped();
        assert!(after < before + 25_000, "{before} pages before, {after} after");
    }
}
