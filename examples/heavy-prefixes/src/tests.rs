//! Which prefixes are heavy.

use super::*;

/// An Ethernet frame with an empty IPv4 packet from this host.
fn frame(source: [u8; 4]) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&[0x45, 0, 0, 46]);
    frame[22..24].copy_from_slice(&[64, 59]);
    frame[26..30].copy_from_slice(&source);
    frame[30..34].copy_from_slice(&[10, 9, 9, 9]);
    let sum = checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn a_flooding_network_is_told_from_a_flooding_host() {
    // The sketches alone fill most of the stack that a test is given.
    let roomy = std::thread::Builder::new().stack_size(16 << 20).spawn(floods);
    roomy.expect("a thread").join().expect("it holds");
}

fn floods() {
    let mut sources = cora::testing::replica::<Sources>();
    let mut send = |source| {
        let mut frame = frame(source);
        let mut packet = Packet::new(&mut frame, Meta::default());
        assert_eq!(heavy_prefixes(&mut packet, &mut sources), Transmit);
        cora::testing::commit(&mut sources);
    };
    (0..=255).for_each(|host| send([10, 0, 7, host]));
    (0..100).for_each(|_| send([192, 168, 3, 4]));
    for prefixes in [&sources.packets, &sources.bytes] {
        let mut heavy = Vec::new();
        let light = prefixes.each(&mut |prefix, length, _, _| heavy.push((prefix, length)));
        assert_eq!(heavy, [([10, 0, 7, 0], 24), ([192, 168, 3, 4], 32)]);
        assert_eq!(light, 0);
    }
}
