//! A prefix of addresses, as a value.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

use super::Address;
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::config::FromColumns;
use crate::plain::{Describe, Plain};

/// Addresses with the same first bits: `10.0.0.0/8`, `2001:db8::/32`.
///
/// Its text is `ADDRESS/LENGTH`, or an address alone for the prefix of one address. Bits behind its
/// length are refused: `10.1.2.3/8` is a slip of somebody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: Address,
    length: u8,
}

/// What is wrong with the text of a [`Prefix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// Neither an IPv4 nor an IPv6 address stands before the slash.
    Address,
    /// The length is not a number, or longer than the address.
    Length,
    /// Bits behind the length are set; the prefix without them.
    HostBits(Prefix),
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("not an address: write `10.0.0.0/8` or `2001:db8::/32`"),
            Self::Length => f.write_str("the length of a prefix is 0 to 32, or 0 to 128 for IPv6"),
            Self::HostBits(meant) => write!(f, "bits behind the length are set: is it `{meant}`?"),
        }
    }
}

impl core::error::Error for PrefixError {}

impl Prefix {
    /// All IPv4 addresses.
    pub const ALL_V4: Self = Self { address: Address::v4([0; 4]), length: 0 };

    /// The prefix of the addresses that begin with the first `length` bits of this one. `None` if
    /// the address has fewer bits: 32 or 128.
    pub const fn new(address: Address, length: u8) -> Option<Self> {
        let whole = Self { address, length };
        if length > whole.width() {
            return None;
        }
        let masked = address.bits() & whole.mask();
        Some(Self { address: Address::v6(masked.to_be_bytes()), length })
    }

    /// Its first address.
    #[inline]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Number of its bits, at most 32 for IPv4 and 128 for IPv6.
    #[inline]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// Whether this address begins with it. An IPv4 address never begins with an IPv6 prefix.
    #[inline]
    pub const fn contains(&self, address: Address) -> bool {
        self.address.is_v4() == address.is_v4()
            && (address.bits() ^ self.address.bits()) & self.mask() == 0
    }

    /// The bits of its address's family.
    const fn width(&self) -> u8 {
        if self.address.is_v4() { 32 } else { 128 }
    }

    /// The mask of its bits in [`Address::bits`], where an IPv4 address is behind 96 others.
    pub(super) const fn mask(&self) -> u128 {
        match u128::MAX.checked_shl((self.width() - self.length) as u32) {
            Some(mask) => mask,
            None => 0,
        }
    }
}

/// The place of a row of a [`Prefixes`](crate::state::Prefixes).
impl FromColumns for Prefix {
    const COLUMNS: &'static [&'static str] = &["prefix"];

    #[cfg(not(target_os = "none"))]
    fn from_columns(file: &mut dyn config::File) -> Option<Self> {
        config::read(file, "prefix")
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| PrefixError::Address)?;
        let address = Address::from(address);
        let length = match length {
            Some(length) => length.trim().parse().map_err(|_| PrefixError::Length)?,
            None if address.is_v4() => 32,
            None => 128,
        };
        let prefix = Self::new(address, length).ok_or(PrefixError::Length)?;
        if prefix.address == address { Ok(prefix) } else { Err(PrefixError::HostBits(prefix)) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Plain for Prefix {
    const SIZE: usize = 17;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.address.put(out);
        self.length.put(out.get_mut(16..).unwrap_or_default());
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        let address = Address::get(bytes)?;
        let prefix = Self::new(address, u8::get(bytes.get(16..)?)?)?;
        (prefix.address == address).then_some(prefix)
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn text_and_encoding_give_the_same_prefix_back() {
        for text in ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32", "::/0", "2001:db8::/33"] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), text);
            let mut bytes = [0; Prefix::SIZE];
            prefix.put(&mut bytes);
            assert_eq!(Prefix::get(&bytes), Some(prefix));
        }
        assert_eq!("192.0.2.1".parse::<Prefix>(), "192.0.2.1/32".parse());
        assert_eq!("::1".parse::<Prefix>(), "::1/128".parse());
    }

    #[test]
    fn a_slip_is_refused_with_what_was_meant() {
        let error = |text: &str| text.parse::<Prefix>().unwrap_err().to_string();
        assert_eq!(error("10.1.2.3/8"), "bits behind the length are set: is it `10.0.0.0/8`?");
        for text in ["10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0.0/-1"] {
            assert!(error(text).starts_with("the length"), "{text}");
        }
        for text in ["", "/8", "ten/8", "10.0.0/8"] {
            assert!(error(text).starts_with("not an address"), "{text}");
        }
        assert_eq!(Prefix::get(&[0xff; 17]), None);
        let mut host_bits = [0; 17];
        host_bits[15] = 1;
        assert_eq!(Prefix::get(&host_bits), None, "::1/0");
    }

    #[test]
    fn families_are_apart() {
        let (all4, all6): (Prefix, Prefix) =
            ("0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap());
        let (v4, v6) = (Address::v4([10, 1, 2, 3]), Address::v6([0x20; 16]));
        assert_eq!((all4.contains(v4), all4.contains(v6)), (true, false));
        assert_eq!((all6.contains(v4), all6.contains(v6)), (false, true));
        let ten: Prefix = "10.0.0.0/8".parse().unwrap();
        assert_eq!((ten.contains(v4), ten.contains(Address::v4([11, 0, 0, 0]))), (true, false));
    }
}
