//! Whole captures.

use super::make::{Make, everything};
use super::{Reader, Seen, fault, read};
use crate::capture::input::Order::{Big, Little};
use crate::capture::{AHEAD, Fault, MAX_BLOCK, MAX_FRAME, Writer};

fn seen(time: u64, interface: u32, bytes: &[u8], original_len: u32) -> Seen {
    Seen { time, interface, bytes: bytes.to_vec(), original_len }
}

#[test]
fn pcap_in_both_orders_and_both_units() {
    for order in [Little, Big] {
        for (magic, unit) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let capture = Make::pcap(order, magic, 1).record(7, 9, b"first", 5).record(
                u32::MAX,
                999_999,
                b"",
                1500,
            );
            let frames = [
                seen(7_000_000_000 + 9 * unit, 0, b"first", 5),
                seen(u64::from(u32::MAX) * 1_000_000_000 + 999_999 * unit, 0, b"", 1500),
            ];
            assert_eq!(read(&capture.bytes), frames);
        }
    }
}

#[test]
fn a_header_alone_is_a_capture_without_frames() {
    assert_eq!(read(&Make::pcap(Big, 0xa1b2_c3d4, 1).bytes), []);
    assert_eq!(read(&Make::new(Little).section(Little).bytes), []);
}

#[test]
fn pcapng_of_every_block_in_both_orders() {
    for order in [Little, Big] {
        let frames = [
            seen(5_000_000_001, 0, b"enhanced", 100),
            seen(5_000_000_001, 0, b"simple", 60),
            seen(2_000_000_000, 1, b"obsolete", 8),
            seen(1_600_000_000_123_456_000, 0, b"again", 5),
        ];
        assert_eq!(read(&everything(order)), frames);
    }
}

/// Returns each frame's number of interfaces, as of its section's first frame.
fn interfaces(capture: &[u8]) -> Vec<u32> {
    let mut reader = Reader::new(capture).expect("a pcapng");
    let mut counts = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole") {
        counts.push(frame.interfaces);
    }
    counts
}

#[test]
fn interfaces_are_counted_per_section() {
    assert_eq!(interfaces(&everything(Little)), [2, 2, 2, 1]);
    assert_eq!(interfaces(&Make::pcap(Big, 0xa1b2_c3d4, 1).record(1, 1, b"one", 3).bytes), [1]);
}

#[test]
fn an_interface_that_is_described_later_is_not_counted() {
    let capture = Make::new(Little).section(Little).interface(1, 0, &[]);
    let capture = capture.enhanced(0, 1, b"first", 5).interface(1, 0, &[]);
    let capture = capture.enhanced(1, 2, b"second", 6).enhanced(0, 3, b"third", 5);
    assert_eq!(interfaces(&capture.bytes), [1, 1, 1]);
    let both = capture.section(Little).interface(1, 0, &[]).interface(1, 0, &[]);
    let both = both.enhanced(0, 4, b"fourth", 6).interface(1, 0, &[]).enhanced(2, 5, b"fifth", 5);
    assert_eq!(interfaces(&both.bytes), [1, 1, 1, 2, 2]);
}

#[test]
fn what_comes_next_is_known_and_never_more_than_that() {
    let mut capture = Make::pcap(Little, 0xa1b2_3c4d, 1);
    for number in 0..30 {
        capture = capture.record(0, number, b"frame", 5);
    }
    let mut reader = Reader::new(&capture.bytes[..]).expect("a pcap");
    for number in 0..30 {
        let time = reader.next_frame().expect("whole").map(|frame| frame.time);
        assert_eq!(time, Some(number));
        let upcoming: Vec<u64> = reader.upcoming().map(|(time, _)| time).collect();
        let expected: Vec<u64> = (number + 1..30).take(AHEAD).collect();
        assert_eq!(upcoming, expected);
    }
}

#[test]
fn blocks_of_no_use_are_passed_however_long() {
    let long = vec![7; 3 * MAX_BLOCK];
    let capture = Make::new(Big)
        .section(Big)
        .block(0x4000_0001, |body| body.bytes(&long))
        .interface(1, 0, &[])
        .simple(b"behind it", 9);
    assert_eq!(read(&capture.bytes), [seen(0, 0, b"behind it", 9)]);
}

#[test]
fn other_link_layers_are_refused_by_name() {
    for (link, told) in [
        (113, "113 (Linux cooked), and not Ethernet (1): `--make-ethernet` puts"),
        (105, "105 (IEEE 802.11), and not Ethernet (1): it can't be read"),
        (99, "99, and not Ethernet (1): it can't be read"),
    ] {
        let (offset, fault_) = fault(&Make::pcap(Little, 0xa1b2_c3d4, link).bytes);
        assert_eq!((offset, &fault_), (0, &Fault::LinkType { link }));
        assert!(fault_.to_string().contains(told), "{fault_}");
    }
    // In a pcapng, the link type matters only for interfaces with packets.
    let capture = Make::new(Big).section(Big).interface(127, 0, &[]).interface(1, 0, &[]);
    let capture = capture.enhanced(1, 0, b"fine", 4);
    assert_eq!(read(&capture.bytes).len(), 1);
    let offset = capture.bytes.len() as u64;
    let capture = capture.enhanced(0, 0, b"not fine", 8);
    assert_eq!(fault(&capture.bytes), (offset, Fault::LinkType { link: 127 }));
}

#[test]
fn frames_longer_than_the_window_are_read_whole() {
    let long: Vec<u8> = (0..MAX_FRAME).map(|at| (at % 251) as u8).collect();
    let mut capture = Make::pcap(Little, 0xa1b2_3c4d, 1);
    for number in 0..5 {
        capture = capture.record(number, 0, &long, 1).record(number, 1, b"short", 5);
    }
    let frames = read(&capture.bytes);
    assert_eq!(frames.len(), 10);
    for pair in frames.chunks(2) {
        assert!(pair[0].bytes == long && pair[1].bytes == b"short");
    }
}

/// A source of one byte at a time, with interruptions.
struct Trickle<'a>(&'a [u8], bool);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let count = self.0.len().min(buffer.len()).min(1);
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn a_slow_source_makes_no_difference() {
    let capture = everything(Big);
    let mut reader = Reader::new(Trickle(&capture, false)).expect("a pcapng");
    let mut lengths = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole") {
        lengths.push(frame.bytes.len());
    }
    assert_eq!(lengths, [8, 6, 8, 5]);
}

#[test]
fn what_is_written_is_read() {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    writer.write(1_600_000_000_123_456_789, b"a frame").expect("memory");
    writer.write_cut(u64::from(u32::MAX) * 1_000_000_000, b"cut", 1500).expect("memory");
    let after_2106 = (u64::from(u32::MAX) + 1) * 1_000_000_000;
    assert!(writer.write(after_2106, b"too late").is_err());
    assert!(writer.write(0, &vec![0; MAX_FRAME + 1]).is_err());
    let capture = writer.finish().expect("memory");
    let frames = [
        seen(1_600_000_000_123_456_789, 0, b"a frame", 7),
        seen(u64::from(u32::MAX) * 1_000_000_000, 0, b"cut", 1500),
    ];
    assert_eq!(read(&capture), frames);
}
