//! Link types without Ethernet headers, and frames with check sequences.

use proptest::prelude::*;

use super::make::Make;
use super::{Seen, read, read_until_error};
use crate::capture::input::Order::{Big, Little};
use crate::capture::{DESTINATION, Fault, LinkTypes, MAX_FRAME, Reader, SOURCE};

const V4: &[u8] = &[0x45, 0, 0, 20, 1, 2, 3, 4, 64, 17];
const V6: &[u8] = &[0x60, 0, 0, 0, 0, 0, 59, 64, 1, 2];

/// Returns bytes and original lengths of a capture's frames, with made-up headers.
fn made(capture: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let mut reader = Reader::of(capture, LinkTypes::MadeUp).expect("a capture");
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole") {
        frames.push((frame.bytes.to_vec(), frame.original_len));
    }
    let changed = reader.changed();
    assert_eq!(changed.made_up, frames.len() as u64);
    frames
}

fn ethernet(to: [u8; 6], from: [u8; 6], kind: u16, packet: &[u8]) -> Vec<u8> {
    [&to[..], &from[..], &kind.to_be_bytes(), packet].concat()
}

fn default(kind: u16, packet: &[u8]) -> Vec<u8> {
    ethernet(DESTINATION, SOURCE, kind, packet)
}

/// Reads one record of this link type, in a pcap and in a pcapng of either order.
fn one(link: u16, frame: &[u8], original: u32) -> (Vec<u8>, u32) {
    let mut found = Vec::new();
    for order in [Little, Big] {
        let pcap = Make::pcap(order, 0xa1b2_3c4d, link.into()).record(1, 1, frame, original);
        found.extend(made(&pcap.bytes));
        let pcapng = Make::new(order).section(order).interface(link, 0, &[]);
        found.extend(made(&pcapng.enhanced(0, 1, frame, original).bytes));
    }
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|one| *one == found[0]), "link type {link}");
    found.swap_remove(0)
}

#[test]
fn raw_ip_says_by_its_version_which_it_is() {
    for link in [12, 14, 101] {
        assert_eq!(one(link, V4, 20), (default(0x0800, V4), 34));
        assert_eq!(one(link, V6, 50), (default(0x86dd, V6), 64));
        assert_eq!(one(link, &[0x10, 1], 2), (default(0xffff, &[0x10, 1]), 16));
        assert_eq!(one(link, &[], 0), (default(0xffff, &[]), 14));
    }
    assert_eq!(one(228, V4, 10), (default(0x0800, V4), 24));
    assert_eq!(one(229, V6, 10), (default(0x86dd, V6), 24));
}

#[test]
fn loopback_says_a_family_in_either_byte_order() {
    for link in [0, 108] {
        for family in [[0, 0, 0, 2], [2, 0, 0, 0]] {
            let frame = [&family[..], V4].concat();
            assert_eq!(one(link, &frame, 24), (default(0x0800, V4), 34));
        }
        for number in [10, 24, 28, 30] {
            for family in [[0, 0, 0, number], [number, 0, 0, 0]] {
                let frame = [&family[..], V6].concat();
                assert_eq!(one(link, &frame, 14), (default(0x86dd, V6), 24));
            }
        }
        assert_eq!(one(link, &[0, 0, 0, 7, 9], 5), (default(0xffff, &[9]), 15));
    }
}

#[test]
fn cooked_packets_keep_the_senders_address_and_their_type() {
    let address = [2, 1, 2, 3, 4, 5];
    let cooked = |to: u8, length: u8, kind: u16| {
        let head = [&[0, to, 0, 1, 0, length][..], &address, &[0, 0], &kind.to_be_bytes()];
        [&head.concat()[..], V4].concat()
    };
    let again = |to: u8, length: u8, kind: u16| {
        let head = [&kind.to_be_bytes()[..], &[0, 0, 0, 0, 0, 3, 0, 1, to, length], &address];
        [&head.concat()[..], &[0, 0], V4].concat()
    };
    for (link, before, frame) in [
        (113, 16, &cooked as &dyn Fn(u8, u8, u16) -> Vec<u8>),
        (276, 20, &again as &dyn Fn(u8, u8, u16) -> Vec<u8>),
    ] {
        let length = before + 10;
        let from = ethernet(DESTINATION, address, 0x0800, V4);
        assert_eq!(one(link, &frame(0, 6, 0x0800), length), (from, 24));
        let tagged = ethernet(DESTINATION, address, 0x8100, V4);
        assert_eq!(one(link, &frame(4, 6, 0x8100), length), (tagged, 24));
        let to_all = ethernet([0xff; 6], address, 0x0806, V4);
        assert_eq!(one(link, &frame(1, 6, 0x0806), length + 1000), (to_all, 1024));
        // A loopback interface, or a length that is not Ethernet's: no address.
        assert_eq!(one(link, &frame(0, 0, 0x86dd), length), (default(0x86dd, V4), 24));
        assert_eq!(one(link, &frame(0, 8, 0x86dd), length), (default(0x86dd, V4), 24));
        // Without a type (LLC), the field is the length.
        let llc = ethernet(DESTINATION, address, 10, V4);
        assert_eq!(one(link, &frame(0, 6, 4), length), (llc, 24));
    }
}

#[test]
fn check_sequences_are_taken_off_where_the_capture_says_that_they_are_there() {
    let frame: Vec<u8> = (0..64).collect();
    let check = |captured: usize, original: u32| {
        let mut found = Vec::new();
        for order in [Little, Big] {
            // The flag bit, and a length of two words.
            let pcap = Make::pcap(order, 0xa1b2_c3d4, 0x2400_0001);
            found.extend(read(&pcap.record(0, 1, &frame[..captured], original).bytes));
            for length in [4, 32] {
                let pcapng = Make::new(order).section(order).interface(1, 0, &[(13, &[length])]);
                let pcapng = pcapng.enhanced(0, 1, &frame[..captured], original);
                found.extend(read(&pcapng.bytes));
            }
        }
        let same = |seen: &Seen| (seen.bytes.clone(), seen.original_len);
        assert!(found.iter().all(|seen| same(seen) == same(&found[0])));
        same(&found[0])
    };
    assert_eq!(check(64, 64), (frame[..60].to_vec(), 60));
    assert_eq!(check(64, 1504), (frame.clone(), 1500), "cut before its check sequence");
    assert_eq!(check(62, 64), (frame[..60].to_vec(), 60), "cut within it");
    assert_eq!(check(2, 2), (Vec::new(), 0));
    // No check sequence is told, or its length is 0.
    for link in [1, 0x0400_0001, 0x2000_0001] {
        let pcap = Make::pcap(Little, 0xa1b2_c3d4, link).record(0, 1, &frame, 64);
        assert_eq!(read(&pcap.bytes)[0].bytes, frame, "{link:#x}");
    }
    let none = Make::new(Little).section(Little).interface(1, 0, &[(13, &[0])]);
    assert_eq!(read(&none.enhanced(0, 1, &frame, 64).bytes)[0].bytes, frame);
}

#[test]
fn headers_are_made_up_only_when_asked_for() {
    for link in [0, 12, 14, 101, 108, 113, 228, 229, 276] {
        let capture = Make::pcap(Little, 0xa1b2_c3d4, link).record(1, 1, V4, 10);
        let (_, error) = read_until_error(&capture.bytes);
        let told = error.expect("refused").to_string();
        assert!(told.contains("--make-ethernet"), "{told}");
    }
    for link in [6, 9, 105, 127, 195, 147] {
        let capture = Make::pcap(Little, 0xa1b2_c3d4, link);
        let refused = Reader::of(&capture.bytes[..], LinkTypes::MadeUp).expect_err("refused");
        assert!(refused.to_string().contains(&Fault::LinkType { link }.to_string()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_frames_of_any_link_type_are_survived(
        link in prop::sample::select(vec![0_u32, 1, 12, 101, 108, 113, 228, 229, 276, 0x2400_0001]),
        frames in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..40), any::<u32>()), 0..12),
    ) {
        let mut capture = Make::pcap(Big, 0xa1b2_c3d4, link);
        for (bytes, original) in &frames {
            capture = capture.record(1, 1, bytes, *original);
        }
        let mut reader = Reader::of(&capture.bytes[..], LinkTypes::MadeUp).expect("a pcap");
        for (bytes, _) in &frames {
            let frame = reader.next_frame().expect("whole").expect("as many");
            prop_assert!(frame.bytes.len() <= (bytes.len() + 14).min(MAX_FRAME));
            let again = frame.bytes.to_vec();
            prop_assert_eq!(reader.frame().expect("it was given").bytes, &again[..]);
        }
        prop_assert!(reader.next_frame().expect("whole").is_none() && reader.frame().is_none());
    }
}
