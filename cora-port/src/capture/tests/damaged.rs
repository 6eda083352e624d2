//! Captures that are cut, contradict themselves, or have another format: an error with a place and
//! a cause, never a panic, never silence.

use proptest::prelude::*;

use super::make::{Make, everything};
use super::{fault, read, read_until_error};
use crate::capture::input::Order::{Big, Little};
use crate::capture::{CaptureError, Fault, MAX_BLOCK, MAX_FRAME, MAX_HELD, Reader};

#[test]
fn something_else_is_refused() {
    assert_eq!(fault(b""), (0, Fault::Empty));
    let (offset, not) = fault(b"\xfd7zXZ\0 a compressed capture");
    assert_eq!(offset, 0);
    assert_eq!(
        not.to_string(),
        "neither pcap nor pcapng: it begins with fd 37 7a 58 (xz: unpack it first)"
    );
    assert!(matches!(fault(b"GIF89a").1, Fault::NotACapture { .. }));
    let mut version = Make::pcap(Big, 0xa1b2_c3d4, 1).bytes;
    version[5] = 3;
    assert_eq!(fault(&version), (0, Fault::Version { major: 3, minor: 4 }));
}

/// Cuts a capture at every byte: it is whole after a header, a record or a block. Elsewhere the
/// error names the beginning of the cut part.
fn every_cut(capture: &[u8], whole: &[usize]) {
    let frames = read(capture);
    for end in 0..=capture.len() {
        let (seen, error) = read_until_error(&capture[..end]);
        assert_eq!(seen[..], frames[..seen.len()], "cut at {end}");
        if whole.contains(&end) {
            assert!(error.is_none(), "cut at {end}: {error:?}");
            continue;
        }
        let begun = whole.iter().filter(|whole| **whole < end).max().map_or(0, |whole| *whole);
        // A cut behind the first header is an error of the capture's end.
        let (offset, fault) = match error {
            Some(CaptureError::AtEnd { offset, fault }) if begun > 0 => (offset, fault),
            Some(CaptureError::Corrupt { offset, fault }) if begun == 0 => (offset, fault),
            other => panic!("cut at {end}: {other:?}"),
        };
        assert_eq!(offset, begun as u64, "cut at {end}: {fault}");
        match fault {
            Fault::Empty => assert_eq!(end, 0),
            Fault::Truncated { has, needs, .. } => assert!(has < needs && has == end - begun),
            other => panic!("cut at {end}: {other}"),
        }
    }
}

#[test]
fn a_pcap_cut_anywhere() {
    let mut capture = Make::pcap(Little, 0xa1b2_c3d4, 1);
    let mut whole = vec![capture.bytes.len()];
    for frame in [&b"some bytes"[..], b"", b"more bytes"] {
        capture = capture.record(1, 2, frame, 99);
        whole.push(capture.bytes.len());
    }
    every_cut(&capture.bytes, &whole);
}

#[test]
fn a_pcapng_cut_anywhere() {
    for order in [Little, Big] {
        let capture = everything(order);
        let (mut whole, mut at, mut blocks) = (Vec::new(), 0, order);
        while at < capture.len() {
            if blocks.u32(&capture, at) == 0x0a0d_0d0a {
                let little = Little.u32(&capture, at + 8) == 0x1a2b_3c4d;
                blocks = if little { Little } else { Big };
            }
            at += blocks.u32(&capture, at + 4) as usize;
            whole.push(at);
        }
        assert_eq!(whole.len(), 11);
        every_cut(&capture, &whole);
    }
}

#[test]
fn a_record_that_claims_too_much() {
    let capture = Make::pcap(Big, 0xa1b2_c3d4, 1).record(1, 1, b"fine", 4);
    let offset = capture.bytes.len() as u64;
    let len = MAX_FRAME as u32 + 1;
    let capture = capture.u32(2).u32(2).u32(len).u32(len).bytes(b"whatever");
    assert_eq!(fault(&capture.bytes), (offset, Fault::FrameTooLong { len }));
    let error = read_until_error(&capture.bytes).1.expect("an error");
    assert_eq!(
        error.to_string(),
        "the last part can't be read, at byte 44: a packet claims 262145 captured bytes; more than \
         262144 can't be right"
    );
}

/// Makes a section with one interface, and then `block`; the fault must be at that block.
fn fault_of(block: impl FnOnce(Make) -> Make) -> Fault {
    let capture = Make::new(Little).section(Little).interface(1, 0, &[]);
    let begin = capture.bytes.len() as u64;
    let (offset, fault) = fault(&block(capture).bytes);
    assert_eq!(offset, begin);
    fault
}

#[test]
fn blocks_that_contradict_themselves() {
    let lengths = |kind, first, last| fault_of(|make| make.u32(kind).u32(first).u32(0).u32(last));
    assert_eq!(lengths(77, 16, 20), Fault::LengthsDiffer { first: 16, last: 20 });
    assert_eq!(lengths(3, 16, 20), Fault::LengthsDiffer { first: 16, last: 20 });
    for (kind, len) in [(77, 0), (77, 8), (77, 18), (3, 12), (6, 28), (2, 28), (1, 16)] {
        assert_eq!(lengths(kind, len, len), Fault::BlockLength { kind, len });
    }
    for kind in [1, 2, 3, 6] {
        let len = MAX_BLOCK as u32 + 4;
        assert_eq!(lengths(kind, len, len), Fault::BlockTooLong { kind, len });
    }
    let mark = fault_of(|make| make.u32(0x0a0d_0d0a).u32(28).u32(7).bytes(&[0; 16]));
    assert_eq!(mark, Fault::ByteOrder { mark: 7 });
    let version = |body: Make| body.u32(0x1a2b_3c4d).u16(2).u16(0).u64(u64::MAX);
    let version = fault_of(|make| make.block(0x0a0d_0d0a, version));
    assert_eq!(version, Fault::Version { major: 2, minor: 0 });
}

#[test]
fn packets_that_contradict_their_block() {
    let stranger = fault_of(|make| make.enhanced(1, 0, b"frame", 5));
    assert_eq!(stranger, Fault::NoSuchInterface { interface: 1, described: 1 });
    let long = |body: Make| body.u32(0).u64(0).u32(9).u32(9).bytes(b"8 bytes.");
    let long = fault_of(|make| make.block(6, long));
    assert_eq!(long, Fault::BeyondBlock { what: "a packet", len: 9, room: 8 });
    let simple = fault_of(|make| make.simple(b"frame", 1500));
    assert_eq!(simple, Fault::BeyondBlock { what: "a packet", len: 1500, room: 8 });
    let late = fault_of(|make| make.enhanced(0, u64::MAX, b"frame", 5));
    assert_eq!(late, Fault::Time);
    let huge = vec![0; MAX_FRAME + 4];
    let huge = fault_of(|make| make.simple(&huge, MAX_FRAME as u32 + 4));
    assert_eq!(huge, Fault::FrameTooLong { len: MAX_FRAME as u32 + 4 });
}

#[test]
fn options_that_leave_their_block() {
    let option = |body: Make| body.u16(1).u16(0).u32(0).u16(9).u16(60).u32(0);
    let option = fault_of(|make| make.block(1, option));
    assert_eq!(option, Fault::BeyondBlock { what: "an option", len: 60, room: 4 });
}

#[test]
fn interfaces_without_end_are_refused() {
    let mut capture = Make::new(Little).section(Little);
    for _ in 0..=65_536 {
        capture = capture.block(1, |body| body.u16(1).u16(0).u32(0));
    }
    assert_eq!(fault(&capture.bytes).1, Fault::TooManyInterfaces { max: 65_536 });
}

#[test]
fn a_source_that_fails_is_told_from_one_that_ends() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let capture = Make::pcap(Little, 0xa1b2_c3d4, 1).record(1, 1, b"fine", 4).bytes;
    let mut reader = Reader::new(std::io::Read::chain(&capture[..], Broken)).expect("a pcap");
    assert!(reader.next_frame().is_ok_and(|frame| frame.is_some()));
    let error = reader.next_frame().expect_err("a broken source");
    assert_eq!(error.to_string(), "reading the capture failed at byte 44: the disk is gone");
}

/// Reads to the end, and checks every frame. A capture of `n` bytes has at most `n` frames, so more
/// is a hang.
fn survive(capture: &[u8]) {
    let Ok(mut reader) = Reader::new(capture) else { return };
    for _ in 0..=capture.len() {
        let outcome = reader.next_frame();
        let goes_on = match outcome {
            Ok(Some(frame)) => {
                assert!(frame.bytes.len() <= MAX_FRAME.min(capture.len()));
                true
            }
            Ok(None) | Err(_) => false,
        };
        assert!(reader.input.memory() <= MAX_HELD + MAX_BLOCK, "memory has a bound");
        if !goes_on {
            return;
        }
    }
    panic!("more frames than bytes");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_are_survived(
        magic in prop::sample::select(vec![
            [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4], [0x4d, 0x3c, 0xb2, 0xa1],
            [0xa1, 0xb2, 0x3c, 0x4d], [0x0a, 0x0d, 0x0d, 0x0a], [1, 2, 3, 4],
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        survive(&[&magic, &rest[..]].concat());
    }

    #[test]
    fn whole_captures_with_a_few_other_bytes_are_survived(
        little in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut capture = everything(if little { Little } else { Big });
        for (place, byte) in changes {
            let place = place.index(capture.len());
            capture[place] = byte;
        }
        survive(&capture);
    }
}
