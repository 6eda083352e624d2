//! Compares ten marks of 16 bits at once: the first 160 bits of a line of the index.
//!
//! `matches` gives a set of slots; `slot` reads its first one, and `set & (set - 1)` drops that. How the set
//! is laid out depends on the machine.

#[cfg(target_arch = "x86_64")]
mod sse2;
#[cfg(not(target_arch = "x86_64"))]
mod words;

#[cfg(target_arch = "x86_64")]
pub(super) use sse2::{matches, slot};
#[cfg(not(target_arch = "x86_64"))]
pub(super) use words::{matches, slot};
