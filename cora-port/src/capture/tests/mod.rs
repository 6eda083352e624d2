//! Hand-made captures of every variant, read by the reader.

mod damaged;
mod ends;
mod links;
mod make;
mod packed;
mod reading;

use std::io::Read;

use super::{CaptureError, Fault, Reader};

/// The fields of a frame that the tests check.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    time: u64,
    interface: u32,
    bytes: Vec<u8>,
    original_len: u32,
}

/// Reads all frames of a capture that should be whole.
fn read(capture: &[u8]) -> Vec<Seen> {
    let (frames, error) = read_until_error(capture);
    assert!(error.is_none(), "{}", error.expect("there is one"));
    frames
}

/// Reads the frames up to the first error, and the error.
fn read_until_error(capture: &[u8]) -> (Vec<Seen>, Option<CaptureError>) {
    read_from(capture)
}

/// Reads them from any stream.
fn read_from(capture: impl Read) -> (Vec<Seen>, Option<CaptureError>) {
    let mut frames = Vec::new();
    let mut reader = match Reader::new(capture) {
        Ok(reader) => reader,
        Err(error) => return (frames, Some(error)),
    };
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push(Seen {
                time: frame.time,
                interface: frame.interface,
                bytes: frame.bytes.to_vec(),
                original_len: frame.original_len,
            }),
            Ok(None) => return (frames, None),
            Err(error) => return (frames, Some(error)),
        }
    }
}

/// Returns the place and the fault of a damaged capture.
fn fault(capture: &[u8]) -> (u64, Fault) {
    match read_until_error(capture).1 {
        Some(CaptureError::Corrupt { offset, fault } | CaptureError::AtEnd { offset, fault }) => {
            (offset, fault)
        }
        other => panic!("not a fault: {other:?}"),
    }
}
