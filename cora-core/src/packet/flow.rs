//! Who talks to whom: addresses, protocol, the five-tuple.

use super::Packet;
use super::layers::{ETHERTYPE_ARP, Header, PLAIN_UDP, Part, Version};
use crate::key::{Address, FiveTuple, protocol};
use crate::verdict::Reason;

/// One end of a packet's way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Destination,
}

impl End {
    /// The other end.
    #[inline]
    pub(super) const fn opposite(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }
}

impl Packet<'_> {
    /// The packet's flow.
    ///
    /// A query of ICMP has its identifier as both ports. An ICMP error belongs to the flow of the
    /// packet it quotes, in the direction in which the error travels: its source here is where
    /// the quoted packet was going, whoever sent the error.
    ///
    /// Refused with the reason `not-ip`, `truncated`, `malformed`, `fragment` (of any fragment:
    /// the first alone knows the ports) or `no-flow` (neither ports nor an identifier).
    #[inline(always)]
    pub fn flow(&self) -> Result<FiveTuple, Reason> {
        if let Some(flow) = self.plain_flow() {
            return Ok(flow);
        }
        self.parsed_flow()
    }

    /// The flow of any other packet.
    #[inline(never)]
    fn parsed_flow(&self) -> Result<FiveTuple, Reason> {
        self.layers.flow_fault.check()?;
        let quotes = self.layers.inner.ip != 0;
        let header = if quotes { &self.layers.inner } else { &self.layers.outer };
        let flow = self.tuple(header);
        Ok(if quotes { flow.reversed() } else { flow })
    }

    /// The packet's flow: another name for [`Self::flow`].
    #[inline(always)]
    pub fn five_tuple(&self) -> Result<FiveTuple, Reason> {
        self.flow()
    }

    /// The IP address that the packet comes from.
    #[inline]
    pub fn source(&self) -> Result<Address, Reason> {
        self.layers.network_fault.check()?;
        Ok(self.address(&self.layers.outer, End::Source))
    }

    /// The IP address that the packet goes to.
    #[inline]
    pub fn destination(&self) -> Result<Address, Reason> {
        self.layers.network_fault.check()?;
        Ok(self.address(&self.layers.outer, End::Destination))
    }

    /// The address of the inside host: where a packet from inside comes from, and where one from
    /// outside goes to.
    #[inline]
    pub fn inside_address(&self) -> Result<Address, Reason> {
        if self.from_inside() { self.source() } else { self.destination() }
    }

    /// The IP protocol number of the transport, behind IPv6's extension headers.
    #[inline]
    pub fn protocol(&self) -> Result<u8, Reason> {
        self.layers.network_fault.check()?;
        Ok(self.layers.outer.protocol)
    }

    /// Time to live of IPv4, hop limit of IPv6.
    #[inline]
    pub fn ttl(&self) -> Result<u8, Reason> {
        self.layers.network_fault.check()?;
        let [ttl] = self.read(self.ttl_at());
        Ok(ttl)
    }

    /// Where the time to live stands.
    #[inline]
    pub(super) fn ttl_at(&self) -> usize {
        let place = if self.layers.version == Version::V6 { 7 } else { 8 };
        usize::from(self.layers.outer.ip) + place
    }

    /// Whether it is a fragment of an IP packet, the first included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.layers.outer.part != Part::Whole
    }

    /// Whether it is an ICMP error: a message that quotes the packet it is about.
    #[inline]
    pub const fn is_icmp_error(&self) -> bool {
        self.layers.icmp_error
    }

    /// Whether it keeps the link itself going, so that a bump in the wire must let it through:
    /// ARP, and of IPv6 neighbour and router discovery (types 133 to 137) and multicast listener
    /// messages (130 to 132, 143).
    ///
    /// Of IPv6 only what can't have come through a router: hop limit 255 for discovery
    /// (RFC 4861), 1 for listeners (RFC 3810).
    #[inline]
    pub fn is_link_local_control(&self) -> bool {
        let outer = &self.layers.outer;
        if self.layers.ethertype == ETHERTYPE_ARP {
            return true;
        }
        if self.layers.version != Version::V6
            || outer.protocol != protocol::ICMPV6
            || outer.part != Part::Whole
            || outer.sum == 0
        {
            return false;
        }
        let [kind] = self.read(usize::from(outer.transport));
        let [hops] = self.read(self.ttl_at());
        matches!((kind, hops), (133..=137, 255) | (130..=132 | 143, 1))
    }

    /// The five-tuple of a packet whose headers stand where they mostly do: read without a check each.
    #[inline(always)]
    fn plain_flow(&self) -> Option<FiveTuple> {
        let head: &[u8; PLAIN_UDP] = self.frame.first_chunk().filter(|_| self.layers.is_plain)?;
        let four = |at: usize| Address::v4([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let two = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        Some(FiveTuple {
            source: four(26),
            destination: four(30),
            source_port: two(34),
            destination_port: two(36),
            protocol: head[23],
        })
    }

    /// The five-tuple as it stands in `header`, which has ports.
    #[inline]
    fn tuple(&self, header: &Header) -> FiveTuple {
        let at = usize::from(header.ports);
        let source_port = self.read_u16(at);
        FiveTuple {
            source: self.address(header, End::Source),
            destination: self.address(header, End::Destination),
            source_port,
            destination_port: if header.identifier { source_port } else { self.read_u16(at + 2) },
            protocol: header.protocol,
        }
    }

    /// The address at one end of `header`.
    #[inline]
    fn address(&self, header: &Header, end: End) -> Address {
        let at = self.address_at(header, end);
        if self.layers.version == Version::V6 {
            Address::v6(self.read(at))
        } else {
            Address::v4(self.read(at))
        }
    }

    /// Where that address stands.
    #[inline]
    pub(super) fn address_at(&self, header: &Header, end: End) -> usize {
        let place = match (self.layers.version, end) {
            (Version::V6, End::Source) => 8,
            (Version::V6, End::Destination) => 24,
            (_, End::Source) => 12,
            (_, End::Destination) => 16,
        };
        usize::from(header.ip) + place
    }
}
