//! Frames, octet by octet: the order of headers, and the checksums.

use std::net::IpAddr;

pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

/// One end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) mac: [u8; 6],
    pub(crate) address: IpAddr,
    /// A port, or the identifier of an ICMP query.
    pub(crate) port: u16,
}

/// VLAN tags in front of the EtherType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tags {
    None,
    One(u16),
    /// 802.1ad outside, 802.1Q inside.
    Two(u16, u16),
}

/// The parts of a frame beside its transport: source, destination, and header fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) from: End,
    pub(crate) to: End,
    pub(crate) tags: Tags,
    pub(crate) hops: u8,
    /// IPv4's identification, IPv6's flow label.
    pub(crate) id: u16,
    /// IPv4 options, or an IPv6 hop-by-hop header.
    pub(crate) options: bool,
}

impl Path {
    pub(crate) fn back(&self) -> Self {
        Self { from: self.to, to: self.from, hops: 57, id: self.id ^ 0x5a5a, ..*self }
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.from.address.is_ipv6()
    }
}

/// Place of a fragment: offset in octets, and whether more follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) offset: u16,
    pub(crate) more: bool,
}

/// The fields of a TCP header that vary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    /// Options, a multiple of four octets.
    pub(crate) options: &'a [u8],
    pub(crate) payload: &'a [u8],
}

/// Computes the sum of RFC 1071 over several pieces; all but the last are of even length.
pub(crate) fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for piece in pieces {
        for pair in piece.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Makes the pseudo header of transports' checksums (RFC 768, RFC 8200 section 8.1).
pub(crate) fn pseudo_header(from: IpAddr, to: IpAddr, protocol: u8, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    put_address(&mut bytes, from);
    put_address(&mut bytes, to);
    bytes.extend((length as u32).to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes
}

pub(crate) fn tcp(path: &Path, segment: &Segment<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(20 + segment.options.len() + segment.payload.len());
    bytes.extend(path.from.port.to_be_bytes());
    bytes.extend(path.to.port.to_be_bytes());
    bytes.extend(segment.sequence.to_be_bytes());
    bytes.extend(segment.acknowledgement.to_be_bytes());
    bytes.push((5 + segment.options.len() as u8 / 4) << 4);
    bytes.push(segment.flags);
    bytes.extend([0xfa, 0xf0, 0, 0, 0, 0]); // window, checksum, urgent pointer
    bytes.extend(segment.options);
    bytes.extend(segment.payload);
    sum_transport(path, TCP, &mut bytes, 16);
    bytes
}

pub(crate) fn udp(path: &Path, payload: &[u8], summed: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + payload.len());
    bytes.extend(path.from.port.to_be_bytes());
    bytes.extend(path.to.port.to_be_bytes());
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    if summed {
        sum_transport(path, UDP, &mut bytes, 6);
    }
    bytes
}

/// Makes an ICMP message of the path's version: type, code, the second word, the rest.
pub(crate) fn icmp(path: &Path, kind: [u8; 2], word: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + rest.len());
    bytes.extend(kind);
    bytes.extend([0, 0]);
    bytes.extend(word);
    bytes.extend(rest);
    if path.is_v6() {
        sum_transport(path, ICMPV6, &mut bytes, 2);
    } else {
        let sum = checksum(&[&bytes]);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

pub(crate) fn icmp_protocol(path: &Path) -> u8 {
    if path.is_v6() { ICMPV6 } else { ICMP }
}

fn sum_transport(path: &Path, protocol: u8, bytes: &mut [u8], at: usize) {
    let pseudo = pseudo_header(path.from.address, path.to.address, protocol, bytes.len());
    let sum = match checksum(&[&pseudo, bytes]) {
        0 if protocol == UDP => 0xffff, // zero would mean "not summed"
        sum => sum,
    };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Makes a whole frame around a transport.
pub(crate) fn frame(path: &Path, protocol: u8, transport: &[u8]) -> Vec<u8> {
    build(path, protocol, transport, None)
}

/// Makes a frame with one fragment of a transport.
pub(crate) fn fragment(path: &Path, protocol: u8, part: &[u8], place: Fragment) -> Vec<u8> {
    build(path, protocol, part, Some(place))
}

fn build(path: &Path, protocol: u8, part: &[u8], place: Option<Fragment>) -> Vec<u8> {
    let ether_type = if path.is_v6() { 0x86dd } else { 0x0800 };
    let mut bytes = Vec::with_capacity(80 + part.len());
    ethernet(&mut bytes, path.to.mac, path.from.mac, path.tags, ether_type);
    if path.is_v6() {
        put_v6(&mut bytes, path, protocol, part.len(), place);
    } else {
        put_v4(&mut bytes, path, protocol, part.len(), place);
    }
    bytes.extend(part);
    bytes
}

pub(crate) fn ethernet(out: &mut Vec<u8>, to: [u8; 6], from: [u8; 6], tags: Tags, kind: u16) {
    out.extend(to);
    out.extend(from);
    let mut tag = |kind: u16, number: u16| {
        out.extend(kind.to_be_bytes());
        out.extend(number.to_be_bytes());
    };
    match tags {
        Tags::None => {}
        Tags::One(number) => tag(0x8100, number),
        Tags::Two(outer, inner) => {
            tag(0x88a8, outer);
            tag(0x8100, inner);
        }
    }
    out.extend(kind.to_be_bytes());
}

fn put_v4(out: &mut Vec<u8>, path: &Path, protocol: u8, length: usize, place: Option<Fragment>) {
    let start = out.len();
    let words: u8 = if path.options { 6 } else { 5 };
    let flags = place.map_or(0x4000, |place| (u16::from(place.more) << 13) | (place.offset / 8));
    out.extend([0x40 | words, 0]);
    out.extend(
        (usize::from(words) * 4 + length).to_be_bytes().last_chunk::<2>().unwrap_or(&[0; 2]),
    );
    out.extend(path.id.to_be_bytes());
    out.extend(flags.to_be_bytes());
    out.extend([path.hops, protocol, 0, 0]);
    put_address(out, path.from.address);
    put_address(out, path.to.address);
    if path.options {
        out.extend([0x94, 4, 0, 0]); // router alert (RFC 2113)
    }
    let sum = checksum(&[&out[start..]]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

fn put_v6(out: &mut Vec<u8>, path: &Path, protocol: u8, length: usize, place: Option<Fragment>) {
    let extra = usize::from(path.options) * 8 + usize::from(place.is_some()) * 8;
    let after_options = if place.is_some() { 44 } else { protocol };
    out.extend([0x60, 0]);
    out.extend(path.id.to_be_bytes());
    out.extend(((length + extra) as u16).to_be_bytes());
    out.extend([if path.options { 0 } else { after_options }, path.hops]);
    put_address(out, path.from.address);
    put_address(out, path.to.address);
    if path.options {
        out.extend([after_options, 0, 1, 4, 0, 0, 0, 0]); // hop-by-hop with PadN
    }
    if let Some(place) = place {
        out.extend([protocol, 0]);
        out.extend((place.offset | u16::from(place.more)).to_be_bytes());
        out.extend([0, 0]);
        out.extend(path.id.to_be_bytes());
    }
}

pub(crate) fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend(address.octets()),
        IpAddr::V6(address) => out.extend(address.octets()),
    }
}
