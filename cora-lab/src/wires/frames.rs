//! The generator's frames: UDP of as many flows as asked for, in the shortest frames. Each flow has
//! an address of its own, or four flows share one.

use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use cora_traffic::pcap::Writer;

use crate::Result;
use crate::site::SERVICE;

/// The sender's MAC address.
const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The measured box's MAC address.
pub(super) const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// Bytes of a frame over IPv4 without its check sequence: with it, 64.
const SHORTEST: usize = 60;
/// Ethernet and UDP.
const ETHERNET: usize = 14;
const UDP: usize = 8;

/// The direction of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From 10.0.0.0/8, inside, to one server.
    Outward,
    /// As outward, with four flows of each address: carrier NAT gives an address a block of few
    /// ports.
    OutwardOfFew,
    /// From 198.18.0.0/15, outside, to the balancer's service.
    ToService,
    /// From fd00::/8, inside, to a server of IPv4 by NAT64's prefix.
    OutwardV6,
}

impl Direction {
    /// The server that flows from inside are for.
    pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

    fn ends(self, flow: u32) -> (IpAddr, IpAddr) {
        let [_, a, b, c] = flow.to_be_bytes();
        match self {
            Self::OutwardOfFew => Self::Outward.ends(1 + flow / 4),
            Self::Outward => (Ipv4Addr::new(10, a, b, c).into(), Self::SERVER.into()),
            Self::ToService => (Ipv4Addr::new(198, 18 + (a & 1), b, c).into(), SERVICE.into()),
            Self::OutwardV6 => {
                let [server_a, server_b] =
                    [Self::SERVER.to_bits() >> 16, Self::SERVER.to_bits() & 0xffff];
                let prefix = [0x64, 0xff9b, 0, 0, 0, 0, server_a as u16, server_b as u16];
                let host = [0xfd00, 0, 0, 0, 0, 0, (flow >> 16) as u16, flow as u16];
                (Ipv6Addr::from(host).into(), Ipv6Addr::from(prefix).into())
            }
        }
    }
}

/// Returns a frame of each flow, in turn.
pub(super) fn frames(direction: Direction, flows: u32) -> Vec<Vec<u8>> {
    // An address that ends in 0 is some network's.
    (1..=flows).map(|flow| udp(direction.ends(flow), 1024 + (flow % 50_000) as u16, 0)).collect()
}

/// Returns a datagram to port 53 in a frame of this length, or the shortest that holds its headers.
pub(crate) fn udp(ends: (IpAddr, IpAddr), port: u16, bytes: usize) -> Vec<u8> {
    let ip = if ends.0.is_ipv4() { 20 } else { 40 };
    let length = bytes.max(SHORTEST).max(ETHERNET + ip + UDP) - ETHERNET - ip;
    let mut datagram = [port, 53, length as u16, 0].map(u16::to_be_bytes).concat();
    datagram.resize(length, 0);
    frame(ends, 17, datagram, 6)
}

/// Returns a SYN, with some bytes of data behind it, in the shortest frame.
pub(crate) fn syn(from: Ipv4Addr, to: Ipv4Addr, source: u16, port: u16) -> Vec<u8> {
    let mut segment = [source.to_be_bytes(), port.to_be_bytes()].concat();
    // Numbers, length of the header and flag, window.
    segment.extend([0, 0, 0, 1, 0, 0, 0, 0, 5 << 4, 2, 0x20, 0, 0, 0, 0, 0]);
    segment.resize(SHORTEST - ETHERNET - 20, 0);
    frame((from.into(), to.into()), 6, segment, 16)
}

/// Returns the frame of a transport's header and data, with its checksum at `sum_at`.
fn frame(
    (from, to): (IpAddr, IpAddr),
    protocol: u8,
    mut transport: Vec<u8>,
    sum_at: usize,
) -> Vec<u8> {
    let length = transport.len() as u16;
    let (kind, header) = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            ([8, 0], version_4(from, to, protocol, length).to_vec())
        }
        (from, to) => ([0x86, 0xdd], version_6(from, to, protocol, length)),
    };
    let addresses = [octets(from), octets(to)].concat();
    let sum = words(&addresses) + u32::from(protocol) + u32::from(length) + words(&transport);
    let sum = match !fold(sum) {
        0 => 0xffff,
        sum => sum,
    };
    transport[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    [&TO[..], &FROM, &kind, &header, &transport].concat()
}

fn version_4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, length: u16) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(length + 20).to_be_bytes());
    // Not to be fragmented; 64 hops.
    (header[6], header[8], header[9]) = (0x40, 64, protocol);
    header[12..16].copy_from_slice(&from.octets());
    header[16..].copy_from_slice(&to.octets());
    let sum = !fold(words(&header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

fn version_6(from: IpAddr, to: IpAddr, protocol: u8, length: u16) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0];
    header.extend(length.to_be_bytes());
    header.extend([protocol, 64]);
    header.extend([octets(from), octets(to)].concat());
    header
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn words(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(*it.get(1).unwrap_or(&0))).sum()
}

const fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Writes a capture in which each flow comes once and then so many frames of all in turn, a
/// microsecond apart.
pub(super) fn save(path: &Path, frames: &[Vec<u8>], more: usize) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(failed)?;
    let mut writer = Writer::new(BufWriter::new(file)).map_err(failed)?;
    let all = frames.iter().cycle().take(frames.len() + more);
    for (time, frame) in (1_000_000_000..).step_by(1_000).zip(all) {
        writer.write(time, frame).map_err(failed)?;
    }
    writer.finish().map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cora_traffic::view::View;

    use super::*;

    #[test]
    fn what_is_longer_and_what_opens_a_connection_has_right_checksums_too() {
        let (from, to) = (Ipv4Addr::new(10, 1, 2, 3), Direction::SERVER);
        for (frame, length) in
            [(udp((from.into(), to.into()), 1, 500), 500), (syn(from, to, 1024, 99), 60)]
        {
            assert_eq!(frame.len(), length);
            let view = View::of(&frame).unwrap();
            let udp_or_tcp = &frame[view.transport..];
            let head = u32::from(view.protocol) + udp_or_tcp.len() as u32;
            assert_eq!(fold(words(&frame[26..34]) + head + words(udp_or_tcp)), 0xffff);
            assert_eq!(fold(words(&frame[14..34])), 0xffff);
            assert_eq!(view.end, length);
        }
    }

    #[test]
    fn each_flow_is_its_own_in_a_short_frame_with_right_checksums() {
        for (direction, length) in [
            (Direction::Outward, 60),
            (Direction::OutwardOfFew, 60),
            (Direction::ToService, 60),
            (Direction::OutwardV6, 62),
        ] {
            let frames = frames(direction, 70_000);
            let tuples: BTreeSet<_> = frames
                .iter()
                .map(|frame| View::of(frame).and_then(|view| view.tuple(frame)).unwrap())
                .collect();
            assert_eq!(tuples.len(), 70_000);
            assert!(frames.iter().all(|frame| frame.len() == length));
            let frame = &frames[4321];
            let view = View::of(frame).unwrap();
            let addresses = octets(view.from).len() + octets(view.to).len();
            let pseudo = &frame[view.transport - addresses..view.transport];
            let udp = &frame[view.transport..];
            assert_eq!(fold(words(pseudo) + 17 + udp.len() as u32 + words(udp)), 0xffff);
            if length == 60 {
                assert_eq!(fold(words(&frame[14..34])), 0xffff);
            }
        }
    }
}
