//! Whether a frame is sound, as smoltcp reads it.
#![allow(dead_code, reason = "each test file uses what it needs")]

use smoltcp::wire::{
    ArpPacket, EthernetFrame, Icmpv4Packet, Icmpv6Packet, IpAddress, IpProtocol, Ipv4Packet,
    Ipv6Packet, TcpPacket, UdpPacket,
};

/// Checks lengths and checksums of all protocols that smoltcp knows.
pub(crate) fn check(frame: &[u8]) -> Result<(), String> {
    let whole = EthernetFrame::new_checked(frame).map_err(|_| "no Ethernet header")?;
    let (kind, at) = after_tags(frame, u16::from(whole.ethertype()))?;
    let rest = &frame[at..];
    match kind {
        0x0800 => check_v4(rest),
        0x86dd => check_v6(rest),
        0x0806 => ArpPacket::new_checked(rest).map(|_| ()).map_err(|_| "ARP".to_owned()),
        _ => Ok(()),
    }
}

fn after_tags(frame: &[u8], kind: u16) -> Result<(u16, usize), String> {
    let (mut kind, mut at) = (kind, 14);
    while matches!(kind, 0x8100 | 0x88a8) {
        let tag: [u8; 4] =
            frame.get(at..at + 4).and_then(|tag| tag.try_into().ok()).ok_or("tag")?;
        kind = u16::from_be_bytes([tag[2], tag[3]]);
        at += 4;
    }
    Ok((kind, at))
}

fn check_v4(bytes: &[u8]) -> Result<(), String> {
    if bytes.first().is_none_or(|first| first >> 4 != 4) {
        return Err("not version 4".to_owned());
    }
    let packet = Ipv4Packet::new_checked(bytes).map_err(|_| "IPv4 lengths")?;
    if !packet.verify_checksum() {
        return Err("IPv4 checksum".to_owned());
    }
    if packet.header_len() > 20 && bytes[20..24] != [0x94, 4, 0, 0] {
        return Err("IPv4 options".to_owned());
    }
    if packet.more_frags() || packet.frag_offset() > 0 {
        return first_fragment(packet.frag_offset(), packet.next_header(), packet.payload());
    }
    let (from, to) = (packet.src_addr().into(), packet.dst_addr().into());
    check_transport(packet.next_header(), from, to, packet.payload())
}

/// Checks that a first fragment holds the transport's header (RFC 1858).
fn first_fragment(offset: u16, protocol: IpProtocol, part: &[u8]) -> Result<(), String> {
    let least = if protocol == IpProtocol::Tcp { 20 } else { 8 };
    if offset == 0 && part.len() < least { Err("tiny fragment".to_owned()) } else { Ok(()) }
}

fn check_v6(bytes: &[u8]) -> Result<(), String> {
    if bytes.first().is_none_or(|first| first >> 4 != 6) {
        return Err("not version 6".to_owned());
    }
    let packet = Ipv6Packet::new_checked(bytes).map_err(|_| "IPv6 lengths")?;
    let (mut next, mut rest) = (packet.next_header(), packet.payload());
    let mut headers = 0;
    while matches!(u8::from(next), 0 | 60) {
        headers += 1;
        let header: &[u8; 2] = rest.first_chunk().ok_or("extension header")?;
        next = IpProtocol::from(header[0]);
        rest = rest.get(8 + 8 * usize::from(header[1])..).ok_or("extension header's length")?;
        if headers > 4 {
            return Err("endless extension headers".to_owned());
        }
    }
    if next == IpProtocol::Ipv6Frag {
        let [protocol, _, high, low, ..] = *rest else { return Err("fragment header".to_owned()) };
        let offset = u16::from_be_bytes([high, low]) >> 3;
        return first_fragment(offset, protocol.into(), &rest[8..]);
    }
    check_transport(next, packet.src_addr().into(), packet.dst_addr().into(), rest)
}

fn check_transport(
    protocol: IpProtocol,
    from: IpAddress,
    to: IpAddress,
    bytes: &[u8],
) -> Result<(), String> {
    let (whole, summed) = match (protocol, from, to) {
        (IpProtocol::Tcp, ..) => {
            let packet = TcpPacket::new_checked(bytes).map_err(|_| "TCP header")?;
            (packet.src_port() != 0, packet.verify_checksum(&from, &to))
        }
        (IpProtocol::Udp, ..) => {
            let packet = UdpPacket::new_checked(bytes).map_err(|_| "UDP header")?;
            (usize::from(packet.len()) == bytes.len(), packet.verify_checksum(&from, &to))
        }
        (IpProtocol::Icmp, ..) => {
            let packet = Icmpv4Packet::new_checked(bytes).map_err(|_| "ICMP header")?;
            let quote = !matches!(bytes[0], 3 | 11) || bytes.len() >= 8 + 28;
            (quote, packet.verify_checksum())
        }
        (IpProtocol::Icmpv6, IpAddress::Ipv6(from), IpAddress::Ipv6(to)) => {
            let packet = Icmpv6Packet::new_checked(bytes).map_err(|_| "ICMPv6 header")?;
            let quote = bytes[0] > 4 || bytes.len() >= 8 + 48;
            (quote, packet.verify_checksum(&from, &to))
        }
        _ => (true, true),
    };
    match (whole, summed) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("{protocol} lengths")),
        (_, false) => Err(format!("{protocol} checksum")),
    }
}

/// Returns the flags of an untagged IPv4 TCP segment without options.
pub(crate) fn tcp_flags(frame: &[u8]) -> Option<u8> {
    let v4 = frame.get(12..15)? == [8, 0, 0x45] && frame.get(23)? == &6;
    if v4 { frame.get(47).map(|flags| flags & 0x3f) } else { None }
}
