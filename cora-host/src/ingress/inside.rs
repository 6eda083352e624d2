//! The ingress port of a captured frame.
//!
//! 1. Explicit prefixes always decide: a frame from one of them came in at the inside port.
//! 2. Otherwise, if a pcapng section describes several interfaces before its first packet, its
//!    interfaces are the ports of the same numbers: the first is the inside port, the second the
//!    outside one. Interfaces beyond the [last port](Port::LAST) are the outside port, too.
//! 3. In any other capture the source address decides, by the default prefixes.
//!
//! An interface described after the first packet does not change which rule applies, so it is the
//! same for all packets of a section.

use std::net::IpAddr;
use std::str::FromStr;

use cora_core::key::Address;
use cora_core::packet::{Meta, Packet, Port};

/// The default inside prefixes: private addresses (RFC 1918, RFC 4193), and link-local ones.
pub const DEFAULT_INSIDE: &str =
    "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10";

/// Inside prefixes, in the form `10.0.0.0/8,fd00::/8`; private ones by [default](Inside::default).
#[derive(Clone, Debug)]
pub struct Inside {
    prefixes: Vec<Prefix>,
    /// Whether they were given explicitly.
    given: bool,
}

/// A prefix of an address.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    bits: u128,
    mask: u128,
}

impl Inside {
    /// The ingress port of a frame from this interface, in a section with `interfaces` of them at
    /// its first packet.
    pub(crate) fn port(&self, frame: &mut [u8], interface: u32, interfaces: u32) -> Port {
        if interfaces > 1 && !self.given {
            let port = u8::try_from(interface).map(Port).ok();
            return port.filter(|port| *port <= Port::LAST).unwrap_or(Port::OUTSIDE);
        }
        let source = Packet::new(frame, Meta::default()).source();
        match source {
            Ok(source) if !self.holds(source) => Port::OUTSIDE,
            _ => Port::INSIDE,
        }
    }

    fn holds(&self, address: Address) -> bool {
        let bits = address.bits();
        self.prefixes.iter().any(|prefix| bits & prefix.mask == prefix.bits)
    }
}

impl Default for Inside {
    fn default() -> Self {
        // The constant parses, as a test shows; otherwise nothing would be inside.
        let prefixes = prefixes(DEFAULT_INSIDE).unwrap_or_default();
        Self { prefixes, given: false }
    }
}

impl FromStr for Inside {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        prefixes(text).map(|prefixes| Self { prefixes, given: true })
    }
}

fn prefixes(text: &str) -> Result<Vec<Prefix>, String> {
    text.split(',').map(str::parse).collect()
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is not a prefix: write it like 10.0.0.0/8 or fd00::/8");
        let (address, length) = text.trim().split_once('/').ok_or_else(wanted)?;
        let address: IpAddr = address.parse().map_err(|_| wanted())?;
        let length: u32 = length.parse().map_err(|_| wanted())?;
        // IPv4 addresses are stored as IPv4-mapped IPv6, behind 96 bits.
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

    /// An IPv4 frame from this address.
    fn from(source: [u8; 4]) -> Vec<u8> {
        let mut frame = vec![0; 34];
        frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        frame[17] = 20;
        frame[26..30].copy_from_slice(&source);
        let sum = cora_core::packet::checksum::internet(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
        frame
    }

    #[test]
    fn interfaces_decide_where_there_are_several_and_nobody_gave_prefixes() {
        let (mut private, mut public) = (from([10, 0, 0, 1]), from([198, 51, 100, 1]));
        let default = Inside::default();
        assert_eq!(default.port(&mut private, 0, 1), Port::INSIDE);
        assert_eq!(default.port(&mut public, 0, 1), Port::OUTSIDE);
        // A further interface that was described too late is ignored.
        assert_eq!(default.port(&mut private, 1, 1), Port::INSIDE);
        assert_eq!(default.port(&mut public, 0, 2), Port::INSIDE);
        assert_eq!(default.port(&mut private, 1, 2), Port::OUTSIDE);
        assert_eq!(default.port(&mut private, 2, 3), Port(2));
        assert_eq!(default.port(&mut private, 15, 2), Port(15), "described late");
        for beyond in [16, 255, 256, u32::MAX] {
            assert_eq!(default.port(&mut private, beyond, 2), Port::OUTSIDE);
        }
        for given in [DEFAULT_INSIDE, "10.0.0.0/8"] {
            let given: Inside = given.parse().unwrap();
            assert_eq!(given.port(&mut private, 1, 2), Port::INSIDE);
            assert_eq!(given.port(&mut public, 0, 2), Port::OUTSIDE);
        }
    }

    #[test]
    fn says_what_a_prefix_looks_like() {
        for wrong in ["10.0.0.0", "10.0.0/8", "10.0.0.0/33", "fd00::/129", "", "10.0.0.0/x"] {
            assert!(wrong.parse::<Inside>().unwrap_err().contains("like 10.0.0.0/8"), "{wrong}");
        }
    }
}
