//! Which port a captured frame came in by: a capture does not say.
//!
//! A pcapng file with several interfaces does: its first is the inside port, every other the
//! outside one. Otherwise the source address decides: what comes from an inside prefix came in at
//! the inside port.

use std::net::IpAddr;
use std::str::FromStr;

use cora_core::key::Address;
use cora_core::packet::{Meta, Packet, Port};

/// The prefixes that are inside unless others are given: private addresses (RFC 1918, RFC 4193),
/// and link-local ones.
pub const DEFAULT_INSIDE: &str =
    "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10";

/// Prefixes that are inside, as `10.0.0.0/8,fd00::/8` says them; private ones by
/// [default](Inside::default).
#[derive(Clone, Debug)]
pub struct Inside(Vec<Prefix>);

/// The first bits of an address.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    bits: u128,
    mask: u128,
}

impl Inside {
    /// The port that a frame of this interface came in by.
    pub(crate) fn port(&self, frame: &mut [u8], interface: u32, interfaces: u32) -> Port {
        if interfaces > 1 {
            return if interface == 0 { Port::INSIDE } else { Port::OUTSIDE };
        }
        let source = Packet::new(frame, Meta::default()).source();
        match source {
            Ok(source) if !self.holds(source) => Port::OUTSIDE,
            _ => Port::INSIDE,
        }
    }

    fn holds(&self, address: Address) -> bool {
        let bits = address.bits();
        self.0.iter().any(|prefix| bits & prefix.mask == prefix.bits)
    }
}

impl Default for Inside {
    fn default() -> Self {
        // The constant parses, as the tests show; nothing inside is what would be left.
        DEFAULT_INSIDE.parse().unwrap_or(Self(Vec::new()))
    }
}

impl FromStr for Inside {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is not a prefix: write it like 10.0.0.0/8 or fd00::/8");
        let (address, length) = text.trim().split_once('/').ok_or_else(wanted)?;
        let address: IpAddr = address.parse().map_err(|_| wanted())?;
        let length: u32 = length.parse().map_err(|_| wanted())?;
        // IPv4 addresses are held as IPv4-mapped IPv6 ones, 96 bits further in.
        let (address, length, most) = match address {
            IpAddr::V4(address) => (Address::v4(address.octets()), length + 96, 128),
            IpAddr::V6(address) => (Address::v6(address.octets()), length, 128),
        };
        if length > most {
            return Err(wanted());
        }
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        Ok(Self { bits: address.bits() & mask, mask })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_is_inside() {
        let inside: Inside = DEFAULT_INSIDE.parse().unwrap();
        assert!(inside.holds(Address::v4([10, 200, 0, 1])));
        assert!(inside.holds(Address::v4([172, 31, 255, 1])));
        assert!(!inside.holds(Address::v4([172, 32, 0, 1])));
        assert!(inside.holds(Address::v6([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])));
        assert!(!inside.holds(Address::v6([0x20; 16])));
        assert!("0.0.0.0/0".parse::<Inside>().unwrap().holds(Address::v4([9, 9, 9, 9])));
    }

    #[test]
    fn says_what_a_prefix_looks_like() {
        for wrong in ["10.0.0.0", "10.0.0/8", "10.0.0.0/33", "fd00::/129", "", "10.0.0.0/x"] {
            assert!(wrong.parse::<Inside>().unwrap_err().contains("like 10.0.0.0/8"), "{wrong}");
        }
    }
}
