//! Writes IP headers without options, of either version.

use super::checksum;
use super::ip::{V4_HEADER, V6_HEADER};
use crate::key::Address;

/// The longest IPv4 packet that may be fragmented: its IPv6 form, 20 bytes longer, has IPv6's
/// minimum MTU.
const LONGEST_FRAGMENTED: usize = 1260;

/// The fields of an IP header in either version.
#[derive(Clone, Copy)]
pub(super) struct Network {
    /// Type of service, traffic class.
    pub(super) class: u8,
    pub(super) ttl: u8,
    pub(super) protocol: u8,
    /// Bytes after all IP headers.
    pub(super) length: usize,
}

/// An IP header as written on the wire.
pub(super) struct Written {
    bytes: [u8; V6_HEADER],
    pub(super) length: usize,
}

impl Written {
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Network {
    /// Writes the header. Routers may fragment a short IPv4 packet of the wire, with this
    /// identification (RFC 7915, 5.1), since IPv6 hosts don't reduce theirs below that length.
    #[inline(never)]
    pub(super) fn write(
        self,
        source: Address,
        destination: Address,
        identification: u16,
    ) -> Written {
        let mut bytes = [0; V6_HEADER];
        let Self { class, ttl, protocol, length } = self;
        if let (Some(source), Some(destination)) = (source.as_v4(), destination.as_v4()) {
            let [high, low] = (V4_HEADER as u16 + length as u16).to_be_bytes();
            let whole = identification == 0 || V4_HEADER + length > LONGEST_FRAGMENTED;
            // "Don't fragment" makes an identification unnecessary (RFC 6864).
            let (flags, identification) = if whole { (0x40, 0) } else { (0, identification) };
            let [a, b] = identification.to_be_bytes();
            bytes[..10].copy_from_slice(&[0x45, class, high, low, a, b, flags, 0, ttl, protocol]);
            bytes[12..16].copy_from_slice(&source);
            bytes[16..20].copy_from_slice(&destination);
            let sum = checksum::internet(&bytes[..V4_HEADER]);
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            return Written { bytes, length: V4_HEADER };
        }
        let [high, low] = (length as u16).to_be_bytes();
        bytes[..8].copy_from_slice(&[
            0x60 | class >> 4,
            class << 4,
            0,
            0,
            high,
            low,
            protocol,
            ttl,
        ]);
        bytes[8..24].copy_from_slice(&source.octets());
        bytes[24..].copy_from_slice(&destination.octets());
        Written { bytes, length: V6_HEADER }
    }
}
