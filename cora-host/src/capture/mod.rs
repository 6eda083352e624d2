//! Captures, as [`cora_port::capture`] reads and writes them, and the comparison of two of them flow by flow.

mod compare;
#[cfg(test)]
mod tests;

pub use compare::{CompareError, Comparison, Difference, Finding, compare};
pub use cora_port::capture::{CaptureError, Fault, Frame, MAX_BLOCK, MAX_FRAME, Reader, Writer};
