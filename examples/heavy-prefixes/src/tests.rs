//! Which prefixes are heavy.

use super::*;

/// An Ethernet frame of 60 bytes from this host, with nothing in it.
fn frame(source: [u8; 4]) -> Vec<u8> {
    const NO_NEXT_HEADER: u8 = 59;
    cora::testing::ipv4(source, [10, 9, 9, 9], 64, NO_NEXT_HEADER, &[0; 26])
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
    let mut lldp = [0; 60];
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    let mut packet = Packet::new(&mut lldp, Meta::default());
    assert_eq!(heavy_prefixes(&mut packet, &mut sources), Transmit, "whatever has no source");
    for prefixes in [&sources.packets, &sources.bytes] {
        let mut heavy = Vec::new();
        let light = prefixes.each(&mut |prefix, length, _, _| heavy.push((prefix, length)));
        assert_eq!(heavy, [([10, 0, 7, 0], 24), ([192, 168, 3, 4], 32)]);
        assert_eq!(light, 0);
    }
}
