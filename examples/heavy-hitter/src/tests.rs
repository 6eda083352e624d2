//! The counts, and that everything passes.

use super::*;

const A: [u8; 4] = [10, 0, 0, 1];
const B: [u8; 4] = [10, 0, 0, 2];

#[test]
fn what_has_no_flow_passes_and_counts_for_its_source() {
    // The sketch alone fills most of the stack that a test is given.
    let roomy = std::thread::Builder::new().stack_size(16 << 20).spawn(passes);
    roomy.expect("a thread").join().expect("it holds");
}

fn passes() {
    let mut flows = cora::testing::table();
    let mut talkers = cora::testing::replica::<Talkers>();
    let mut send = |mut frame: Vec<u8>| {
        let mut packet = Packet::new(&mut frame, Meta::default());
        assert_eq!(heavy_hitter(&mut packet, &mut flows, &mut talkers), Transmit, "{packet:?}");
        cora::testing::commit(&mut talkers);
    };
    let mut lldp = vec![0; 60];
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    send(lldp);
    for protocol in [47, 50, 89] {
        send(cora::testing::ipv4(A, B, 64, protocol, &[0; 26]));
    }
    send(cora::testing::udp((B, 1), (A, 2), &[0; 58]));
    assert_eq!(talkers.bytes.value(), 4 * 60 + 100);
    let of = |host| talkers.sources.estimate(&SourceAddress(Address::v4(host)));
    assert_eq!((of(A), of(B)), (180, 100));
    let largest: Vec<u64> = talkers.flows.iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(largest, [100]);
}
