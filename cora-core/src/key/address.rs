//! An IP address of either version.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};

use super::Prefix;
use crate::plain::{Describe, Plain};

/// An IPv4 or IPv6 address. IPv4 is stored as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2).
///
/// Two words instead of sixteen bytes, so that it fits registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address {
    /// The first eight octets, the first one most significant.
    pub(super) high: u64,
    pub(super) low: u64,
}

/// The prefix of an IPv4-mapped address behind its zeros: the upper half of `low`.
const V4_MAPPED: u64 = 0x0000_ffff;

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Self::v6(address.octets()),
        }
    }
}

impl From<Ipv4Addr> for Address {
    #[inline]
    fn from(address: Ipv4Addr) -> Self {
        Self::v4(address.octets())
    }
}

impl Address {
    /// An IPv4 address.
    #[inline]
    pub const fn v4(octets: [u8; 4]) -> Self {
        Self { high: 0, low: V4_MAPPED << 32 | u32::from_be_bytes(octets) as u64 }
    }

    /// The first eight octets and the last eight, the first one most significant.
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

    /// Parses a prefix, `ADDRESS/LENGTH`, into its [`bits`](Self::bits) and its mask. An IPv4
    /// prefix becomes a prefix of IPv4-mapped addresses.
    ///
    /// # Errors
    /// The fault, as text.
    pub fn prefix(text: &str) -> Result<(u128, u128), &'static str> {
        let (address, length) = text.split_once('/').ok_or("a prefix is `ADDRESS/LENGTH`")?;
        let address: IpAddr = address.parse().map_err(|_| "not an IP address")?;
        let length: u32 = length.parse().map_err(|_| "the length of a prefix is a number")?;
        let prefix = u8::try_from(length).ok().and_then(|it| Prefix::new(address.into(), it));
        let prefix = prefix.ok_or("a prefix is longer than its address")?;
        Ok((prefix.address().bits(), prefix.mask()))
    }

    /// The octets as one number, the first one most significant.
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

    /// Whether it addresses a group: multicast, and for IPv4 also the link's broadcast and the
    /// reserved addresses before it.
    #[inline]
    pub const fn is_group(&self) -> bool {
        match self.as_v4() {
            Some([first, ..]) => first >= 224,
            None => self.high >> 56 == 0xff,
        }
    }

    /// Whether it is link-local: 169.254.0.0/16 (RFC 3927), fe80::/10 (RFC 4291, 2.5.6).
    #[inline]
    pub const fn is_link_local(&self) -> bool {
        match self.as_v4() {
            Some([first, second, ..]) => first == 169 && second == 254,
            None => self.high >> 54 == 0xfe80 >> 6,
        }
    }

    /// Whether it is a public host address, according to IANA's registries (RFC 6890). Private (RFC
    /// 1918, RFC 4193), carrier-grade NAT (RFC 6598), benchmark (RFC 2544), protocol
    /// (192.0.0.0/24), link-local, group, loopback and this-network addresses are not. Addresses
    /// for documentation count as public, since they stand for public ones.
    pub const fn is_public(&self) -> bool {
        if self.is_group() || self.is_link_local() {
            return false;
        }
        match self.as_v4() {
            Some([first, second, third, _]) => !matches!(
                (first, second, third),
                (0 | 10 | 127, ..)
                    | (100, 64..=127, _)
                    | (172, 16..=31, _)
                    | (192, 0, 0)
                    | (192, 168, _)
                    | (198, 18 | 19, _)
            ),
            // Global unicast (RFC 4291, 2.4), and IPv4 behind a translator (RFC 6052).
            None => self.high >> 61 == 1 || self.high == 0x0064_ff9b_0000_0000,
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
            Some(octets) => Ipv4Addr::from(octets).fmt(f),
            None => core::net::Ipv6Addr::from(self.octets()).fmt(f),
        }
    }
}

impl core::str::FromStr for Address {
    type Err = core::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<IpAddr>().map(Self::from)
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

/// For IPv4-only entries: an address then takes a quarter of an [`Address`].
impl Plain for Ipv4Addr {
    const SIZE: usize = 4;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.octets().put(out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        <[u8; 4]>::get(bytes).map(Self::from)
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_octets_are_an_address_of_ipv4() {
        let (octets, mut bytes) = ([192, 0, 2, 1], [0; 5]);
        let short = Ipv4Addr::from(octets);
        short.put(&mut bytes);
        assert_eq!(bytes, [192, 0, 2, 1, 0]);
        assert_eq!((Ipv4Addr::get(&bytes), Ipv4Addr::get(&bytes[..3])), (Some(short), None));
        assert_eq!(Address::from(short), Address::v4(octets));
        assert_eq!(Address::from(short).as_v4(), Some(octets));
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
}
