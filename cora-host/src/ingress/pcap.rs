//! Captures, as [`cora_port::capture`] reads and writes them.

pub use cora_port::capture::{
    CaptureError, Fault, Frame, LinkTypes, MAX_BLOCK, MAX_FRAME, PcapngWriter, Reader, Unpacked,
    Writer, unpacked,
};
