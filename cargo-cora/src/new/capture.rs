//! Packets to try a new package on: a long exchange and short ones, each between a host inside and
//! a server.

use std::fs::File;
use std::io::Result;
use std::path::Path;

use cora_core::key::Address;
use cora_core::key::protocol::UDP;
use cora_core::packet::checksum;
use cora_host::ingress::pcap::Writer;

/// Packets of the long exchange; the program lets 100 of them through.
const LONG: u64 = 150;
/// Packets of all short ones.
const SHORT: u64 = 50;
/// Nanoseconds between packets.
const GAP: u64 = 10_000_000;

/// One end: address and port.
type End = ([u8; 4], u16);

pub(super) fn write(path: &Path) -> Result<()> {
    let mut writer = Writer::new(File::create(path)?)?;
    let server = ([192, 0, 2, 53], 53);
    for number in 0..LONG + SHORT {
        // Every fourth packet is of a short exchange, of ten packets each; answers alternate with
        // questions.
        let short = number / 4;
        let (client, answers) = if number % 4 == 3 {
            (([10, 0, 0, 2], 6_000 + u16::try_from(short / 10).unwrap_or_default()), short % 2 == 1)
        } else {
            (([10, 0, 0, 1], 5_000), number % 2 == 1)
        };
        let ends = if answers { (server, client) } else { (client, server) };
        writer.write(number * GAP, &datagram(ends))?;
    }
    writer.finish()?;
    Ok(())
}

/// A datagram between two ends, padded to what a frame has at least.
fn datagram((source, destination): (End, End)) -> [u8; 60] {
    const DATA: &[u8; 18] = b"try.pcap, of Cora\n";
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    let (ip, udp) = frame[14..].split_at_mut(20);
    ip.copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, UDP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    ip[12..16].copy_from_slice(&source.0);
    ip[16..20].copy_from_slice(&destination.0);
    let sum = checksum::internet(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    udp[..2].copy_from_slice(&source.1.to_be_bytes());
    udp[2..4].copy_from_slice(&destination.1.to_be_bytes());
    udp[4..6].copy_from_slice(&26_u16.to_be_bytes());
    udp[8..].copy_from_slice(DATA);
    let [from, to] = [source.0, destination.0].map(Address::v4);
    let sum = checksum::transport(from, to, UDP, udp);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use cora_core::packet::{Meta, Packet};

    use super::*;

    #[test]
    fn datagrams_are_whole() {
        let mut frame = datagram((([10, 0, 0, 1], 7), ([192, 0, 2, 1], 8)));
        let packet = Packet::new(&mut frame, Meta::default());
        assert!(checksum::verify(&packet));
        let flow = packet.five_tuple().unwrap();
        assert_eq!((flow.source_port, flow.destination_port), (7, 8));
    }
}
