//! What a keyed state is found by, and what decides which packets belong together.

use core::fmt;
use core::net::IpAddr;

use crate::hash::FlowHasher;
use crate::packet::{Carried, Headers};
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;

/// A key that a packet carries.
///
/// Every key has one canonical form of five words, so that owners, hashes and the other side need
/// not know its type.
pub trait Key: Plain + Eq + fmt::Debug {
    /// The key without padding, as entries hold it: what they save decides how many fit one line.
    type Packed: Copy + fmt::Debug + Send + 'static;

    /// Packs the key.
    fn pack(&self) -> Self::Packed;

    /// The key that was packed.
    fn unpack(packed: &Self::Packed) -> Self;

    /// The key of this packet, or why it has none.
    fn of(packet: &Headers<'_>) -> Result<Self, Reason>;

    /// The key that packets of the reply direction carry; the key itself when both directions
    /// share it; `None` when the reply direction's key can't be told from this one.
    fn reply(&self) -> Option<Self>;

    /// The canonical form. Different keys of one type have different words.
    fn words(&self) -> [u64; 5];

    /// Words that a key shares with its [reply](Self::reply) and with no other key: those of the lesser of the two.
    #[inline]
    fn undirected(&self) -> [u64; 5] {
        let own = self.words();
        self.reply().map_or(own, |reply| own.min(reply.words()))
    }

    /// The key's hash: of its [`words`](Self::words), of what is [`undirected`](Self::undirected) if both directions are to have
    /// the same, or of fewer words that tell as much. Equal keys have equal hashes.
    #[inline(always)]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        hasher.hash(&if undirected { self.undirected() } else { self.words() })
    }

    /// That of the packet's key, if it has one: for keys whose packet knows more than they do, as that it is of IPv4.
    #[inline(always)]
    fn hash_of(packet: &Headers<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        Some(Self::of(packet).ok()?.hash(hasher, undirected))
    }
}

/// An IPv4 or IPv6 address; IPv4 is held as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2).
///
/// Two words, not sixteen bytes, so that it lives in registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address {
    /// The first eight octets, the first of them highest.
    high: u64,
    low: u64,
}

/// The first six octets that follow the zeros of an IPv4 address, as the upper half of `low`.
const V4_MAPPED: u64 = 0x0000_ffff;

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::v4(address.octets()),
            IpAddr::V6(address) => Self::v6(address.octets()),
        }
    }
}

impl Address {
    /// An IPv4 address.
    #[inline]
    pub const fn v4(octets: [u8; 4]) -> Self {
        Self { high: 0, low: V4_MAPPED << 32 | u32::from_be_bytes(octets) as u64 }
    }

    /// The first eight octets and the others, the first of them highest.
    #[inline(always)]
    pub(crate) const fn halves(&self) -> [u64; 2] {
        [self.high, self.low]
    }

    /// An IPv6 address.
    #[inline]
    pub const fn v6(octets: [u8; 16]) -> Self {
        let whole = u128::from_be_bytes(octets);
        Self { high: (whole >> 64) as u64, low: whole as u64 }
    }

    /// All sixteen octets.
    #[inline]
    pub const fn octets(&self) -> [u8; 16] {
        self.bits().to_be_bytes()
    }

    /// Reads a prefix, `ADDRESS/LENGTH`: the [`bits`](Self::bits) that it fixes, and the mask that has these. A prefix of IPv4
    /// is one of the IPv6 addresses that stand for IPv4.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn prefix(text: &str) -> Result<(u128, u128), &'static str> {
        let (address, length) = text.split_once('/').ok_or("a prefix is `ADDRESS/LENGTH`")?;
        let address: IpAddr = address.parse().map_err(|_| "not an IP address")?;
        let length: u32 = length.parse().map_err(|_| "the length of a prefix is a number")?;
        let width: u32 = if address.is_ipv4() { 32 } else { 128 };
        let free = width.checked_sub(length).ok_or("a prefix is longer than its address")?;
        let mask = u128::MAX.checked_shl(free).unwrap_or(0);
        Ok((Self::from(address).bits() & mask, mask))
    }

    /// The octets as one number, the first of them highest.
    #[inline]
    pub const fn bits(&self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// The four octets of an IPv4 address; `None` for IPv6.
    #[inline]
    pub const fn as_v4(&self) -> Option<[u8; 4]> {
        if self.high == 0 && self.low >> 32 == V4_MAPPED {
            Some((self.low as u32).to_be_bytes())
        } else {
            None
        }
    }

    /// Whether it is an IPv4 address.
    #[inline]
    pub const fn is_v4(&self) -> bool {
        self.as_v4().is_some()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_v4() {
            Some(octets) => core::net::Ipv4Addr::from(octets).fmt(f),
            None => core::net::Ipv6Addr::from(self.octets()).fmt(f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Plain for Address {
    const SIZE: usize = 16;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        if let Some(place) = out.first_chunk_mut() {
            *place = self.octets();
        }
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self::v6(*bytes.first_chunk()?))
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

/// IP protocol numbers that Cora reads.
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP, whose ports stand where TCP's do.
    pub const SCTP: u8 = 132;
}

/// The default flow key: who talks to whom, with which transport, at which ports.
///
/// ICMP queries (echo, timestamp) carry their identifier as both ports. An ICMP error belongs to
/// the flow of the packet it complains about, in the direction in which the error travels.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Default)]
#[repr(C)]
pub struct FiveTuple {
    /// Where it comes from.
    pub source: Address,
    /// Where it goes.
    pub destination: Address,
    /// Port it comes from; the identifier of an ICMP query.
    pub source_port: u16,
    /// Port it goes to; the identifier of an ICMP query.
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

    /// The last of the [`words`](Key::words): the protocol in the upper half, the ports in the lower, the source's first.
    #[inline(always)]
    const fn last(&self) -> u64 {
        let ports = (self.source_port as u64) << 16 | self.destination_port as u64;
        (self.protocol as u64) << 32 | ports
    }

    /// The same flow, seen in the other direction.
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
    /// Number by number, those first that tell most flows apart. Field by field, the compiler compares both ports as one
    /// vector, which the processor has to wait for when they were just written.
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
    /// That of the source in the upper half.
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

    #[inline(always)]
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        packet.flow()
    }

    #[inline]
    fn reply(&self) -> Option<Self> {
        Some(self.reversed())
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

    #[inline(always)]
    fn hash_of(packet: &Headers<'_>, hasher: &FlowHasher, undirected: bool) -> Option<u64> {
        packet.flow_hash(hasher, undirected)
    }
}

macro_rules! address_key {
    ($(#[$doc:meta])* $name:ident, $reads:ident, $reply:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub Address);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl Plain for $name {
            const SIZE: usize = Address::SIZE;
            #[inline]
            fn put(&self, out: &mut [u8]) {
                self.0.put(out);
            }
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                Address::get(bytes).map(Self)
            }
            fn describe(&self, to: &mut dyn Describe) {
                to.text(&self.0);
            }
        }

        impl Key for $name {
            type Packed = Self;
            #[inline]
            fn pack(&self) -> Self {
                *self
            }
            #[inline]
            fn unpack(packed: &Self) -> Self {
                *packed
            }
            #[inline]
            fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
                packet.$reads().map(Self)
            }
            #[inline]
            fn reply(&self) -> Option<Self> {
                let reply: fn(&Self) -> Option<Self> = $reply;
                reply(self)
            }
            #[inline]
            fn words(&self) -> [u64; 5] {
                [self.0.high, self.0.low, 0, 0, 0]
            }
            #[inline]
            fn hash(&self, hasher: &FlowHasher, _: bool) -> u64 {
                hasher.hash_pair(self.0.halves())
            }
        }
    };
}

address_key! {
    /// The address a packet comes from.
    SourceAddress, source, |_| None
}

address_key! {
    /// The address a packet goes to.
    DestinationAddress, destination, |_| None
}

address_key! {
    /// The address of the inside host: both directions of a flow carry the same one.
    InsideAddress, inside_address, |key| Some(*key)
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
    fn prefixes_fix_their_bits_and_no_others() {
        let v4 = Address::v4([10, 1, 0, 0]).bits();
        assert_eq!(Address::prefix("10.1.2.3/16"), Ok((v4, u128::MAX << 16)));
        let all_of_v4 = Address::v4([0; 4]).bits();
        assert_eq!(Address::prefix("10.1.2.3/0"), Ok((all_of_v4, u128::MAX << 32)));
        assert_eq!(Address::prefix("::/0"), Ok((0, 0)));
        assert_eq!(Address::prefix("2001:db8::1/128").map(|(_, mask)| mask), Ok(u128::MAX));
        for wrong in
            ["10.0.0.0", "10.0.0/8", "10.0.0.0/x", "10.0.0.0/33", "::/129", "::/4294967295"]
        {
            assert!(Address::prefix(wrong).is_err(), "{wrong}");
        }
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
