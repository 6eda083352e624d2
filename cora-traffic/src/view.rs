//! Offsets of fields in a frame: the minimum for counting, answering and readdressing.

use std::net::{IpAddr, Ipv6Addr};

use crate::wire::{ICMP, ICMPV6, TCP, Tags, UDP};

/// Protocol, and address and port of the source and of the destination.
pub type Tuple = (u8, IpAddr, u16, IpAddr, u16);

/// A frame with an IP packet, by offsets.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub(crate) tags: Tags,
    /// Offset of the IP header.
    pub ip: usize,
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// The transport's protocol number, behind all extension headers.
    pub protocol: u8,
    /// Offset of the transport's header.
    pub transport: usize,
    /// End of the packet: padding may follow.
    pub end: usize,
    /// Whether it is a fragment of a packet.
    pub fragment: bool,
}

impl View {
    /// Returns the view of a frame; `None` without a whole IP packet.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let (tags, ip) = match word(frame, 12)? {
            0x8100 => (Tags::One(word(frame, 14)?), 18),
            0x88a8 => (Tags::Two(word(frame, 14)?, word(frame, 18)?), 22),
            _ => (Tags::None, 14),
        };
        let ether_type = word(frame, ip - 2)?;
        let view = match ether_type {
            0x0800 => Self::v4(frame, ip, frame.len())?,
            0x86dd => Self::v6(frame, ip, frame.len())?,
            _ => return None,
        };
        Some(Self { tags, ..view })
    }

    /// Returns the packet that an ICMP error quotes; its length may exceed the quote.
    pub fn quoted(&self, frame: &[u8]) -> Option<Self> {
        let kind = *frame.get(self.transport)?;
        let ip = self.transport + 8;
        match self.protocol {
            ICMP if matches!(kind, 3 | 4 | 5 | 11 | 12) => Self::v4(frame, ip, usize::MAX),
            ICMPV6 if kind < 128 => Self::v6(frame, ip, usize::MAX),
            _ => None,
        }
    }

    fn v4(frame: &[u8], ip: usize, limit: usize) -> Option<Self> {
        let header: &[u8; 20] = frame.get(ip..)?.first_chunk()?;
        let length = usize::from(header[0] & 15) * 4;
        let end = ip + usize::from(word(header, 2)?);
        let whole = header[0] >> 4 == 4 && length >= 20 && end >= ip + length && end <= limit;
        whole.then_some(Self {
            tags: Tags::None,
            ip,
            from: IpAddr::from(*header[12..].first_chunk::<4>()?),
            to: IpAddr::from(*header[16..].first_chunk::<4>()?),
            protocol: header[9],
            transport: ip + length,
            end,
            fragment: word(header, 6)? & 0x3fff != 0,
        })
    }

    fn v6(frame: &[u8], ip: usize, limit: usize) -> Option<Self> {
        let header: &[u8; 40] = frame.get(ip..)?.first_chunk()?;
        let end = ip + 40 + usize::from(word(header, 4)?);
        if header[0] >> 4 != 6 || end > limit {
            return None;
        }
        let (mut protocol, mut transport, mut fragment) = (header[6], ip + 40, false);
        while matches!(protocol, 0 | 43 | 44 | 60) && transport < end {
            fragment |= protocol == 44;
            let length =
                if protocol == 44 { 8 } else { 8 + 8 * usize::from(*frame.get(transport + 1)?) };
            protocol = *frame.get(transport)?;
            transport += length;
        }
        let address = |at: usize| Some(Ipv6Addr::from(*header[at..].first_chunk::<16>()?).into());
        let (from, to) = (address(8)?, address(24)?);
        (transport <= end).then_some(Self {
            tags: Tags::None,
            ip,
            from,
            to,
            protocol,
            transport,
            end,
            fragment,
        })
    }

    /// Returns ends and ports; an ICMP query's identifier stands for both ports.
    pub fn tuple(&self, frame: &[u8]) -> Option<Tuple> {
        let (source, destination) = match self.protocol {
            TCP | UDP => (word(frame, self.transport)?, word(frame, self.transport + 2)?),
            ICMP | ICMPV6 if self.is_query(frame) => {
                let identifier = word(frame, self.transport + 4)?;
                (identifier, identifier)
            }
            _ => return None,
        };
        (!self.fragment).then_some((self.protocol, self.from, source, self.to, destination))
    }

    /// Returns the offset of the source port (or identifier); the destination port of TCP and UDP
    /// is 2 later.
    pub fn port_at(&self) -> usize {
        if matches!(self.protocol, ICMP | ICMPV6) { self.transport + 4 } else { self.transport }
    }

    /// Returns the offset of the transport's checksum.
    pub fn sum_at(&self) -> Option<usize> {
        match self.protocol {
            TCP => Some(self.transport + 16),
            UDP => Some(self.transport + 6),
            ICMP | ICMPV6 => Some(self.transport + 2),
            _ => None,
        }
    }

    fn is_query(&self, frame: &[u8]) -> bool {
        let kinds: [u8; 2] = if self.protocol == ICMP { [0, 8] } else { [128, 129] };
        frame.get(self.transport).is_some_and(|kind| kinds.contains(kind))
    }
}

/// Reads a big-endian word of 16 bits.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
