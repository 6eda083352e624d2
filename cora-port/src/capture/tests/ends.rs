//! Captures with a bad end: a fault at the end differs from a fault amid frames.

use super::make::Make;
use super::read_until_error;
use crate::capture::input::Order::Little;
use crate::capture::{AHEAD, CaptureError, MAX_BLOCK};

/// Returns the number of frames, and whether the error is one of the end.
fn ends(capture: &[u8]) -> (usize, bool) {
    let (frames, error) = read_until_error(capture);
    match error.expect("an error") {
        CaptureError::AtEnd { offset, .. } => {
            assert!(offset > 0 && offset < capture.len() as u64);
            (frames.len(), true)
        }
        CaptureError::Corrupt { .. } => (frames.len(), false),
        other => panic!("{other}"),
    }
}

fn pcap(frames: u32) -> Make {
    let capture = Make::pcap(Little, 0xa1b2_c3d4, 1);
    (0..frames).fold(capture, |capture, number| capture.record(number, 0, b"a frame", 7))
}

fn pcapng(frames: u64) -> Make {
    let capture = Make::new(Little).section(Little).interface(1, 0, &[]);
    (0..frames).fold(capture, |capture, number| capture.enhanced(0, number, b"a frame", 7))
}

/// Frames that were read ahead are returned before the error, for any number of them.
#[test]
fn all_frames_before_a_bad_end_are_given() {
    for frames in [0, 1, AHEAD as u32, AHEAD as u32 + 1, 100] {
        let cut = pcap(frames).u32(1).u32(2).u32(100).u32(100).bytes(b"ten bytes.");
        assert_eq!(ends(&cut.bytes), (frames as usize, true));
        let cut = pcapng(frames.into()).u32(6).u32(200).bytes(b"ten bytes.");
        assert_eq!(ends(&cut.bytes), (frames as usize, true));
    }
}

#[test]
fn rubbish_at_the_end_is_of_the_end() {
    let rubbish = [0xee; 40];
    assert_eq!(ends(&pcap(9).bytes(&rubbish).bytes), (9, true));
    assert_eq!(ends(&pcapng(9).bytes(&rubbish).bytes), (9, true));
    // A packet at a missing interface, and a block with two lengths.
    assert_eq!(ends(&pcapng(9).enhanced(7, 1, b"a frame", 7).bytes), (9, true));
    assert_eq!(ends(&pcapng(9).u32(77).u32(16).u32(0).u32(20).bytes), (9, true));
    assert_eq!(ends(&pcapng(9).u32(6).u32(8).u32(0).u32(0).bytes), (9, true));
}

#[test]
fn rubbish_amid_frames_is_not() {
    let behind =
        |capture: Make| (0..30).fold(capture, |capture, at| capture.record(at, 0, b"x", 1));
    let capture = pcap(9).u32(1).u32(2).u32(300_000).u32(300_000);
    let long = behind(capture).bytes(&vec![0; 400_000]);
    assert_eq!(ends(&long.bytes), (9, false));
    let behind =
        |capture: Make| (0..30).fold(capture, |capture, at| capture.enhanced(0, at, b"x", 1));
    assert_eq!(ends(&behind(pcapng(9).enhanced(7, 1, b"a frame", 7)).bytes), (9, false));
    assert_eq!(ends(&behind(pcapng(9).u32(77).u32(16).u32(0).u32(20)).bytes), (9, false));
    let long = pcapng(9).u32(6).u32(MAX_BLOCK as u32 + 4).bytes(&vec![0; 2 * MAX_BLOCK]);
    assert_eq!(ends(&long.bytes), (9, false));
}

/// A link type that can't be read is no damage, even of the last packet.
#[test]
fn a_link_type_is_never_of_the_end() {
    let capture = pcapng(3).interface(127, 0, &[]).enhanced(1, 1, b"radio", 5);
    assert_eq!(ends(&capture.bytes), (3, false));
}
