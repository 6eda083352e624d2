//! The three readings, against known results.

use cora::testing::{table, udp};

use super::*;

#[test]
fn checksums_are_castagnolis() {
    // RFC 3720, B.4.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
}

#[test]
fn patterns_are_found_wherever_they_are() {
    for pattern in PATTERNS.chunks(8) {
        for at in 0..20 {
            let bytes = [&vec![b'P'; at], pattern, b"passwor", pattern].concat();
            let expected = bytes.windows(8).filter(|eight| PATTERNS.chunks(8).any(|p| p == *eight));
            assert_eq!(patterns(&bytes) as usize, expected.count());
        }
    }
    assert_eq!(patterns(PATTERNS), 8);
    assert_eq!(patterns(b"PASSWORpassworddocumen"), 1, "none is in two pieces");
}

#[test]
fn digests_depend_on_all_of_a_flow() {
    let hash = |bytes: &[u8]| digest([1, 2], 3, bytes);
    assert_ne!(hash(b"abc"), hash(b"abc\0"));
    assert_ne!(hash(&[7; MOST]), hash(&[7; MOST - 1]));
    assert_ne!(hash(b"abc"), digest([1, 2], 4, b"abc"));
}

#[test]
fn a_flow_sums_up_its_payloads() {
    let mut flows = table::<Flow>();
    for payload in [&b"my password"[..], b"", &[b'x'; 5_000]] {
        let mut frame = udp(([10, 0, 0, 1], 7), ([192, 0, 2, 1], 9), payload);
        let mut packet = Packet::new(&mut frame, Meta::default());
        assert_eq!(read(&mut packet, &mut flows), Transmit);
    }
    let mut frame = udp(([10, 0, 0, 1], 7), ([192, 0, 2, 1], 9), b"");
    let key = Packet::new(&mut frame, Meta::default()).five_tuple().unwrap();
    let flow = flows.get(&key).unwrap();
    assert_eq!((flow.packets, flow.bytes, flow.found), (3, 11 + MOST as u64, 1));
}
