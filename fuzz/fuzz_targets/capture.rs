//! Any bytes as a capture: frames within bounds, then an end or an error; what was read is written
//! and read again the same; a capture equals itself. Any bytes as a packed one: it ends.
#![no_main]

use cargo_cora::compare::compare;
use cora_host::ingress::pcap::{LinkTypes, MAX_FRAME, Reader, Writer, unpacked};
use libfuzzer_sys::fuzz_target;

/// What begins a capture of each kind.
const MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// What begins a packed stream of each kind.
const PACKED: [&[u8]; 2] = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &[0x28, 0xb5, 0x2f, 0xfd]];

/// A few bytes unpack to many: so many frames of a packed capture are looked at.
const ENOUGH: usize = 100_000;

/// Bytes of the Ethernet header that may be made up.
const HEADER: usize = 14;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    // Most inputs are steered past the magic number.
    let choice = usize::from(choice % 10);
    match (MAGICS.get(choice), PACKED.get(choice.wrapping_sub(MAGICS.len()))) {
        (Some(magic), _) => read(&[magic, rest].concat()),
        (None, Some(magic)) => read_packed(&[magic, rest].concat()),
        (None, None) => read(rest),
    }
    if let Some(magic) = MAGICS.get(choice) {
        read_any_link(&[magic, rest].concat());
    }
});

fn read_packed(packed: &[u8]) {
    let stream = unpacked(packed).expect("memory does not fail");
    let Ok(mut reader) = Reader::of(stream, LinkTypes::MadeUp) else { return };
    for _ in 0..ENOUGH {
        let Ok(Some(frame)) = reader.next_frame() else { return };
        assert!(frame.bytes.len() <= MAX_FRAME + HEADER);
    }
}

fn read_any_link(capture: &[u8]) {
    let Ok(mut reader) = Reader::of(capture, LinkTypes::MadeUp) else { return };
    let mut frames = 0;
    while let Ok(Some(frame)) = reader.next_frame() {
        assert!(frame.bytes.len() <= MAX_FRAME.min(capture.len()) + HEADER);
        frames += 1;
        assert!(frames <= capture.len(), "every frame takes bytes of the capture");
    }
}

fn read(capture: &[u8]) {
    let Ok(mut reader) = Reader::new(capture) else { return };
    let mut writer = Writer::new(Vec::new()).expect("memory does not fail");
    let mut frames = Vec::new();
    let ended = loop {
        match reader.next_frame() {
            Ok(Some(frame)) => {
                assert!(frame.bytes.len() <= MAX_FRAME.min(capture.len()));
                // A pcap says no times after the year 2106.
                if writer.write_cut(frame.time, frame.bytes, frame.original_len).is_ok() {
                    frames.push((frame.time, frame.bytes.to_vec(), frame.original_len));
                }
            }
            Ok(None) => break true,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break false;
            }
        }
        assert!(frames.len() <= capture.len(), "every frame takes bytes of the capture");
    };
    read_back(&writer.finish().expect("memory does not fail"), &frames);
    if ended {
        let open = || Reader::new(capture).expect("it opened before");
        let comparison = compare(open(), open()).expect("it was read to its end");
        assert!(comparison.is_equal());
    }
}

fn read_back(written: &[u8], frames: &[(u64, Vec<u8>, u32)]) {
    let mut reader = Reader::new(written).expect("the writer's own header");
    for (time, bytes, original_len) in frames {
        let frame = reader.next_frame().expect("the writer's own record").expect("as many");
        assert_eq!(
            (frame.time, frame.bytes, frame.original_len),
            (*time, &bytes[..], *original_len)
        );
    }
    assert!(reader.next_frame().expect("the writer's own end").is_none());
}
