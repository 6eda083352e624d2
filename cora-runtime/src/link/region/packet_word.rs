//! A word of shared memory that names the packet which handlers run, for whoever sees their process
//! end.

use core::sync::atomic::{AtomicU64, Ordering};

/// The handlers run no packet. No packet of a run has this number.
const NONE: u64 = u64::MAX;

/// A word that names no packet.
pub const fn no_packet() -> AtomicU64 {
    AtomicU64::new(NONE)
}

/// Notes the number of the packet that the handlers run now.
#[inline(always)]
pub fn note_packet(word: &AtomicU64, number: Option<u64>) {
    word.store(number.unwrap_or(NONE), Ordering::Relaxed);
}

/// The number of the packet that the handlers run.
pub fn noted_packet(word: &AtomicU64) -> Option<u64> {
    Some(word.load(Ordering::Relaxed)).filter(|number| *number != NONE)
}
