//! Captures packed by gzip and zstd: whole, in several streams, damaged, and cut anywhere.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::Seen;
use super::make::{Make, everything};
use super::read_from;
use crate::capture::input::Order::{Big, Little};
use crate::capture::{CaptureError, Fault, unpacked};

type Pack = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

const PACKS: [(&str, Pack); 2] = [("gzip", gzip), ("zstd", zstd)];

fn read(packed: &[u8]) -> (Vec<Seen>, Option<CaptureError>) {
    match unpacked(packed) {
        Ok(stream) => read_from(stream),
        Err(error) => panic!("memory does not fail: {error}"),
    }
}

/// Makes a capture longer than a window, which does not pack to almost nothing.
fn long() -> Vec<u8> {
    let mut capture = Make::pcap(Little, 0xa1b2_3c4d, 1);
    let mut chance = 1_u32;
    for number in 0..800 {
        let frame: Vec<u8> = (0..600)
            .map(|_| {
                chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (chance >> 28) as u8
            })
            .collect();
        capture = capture.record(number, 0, &frame, 600);
    }
    capture.bytes
}

#[test]
fn what_was_packed_is_read_as_if_it_was_not() {
    for capture in [everything(Little), everything(Big), long()] {
        let (plain, error) = read(&capture);
        assert!(error.is_none() && !plain.is_empty());
        for (name, pack) in PACKS {
            let stream = pack(&capture);
            assert_eq!(unpacked(&stream[..]).expect("memory").packing(), Some(name));
            let (frames, error) = read(&stream);
            assert!(frames == plain && error.is_none(), "{name}: {error:?}");
        }
    }
}

#[test]
fn streams_in_a_row_are_one() {
    let capture = long();
    let (first, second) = capture.split_at(100_003);
    for (name, pack) in PACKS {
        let mut stream = pack(first);
        if name == "zstd" {
            // A skippable frame, as `pzstd` writes them.
            stream.extend([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
        }
        stream.extend(pack(second));
        let (frames, error) = read(&stream);
        assert!(frames.len() == 800 && error.is_none(), "{name}: {error:?}");
    }
}

/// Wherever the stream is cut, all whole frames come, and then an error of the capture's end.
#[test]
fn a_stream_that_is_cut_gives_what_is_whole() {
    let capture = long();
    let (whole, _) = read(&capture);
    for (name, pack) in PACKS {
        let stream = pack(&capture);
        let mut most = 0;
        for end in (32..stream.len() - 1).step_by(stream.len() / 40).chain([stream.len() - 1]) {
            let (frames, error) = read(&stream[..end]);
            assert!(frames[..] == whole[..frames.len()], "{name} cut at {end}");
            most = most.max(frames.len());
            let Some(CaptureError::AtEnd { fault, .. }) = error else {
                // The cut is too early for a capture.
                assert!(frames.is_empty() && error.is_some(), "{name} cut at {end}: {error:?}");
                continue;
            };
            let of_end = matches!(fault, Fault::Truncated { .. } | Fault::CutPacking);
            assert!(of_end, "{name} cut at {end}: {fault}");
        }
        assert!(most > 700, "{name}: {most} frames");
    }
}

#[test]
fn a_stream_that_is_damaged_is_an_error() {
    let capture = long();
    for (name, pack) in PACKS {
        let mut stream = pack(&capture);
        let middle = stream.len() / 2;
        stream[middle..middle + 40].fill(0xff);
        let (frames, error) = read(&stream);
        assert!(frames.len() < 800, "{name}");
        let told = error.expect("an error").to_string();
        assert!(told.contains("byte"), "{name}: {told}");
    }
    // A wrong checksum is an error.
    let mut stream = gzip(&capture);
    let at = stream.len() - 6;
    stream[at] ^= 1;
    assert!(read(&stream).1.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_packed_bytes_are_survived(
        which in 0..2_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
        behind in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut stream = PACKS[which].1(&everything(Little));
        for (place, byte) in changes {
            // Keep the magic number.
            let place = 4 + place.index(stream.len() - 4);
            stream[place] = byte;
        }
        stream.truncate(4 + end.index(stream.len() - 3));
        stream.extend(behind);
        let (frames, _) = read(&stream);
        prop_assert!(frames.len() <= 4);
        let mut all = Vec::new();
        let bounded = unpacked(&stream[..]).expect("memory").take(1 << 24);
        let _any = { bounded }.read_to_end(&mut all);
    }
}
