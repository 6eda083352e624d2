//! Flow information: addresses, protocol, the five-tuple.

use super::Headers;
use super::fast_path::FAST_TTL;
use super::layers::{ETHERTYPE_ARP, Fault, Header, Layers, Part, Version, chunk, number};
use super::parsed::Parsed;
use super::transport::IGMP;
use crate::hash::FlowHasher;
use crate::key::{Address, FiveTuple};
use crate::verdict::Reason;
use crate::verdict::reasons::NotIp;

/// One end of a flow.
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

impl Headers<'_> {
    /// The packet's flow.
    ///
    /// An ICMP query has its identifier as both ports. An ICMP error belongs to the flow of the
    /// packet that it quotes, in the direction in which the error travels. Its source here is the
    /// destination of the quoted packet, not the error's sender.
    ///
    /// Refused with the reason `not-ip`, `fragment` (for any fragment: only the first has the
    /// ports), `no-flow` (neither ports nor an identifier), or the fault of the headers:
    /// `truncated`, `malformed`, `bad-ip-length`, `bad-ip-checksum`, `too-many-headers`,
    /// `bad-transport-length`.
    #[inline(always)]
    pub fn flow(&self) -> Result<FiveTuple, Reason> {
        let words = match &self.parsed {
            Parsed::Fast(fast) => fast.words(),
            Parsed::Other(layers, flow) if layers.flow_fault == Fault::None => {
                core::hint::cold_path();
                flow.words()
            }
            other => return Err(other.no_flow()),
        };
        Ok(FiveTuple::of_words(&words))
    }

    /// The packet's flow: another name for [`Self::flow`].
    #[inline(always)]
    pub fn five_tuple(&self) -> Result<FiveTuple, Reason> {
        self.flow()
    }

    /// The hash of the packet's flow, if it has one.
    #[inline(always)]
    pub(crate) fn flow_hash(&self, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        if let Parsed::Fast(fast) = &self.parsed {
            return Some(fast.hash(hasher, undirected));
        }
        core::hint::cold_path();
        let Parsed::Other(layers, flow) = &self.parsed else { return None };
        if layers.flow_fault != Fault::None {
            return None;
        }
        // Saves code size in the NIC's program.
        let in_place = layers.version == Version::V6 && !cfg!(target_os = "none");
        Some(if in_place {
            flow.hash_words(hasher, undirected)
        } else {
            flow.hash(hasher, undirected)
        })
    }

    /// The packet's source IP address.
    #[inline]
    pub fn source(&self) -> Result<Address, Reason> {
        self.address(End::Source)
    }

    /// The packet's destination IP address.
    #[inline]
    pub fn destination(&self) -> Result<Address, Reason> {
        self.address(End::Destination)
    }

    /// The address of the inside host: the source of a packet from inside, the destination of one
    /// from outside. For an ICMP error it is that of the error's flow, as in [`Self::flow`],
    /// regardless of the router that sent it. So it is the same for all packets of a flow.
    #[inline]
    pub fn inside_address(&self) -> Result<Address, Reason> {
        if self.is_icmp_error()
            && let Ok(flow) = self.flow()
        {
            return Ok(if self.from_inside() { flow.source } else { flow.destination });
        }
        if self.from_inside() { self.source() } else { self.destination() }
    }

    /// The IP protocol number of the transport, behind IPv6's extension headers.
    #[inline]
    pub fn protocol(&self) -> Result<u8, Reason> {
        match &self.parsed {
            Parsed::Fast(fast) => Ok(fast.protocol()),
            Parsed::Other(layers, _) => {
                layers.network_fault.check()?;
                Ok(layers.outer.protocol)
            }
            Parsed::Unparsed => Err(NotIp),
        }
    }

    /// Time to live of IPv4, hop limit of IPv6.
    #[inline]
    pub fn ttl(&self) -> Result<u8, Reason> {
        self.parsed.network_fault().check()?;
        let [ttl] = self.read(self.ttl_at());
        Ok(ttl)
    }

    /// Offset of the time to live.
    #[inline]
    pub(super) fn ttl_at(&self) -> usize {
        match &self.parsed {
            Parsed::Other(layers, _) => {
                let place = if layers.version == Version::V6 { 7 } else { 8 };
                usize::from(layers.outer.ip) + place
            }
            _ => FAST_TTL,
        }
    }

    /// Whether it is a fragment of an IP packet, including the first.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        matches!(&self.parsed, Parsed::Other(layers, _) if layers.outer.part != Part::Whole)
    }

    /// Whether it is an ICMP error, a message that quotes the packet at fault.
    #[inline]
    pub const fn is_icmp_error(&self) -> bool {
        matches!(&self.parsed, Parsed::Other(layers, _) if layers.icmp_error)
    }

    /// Whether it keeps the link itself running, so that a bump in the wire must let it through:
    /// ARP, IPv6 neighbour and router discovery (types 133 to 137), IPv6 multicast listener
    /// messages (130 to 132, 143), and IGMP, the IPv4 equivalent for listeners.
    ///
    /// IP messages count only if no router can have forwarded them or will forward them: discovery
    /// with hop limit 255 (RFC 4861), listener messages with hop limit 1 (RFC 3810, RFC 3376),
    /// which go to groups.
    #[inline]
    pub fn is_link_local_control(&self) -> bool {
        // TCP or UDP over IPv4.
        if self.takes_fast_path() {
            return false;
        }
        core::hint::cold_path();
        let Parsed::Other(layers, _) = &self.parsed else { return false };
        let outer = &layers.outer;
        if layers.ethertype == ETHERTYPE_ARP {
            return true;
        }
        if layers.network_fault != Fault::None || outer.part != Part::Whole {
            return false;
        }
        let [hops] = self.read(self.ttl_at());
        if layers.version == Version::V4 {
            let group = layers.address(self.frame, outer, End::Destination);
            return outer.protocol == IGMP && hops == 1 && group.is_group();
        }
        let Some((Version::V6, kind)) = self.icmp_kind() else { return false };
        matches!((kind, hops), (133..=137, 255) | (130..=132 | 143, 1))
    }

    /// The address at one end of the packet's outer header.
    #[inline]
    fn address(&self, end: End) -> Result<Address, Reason> {
        match &self.parsed {
            Parsed::Fast(fast) => Ok(fast.address(end)),
            Parsed::Other(layers, _) => {
                layers.network_fault.check()?;
                Ok(layers.address(self.frame, &layers.outer, end))
            }
            Parsed::Unparsed => Err(NotIp),
        }
    }
}

impl Layers {
    /// The flow, for the packet to keep. Unspecified if there is none.
    #[inline]
    pub(super) fn flow(&self, frame: &[u8]) -> FiveTuple {
        if self.inner.ip == 0 {
            self.tuple(frame, &self.outer)
        } else {
            self.tuple(frame, &self.inner).reversed()
        }
    }

    /// Whether one identifier stands for both ports of the flow.
    #[inline]
    pub(super) const fn shares_ports(&self) -> bool {
        self.outer.identifier || self.inner.identifier
    }

    /// The five-tuple in `header`.
    #[inline]
    fn tuple(&self, frame: &[u8], header: &Header) -> FiveTuple {
        let port = |at: usize| number(frame, at).unwrap_or(0);
        let at = usize::from(header.ports);
        FiveTuple {
            source: self.address(frame, header, End::Source),
            destination: self.address(frame, header, End::Destination),
            source_port: port(at),
            destination_port: port(if header.identifier { at } else { at + 2 }),
            protocol: header.protocol,
        }
    }

    /// The address at one end of `header`; zeros if it lies outside the frame.
    #[inline]
    pub(super) fn address(&self, frame: &[u8], header: &Header, end: End) -> Address {
        let at = self.version.address_at(header, end);
        if self.version == Version::V6 {
            Address::v6(chunk(frame, at).copied().unwrap_or_default())
        } else {
            Address::v4(chunk(frame, at).copied().unwrap_or_default())
        }
    }
}

impl Version {
    /// Offset of the address at one end of `header`.
    #[inline]
    pub(super) const fn address_at(self, header: &Header, end: End) -> usize {
        let place = match (self, end) {
            (Self::V6, End::Source) => 8,
            (Self::V6, End::Destination) => 24,
            (_, End::Source) => 12,
            (_, End::Destination) => 16,
        };
        header.ip as usize + place
    }
}
