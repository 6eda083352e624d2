//! Test frames built by smoltcp, and a checker of checksums that shares no code with Cora.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use cora_core::key::{Address, FiveTuple};
use cora_core::packet::{Meta, Packet, checksum};
use cora_core::verdict::Reason;
use proptest::test_runner::Config as ProptestConfig;
use smoltcp::wire::{
    Icmpv4Packet, Icmpv6Packet, IpAddress, IpProtocol, Ipv4Address, Ipv4Packet, Ipv6Address,
    Ipv6Packet, TcpPacket, UdpPacket,
};

pub const A4: Address = Address::v4([10, 0, 0, 1]);
pub const B4: Address = Address::v4([192, 0, 2, 77]);
pub const R4: Address = Address::v4([198, 51, 100, 254]);
pub const N4: Address = Address::v4([203, 0, 113, 5]);
pub const A6: Address = Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
pub const B6: Address =
    Address::v6([0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0xab, 0xcd]);
pub const R6: Address = Address::v6([0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
pub const N6: Address = Address::v6([0x20, 1, 0xd, 0xb8, 0xff, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);

/// The ends of most packets here, in both versions.
pub const FOUR: (Address, Address) = (A4, B4);
pub const SIX: (Address, Address) = (A6, B6);

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP: u8 = 1;
pub const ICMPV6: u8 = 58;
pub const SCTP: u8 = 132;

pub const SYN: u8 = 2;
pub const ACK: u8 = 16;

/// This many random cases. Miri is slow, and checks other properties.
pub fn cases(cases: u32) -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { cases };
    ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}

/// A packet from inside at time 0.
pub fn packet(frame: &mut [u8]) -> Packet<'_> {
    Packet::new(frame, Meta::default())
}

pub fn tuple(ends: (Address, Address), ports: (u16, u16), protocol: u8) -> FiveTuple {
    FiveTuple {
        source: ends.0,
        destination: ends.1,
        source_port: ports.0,
        destination_port: ports.1,
        protocol,
    }
}

#[track_caller]
pub fn flow_is(mut frame: Vec<u8>, expected: Result<FiveTuple, Reason>) {
    let packet = packet(&mut frame);
    assert_eq!(packet.flow(), expected);
    assert_eq!(packet.five_tuple(), expected);
}

/// `frame` with one byte replaced.
pub fn with(mut frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    frame[at] = byte;
    frame
}

/// The same in the IPv4 header of an untagged frame, with a corrected checksum.
pub fn with_right(frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    right(with(frame, at, byte), 14)
}

/// `frame` with a correct checksum in the IPv4 header at `at`, as far as the header exists.
pub fn right(mut frame: Vec<u8>, at: usize) -> Vec<u8> {
    let header = frame[at..].len().min(usize::from(frame[at] & 15).max(5) * 4);
    frame[at + 10..at + 12].fill(0);
    let sum = checksum::internet(&frame[at..at + header]).to_be_bytes();
    frame[at + 10..at + 12].copy_from_slice(&sum);
    frame
}

/// An IPv4 SYN with data.
pub fn tcp4() -> Vec<u8> {
    ethernet(&ip(FOUR, TCP, &tcp(FOUR, (1234, 80), SYN, b"hello")))
}

/// An IPv6 SYN with data.
pub fn tcp6() -> Vec<u8> {
    ethernet(&ip(SIX, TCP, &tcp(SIX, (1234, 80), SYN, b"hello")))
}

fn octets4(address: Address) -> Ipv4Address {
    Ipv4Address::from(address.as_v4().expect("an IPv4 address"))
}

fn octets6(address: Address) -> Ipv6Address {
    Ipv6Address::from(address.octets())
}

fn ip_address(address: Address) -> IpAddress {
    match address.as_v4() {
        Some(_) => IpAddress::Ipv4(octets4(address)),
        None => IpAddress::Ipv6(octets6(address)),
    }
}

/// A TCP segment with a header of 20 + `options` bytes.
pub fn tcp(ends: (Address, Address), ports: (u16, u16), flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes.extend_from_slice(payload);
    let mut segment = TcpPacket::new_unchecked(&mut bytes);
    segment.set_src_port(ports.0);
    segment.set_dst_port(ports.1);
    segment.set_header_len(20);
    segment.set_window_len(0xfaf0);
    bytes[13] = flags;
    TcpPacket::new_unchecked(&mut bytes).fill_checksum(&ip_address(ends.0), &ip_address(ends.1));
    bytes
}

pub fn udp(ends: (Address, Address), ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend_from_slice(payload);
    let length = bytes.len() as u16;
    let mut datagram = UdpPacket::new_unchecked(&mut bytes);
    datagram.set_src_port(ports.0);
    datagram.set_dst_port(ports.1);
    datagram.set_len(length);
    datagram.fill_checksum(&ip_address(ends.0), &ip_address(ends.1));
    bytes
}

/// An ICMP or ICMPv6 message, by the version of `ends`.
pub fn icmp(ends: (Address, Address), kind: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend_from_slice(&rest);
    bytes.extend_from_slice(payload);
    if ends.0.is_v4() {
        Icmpv4Packet::new_unchecked(&mut bytes).fill_checksum();
    } else {
        Icmpv6Packet::new_unchecked(&mut bytes).fill_checksum(&octets6(ends.0), &octets6(ends.1));
    }
    bytes
}

/// The echo message of `ends`' version: request or reply.
pub fn echo(ends: (Address, Address), reply: bool, identifier: u16, payload: &[u8]) -> Vec<u8> {
    let kind = match (ends.0.is_v4(), reply) {
        (true, false) => 8,
        (true, true) => 0,
        (false, false) => 128,
        (false, true) => 129,
    };
    let [a, b] = identifier.to_be_bytes();
    icmp(ends, kind, [a, b, 0, 1], payload)
}

/// An IP packet of the version of `ends`, hop limit 64.
pub fn ip(ends: (Address, Address), protocol: u8, payload: &[u8]) -> Vec<u8> {
    ip_with(ends, protocol, &[], payload)
}

/// The same with IPv4 options or IPv6 extension headers; for the latter, `protocol` is the first.
pub fn ip_with(ends: (Address, Address), protocol: u8, extra: &[u8], payload: &[u8]) -> Vec<u8> {
    let v4 = ends.0.is_v4();
    let mut bytes = vec![0; if v4 { 20 } else { 40 }];
    bytes.extend_from_slice(extra);
    bytes.extend_from_slice(payload);
    let length = bytes.len() as u16;
    if v4 {
        let mut packet = Ipv4Packet::new_unchecked(&mut bytes);
        packet.set_version(4);
        packet.set_header_len(20 + extra.len() as u8);
        packet.set_total_len(length);
        packet.set_hop_limit(64);
        packet.set_next_header(IpProtocol::from(protocol));
        packet.set_src_addr(octets4(ends.0));
        packet.set_dst_addr(octets4(ends.1));
        packet.fill_checksum();
    } else {
        let mut packet = Ipv6Packet::new_unchecked(&mut bytes);
        packet.set_version(6);
        packet.set_payload_len(length - 40);
        packet.set_hop_limit(64);
        packet.set_next_header(IpProtocol::from(protocol));
        packet.set_src_addr(octets6(ends.0));
        packet.set_dst_addr(octets6(ends.1));
    }
    bytes
}

/// An Ethernet frame around an IP packet.
pub fn ethernet(packet: &[u8]) -> Vec<u8> {
    tagged(&[], packet)
}

/// The same with VLAN tags of these kinds, the outermost first.
pub fn tagged(tags: &[u16], packet: &[u8]) -> Vec<u8> {
    let ethertype: u16 =
        if packet.first().is_some_and(|byte| byte >> 4 == 6) { 0x86dd } else { 0x0800 };
    let mut frame = vec![2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa];
    for tag in tags {
        frame.extend_from_slice(&tag.to_be_bytes());
        frame.extend_from_slice(&[0, 7]);
    }
    frame.extend_from_slice(&ethertype.to_be_bytes());
    frame.extend_from_slice(packet);
    frame
}

/// Whole frames of the common transports, by name: TCP, UDP and echo with these payloads.
pub fn plain_frames(ends: (Address, Address), payload: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let icmp = if ends.0.is_v4() { ICMP } else { ICMPV6 };
    vec![
        ("tcp", ethernet(&ip(ends, TCP, &tcp(ends, (1234, 80), ACK, payload)))),
        ("udp", ethernet(&ip(ends, UDP, &udp(ends, (5353, 53), payload)))),
        ("echo", ethernet(&ip(ends, icmp, &echo(ends, false, 77, payload)))),
    ]
}

/// An ICMP error from `router` to the source of `quoted`, with `keep` bytes of it.
pub fn error(router: Address, quoted: &[u8], keep: usize) -> Vec<u8> {
    let quoted = &quoted[..keep.min(quoted.len())];
    if router.is_v4() {
        let to = Address::v4(quoted[12..16].try_into().expect("four"));
        let message = icmp((router, to), 3, [0; 4], quoted);
        ethernet(&ip((router, to), ICMP, &message))
    } else {
        let to = Address::v6(quoted[8..24].try_into().expect("sixteen"));
        let message = icmp((router, to), 1, [0; 4], quoted);
        ethernet(&ip((router, to), ICMPV6, &message))
    }
}

/// Verifies every checksum of an untagged frame without extension headers with smoltcp, and those
/// of the packet that an ICMP error quotes, if it is complete.
#[track_caller]
pub fn judge(frame: &[u8]) {
    judge_ip(&frame[14..]);
}

#[track_caller]
fn judge_ip(bytes: &[u8]) {
    if bytes[0] >> 4 == 4 {
        let packet = Ipv4Packet::new_unchecked(bytes);
        assert!(packet.verify_checksum(), "IPv4 header");
        let ends = (packet.src_addr().into(), packet.dst_addr().into());
        let (start, end) = (usize::from(packet.header_len()), usize::from(packet.total_len()));
        if end <= bytes.len() && !packet.more_frags() && packet.frag_offset() == 0 {
            judge_transport(ends, packet.next_header(), &bytes[start..end]);
        }
    } else {
        let packet = Ipv6Packet::new_unchecked(bytes);
        let ends = (packet.src_addr().into(), packet.dst_addr().into());
        if packet.total_len() <= bytes.len() {
            judge_transport(ends, packet.next_header(), &bytes[40..packet.total_len()]);
        }
    }
}

/// Verifies the checksums of an IP packet with this transport at this offset, behind any headers.
#[track_caller]
pub fn judge_form(packet: &[u8], transport: usize, protocol: u8) {
    let ends = if packet[0] >> 4 == 4 {
        let packet = Ipv4Packet::new_unchecked(packet);
        assert!(packet.verify_checksum(), "IPv4 header");
        (packet.src_addr().into(), packet.dst_addr().into())
    } else {
        let packet = Ipv6Packet::new_unchecked(packet);
        (packet.src_addr().into(), packet.dst_addr().into())
    };
    judge_transport(ends, IpProtocol::from(protocol), &packet[transport..]);
}

#[track_caller]
fn judge_transport(ends: (IpAddress, IpAddress), protocol: IpProtocol, bytes: &[u8]) {
    let right = match (protocol, ends) {
        (IpProtocol::Tcp, _) => TcpPacket::new_unchecked(bytes).verify_checksum(&ends.0, &ends.1),
        (IpProtocol::Udp, _) => UdpPacket::new_unchecked(bytes).verify_checksum(&ends.0, &ends.1),
        (IpProtocol::Icmp, _) => Icmpv4Packet::new_unchecked(bytes).verify_checksum(),
        (IpProtocol::Icmpv6, (IpAddress::Ipv6(source), IpAddress::Ipv6(destination))) => {
            Icmpv6Packet::new_unchecked(bytes).verify_checksum(&source, &destination)
        }
        _ => return,
    };
    assert!(right, "{protocol} of {ends:?}");
    let error = match protocol {
        IpProtocol::Icmp => matches!(bytes[0], 3 | 4 | 5 | 11 | 12),
        IpProtocol::Icmpv6 => matches!(bytes[0], 1..=4),
        _ => false,
    };
    if error {
        judge_ip(&bytes[8..]);
    }
}
