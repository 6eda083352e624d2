//! The default flow key.

use core::fmt;

use super::{Address, HeaderKey, Key, protocol};
use crate::bucket::End;
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::config::FromColumns;
use crate::hash::FlowHasher;
use crate::packet::{Carried, Headers};
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;

/// The default flow key: both addresses, both ports, and the transport protocol.
///
/// ICMP queries (echo, timestamp) use their identifier as both ports. An ICMP error belongs to the
/// flow of the packet that it quotes, in the direction in which the error travels.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Default)]
#[repr(C)]
pub struct FiveTuple {
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// Source port; the identifier of an ICMP query.
    pub source_port: u16,
    /// Destination port; the identifier of an ICMP query.
    pub destination_port: u16,
    /// IP protocol number of the transport.
    pub protocol: u8,
}

impl FiveTuple {
    /// The tuple with these [`words`](Key::words).
    #[inline(always)]
    pub(crate) const fn of_words(words: &[u64; 5]) -> Self {
        let [source_high, source_low, destination_high, destination_low, last] = *words;
        Self {
            source: Address { high: source_high, low: source_low },
            destination: Address { high: destination_high, low: destination_low },
            source_port: (last >> 16) as u16,
            destination_port: last as u16,
            protocol: (last >> 32) as u8,
        }
    }

    /// The last of the [`words`](Key::words): the protocol in the upper half, both ports in the
    /// lower half, the source's first.
    #[inline(always)]
    const fn last(&self) -> u64 {
        let ports = (self.source_port as u64) << 16 | self.destination_port as u64;
        (self.protocol as u64) << 32 | ports
    }

    /// Whether the ports are real ports. ICMP queries store their identifier there, which names no
    /// service: rules about ports don't apply to it.
    #[inline]
    pub const fn has_ports(&self) -> bool {
        !matches!(self.protocol, protocol::ICMP | protocol::ICMPV6)
    }

    /// The flow of the opposite direction.
    #[inline]
    #[must_use]
    pub const fn reversed(&self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }
}

impl PartialEq for FiveTuple {
    /// Compares number by number, most distinctive first. A derived comparison loads both ports as
    /// one vector, which stalls on store forwarding when they were just written.
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let (this, that) = (self.last(), other.last());
        self.source.low == other.source.low
            && this as u32 == that as u32
            && self.destination.low == other.destination.low
            && this >> 32 == that >> 32
            && self.source.high == other.source.high
            && self.destination.high == other.destination.high
    }
}

impl core::hash::Hash for FiveTuple {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, address: Address, port: u16| {
            if address.is_v4() {
                write!(f, "{address}:{port}")
            } else {
                write!(f, "[{address}]:{port}")
            }
        };
        match self.protocol {
            protocol::ICMP => f.write_str("icmp ")?,
            protocol::TCP => f.write_str("tcp ")?,
            protocol::UDP => f.write_str("udp ")?,
            protocol::ICMPV6 => f.write_str("icmp6 ")?,
            protocol::SCTP => f.write_str("sctp ")?,
            other => write!(f, "ip-{other} ")?,
        }
        end(f, self.source, self.source_port)?;
        f.write_str(" > ")?;
        end(f, self.destination, self.destination_port)
    }
}

impl fmt::Debug for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromColumns for FiveTuple {
    const COLUMNS: &'static [&'static str] =
        &["source", "destination", "source_port", "destination_port", "protocol"];

    #[cfg(not(target_os = "none"))]
    fn from_columns(file: &mut dyn config::File) -> Option<Self> {
        let source = config::read(file, "source");
        let destination = config::read(file, "destination");
        let source_port = config::read(file, "source_port");
        let destination_port = config::read(file, "destination_port");
        let protocol = config::read(file, "protocol");
        Some(Self {
            source: source?,
            destination: destination?,
            source_port: source_port?,
            destination_port: destination_port?,
            protocol: protocol?,
        })
    }
}

impl Plain for FiveTuple {
    const SIZE: usize = 37;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.source.put(&mut out[..16]);
        self.destination.put(&mut out[16..32]);
        self.source_port.put(&mut out[32..34]);
        self.destination_port.put(&mut out[34..36]);
        self.protocol.put(&mut out[36..37]);
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 37] = bytes.first_chunk()?;
        Some(Self {
            source: Address::get(&bytes[..16])?,
            destination: Address::get(&bytes[16..32])?,
            source_port: u16::get(&bytes[32..34])?,
            destination_port: u16::get(&bytes[34..36])?,
            protocol: bytes[36],
        })
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

/// A [`FiveTuple`] in 37 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed)]
pub struct PackedFiveTuple {
    source: (u64, u64),
    destination: (u64, u64),
    /// The source port is in the upper half.
    ports: u32,
    protocol: u8,
}

impl Key for FiveTuple {
    type Packed = PackedFiveTuple;

    #[inline(always)]
    fn pack(&self) -> PackedFiveTuple {
        PackedFiveTuple {
            source: (self.source.high, self.source.low),
            destination: (self.destination.high, self.destination.low),
            ports: self.last() as u32,
            protocol: self.protocol,
        }
    }

    #[inline(always)]
    fn unpack(packed: &PackedFiveTuple) -> Self {
        let address = |(high, low)| Address { high, low };
        let ports = packed.ports;
        Self {
            source: address(packed.source),
            destination: address(packed.destination),
            source_port: (ports >> 16) as u16,
            destination_port: ports as u16,
            protocol: packed.protocol,
        }
    }

    #[inline]
    fn reply(&self) -> Option<Self> {
        Some(self.reversed())
    }

    #[inline(always)]
    fn group_address(&self, second: bool) -> Option<Address> {
        Some(if second { self.destination } else { self.source })
    }

    #[inline(always)]
    fn port_at(&self, end: End) -> Option<u16> {
        Some(self.endpoint(end).port)
    }

    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "without a branch: which of two ends is the lesser can't be foretold"
    )]
    fn undirected(&self) -> [u64; 5] {
        let (source, destination) = (self.source.bits(), self.destination.bits());
        let later = (source > destination)
            | ((source == destination) & (self.source_port > self.destination_port));
        let turned = 0_u64.wrapping_sub(u64::from(later));
        let (own, reply) = (self.words(), self.reversed().words());
        core::array::from_fn(|word| own[word] ^ ((own[word] ^ reply[word]) & turned))
    }

    #[inline]
    fn words(&self) -> [u64; 5] {
        let Self { source, destination, .. } = self;
        [source.high, source.low, destination.high, destination.low, self.last()]
    }

    #[inline(always)]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        Carried::from(*self).hash(hasher, undirected)
    }
}

impl HeaderKey for FiveTuple {
    #[inline(always)]
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        packet.flow()
    }

    #[inline(always)]
    fn hash_of(packet: &Headers<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        packet.flow_hash(hasher, undirected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FiveTuple = FiveTuple {
        source: Address::v4([10, 0, 0, 1]),
        destination: Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        source_port: 1234,
        destination_port: 80,
        protocol: protocol::TCP,
    };

    #[test]
    fn round_trips_through_bytes() {
        let mut bytes = [0; FiveTuple::SIZE];
        FLOW.put(&mut bytes);
        assert_eq!(FiveTuple::get(&bytes), Some(FLOW));
        assert_eq!(FiveTuple::get(&bytes[1..]), None);
    }

    #[test]
    fn reads_as_people_write_it() {
        extern crate std;
        assert_eq!(std::format!("{FLOW}"), "tcp 10.0.0.1:1234 > [2001:db8::1]:80");
    }

    #[test]
    fn directions_differ_and_undo_each_other() {
        assert_ne!(FLOW.words(), FLOW.reversed().words());
        assert_eq!(FLOW.reversed().reversed(), FLOW);
    }
}
