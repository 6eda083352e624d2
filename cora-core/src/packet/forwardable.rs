//! Packets that must not be forwarded under any policy.
//!
//! - `martian-source`: from an address that no host on another link can have (RFC 1812, 5.3.7; RFC
//!   6890; RFC 6092, REC-1 and REC-3). These are this network (0/8, ::), loopback, link-local
//!   addresses, groups, and IPv4's reserved range; for IPv6 also the deprecated IPv4-compatible,
//!   site-local and ORCHID addresses.
//! - `martian-destination`: to such an address; to the link's broadcast or a group of the link; for
//!   IPv6, to a group with at most organisation scope (RFC 1812, 5.3.5 and 5.3.7; RFC 5771, 4; RFC
//!   6092, REC-2).
//! - `land`: source and destination are equal. No host sends to itself through a link.
//! - `source-routed`: IPv4 with a source route that has stops left (RFC 7126, 4.3 and 4.4).
//! - `routing-header`: IPv6 with a routing header of type 0 that has stops left (RFC 5095; RFC
//!   6092, REC-4).
//!
//! Messages that keep the link itself running have such addresses legitimately. A bump in the wire
//! lets them through first: see [`Headers::is_link_local_control`] and [`Headers::is_dhcp`].
//!
//! For most packets, the first octets of both addresses suffice to accept them.

use super::Headers;
use super::flow::End;
use super::ip;
use super::layers::{Fault, Layers, Version};
use super::parsed::Parsed;
use super::transport;
use crate::key::Address;
use crate::verdict::Reason;
use crate::verdict::reasons::{
    Land, MartianDestination, MartianSource, RoutingHeader, SourceRouted,
};

/// Whether all IPv4 addresses with this first octet are valid at either end.
static USUAL: [bool; 256] = {
    let mut usual = [true; 256];
    let mut first = 0;
    while first < 256 {
        usual[first] = !matches!(first, 0 | 127 | 169 | 224..);
        first += 1;
    }
    usual
};

/// 169.254.0.0/16 (RFC 3927).
const LINK_LOCAL: u32 = 0xa9fe;
/// 224.0.0.0/24 (RFC 5771, 4).
const LINK_GROUPS: u32 = 0x00e0_0000;
/// 2001:10::/28 (RFC 4843).
const ORCHID: u64 = 0x0200_1001;
/// Organisation scope (RFC 4291, 2.7).
const ORGANISATION: u16 = 8;

impl Headers<'_> {
    /// Whether the packet may be forwarded at all: refused with `martian-source`,
    /// `martian-destination`, `land`, `source-routed` or `routing-header`.
    ///
    /// A frame without readable addresses passes: [`Self::flow`] gives its fault.
    #[inline(always)]
    pub fn forwardable(&self) -> Result<(), Reason> {
        if let Parsed::Fast(fast) = &self.parsed {
            let addresses = fast.addresses();
            let first = |end: u64| USUAL[usize::from((end >> 24) as u8)];
            let (source, destination) = (addresses >> 32, addresses & u64::from(u32::MAX));
            if first(source) & first(destination) && source != destination {
                return Ok(());
            }
        }
        core::hint::cold_path();
        self.forwardable_any()
    }

    #[inline(never)]
    fn forwardable_any(&self) -> Result<(), Reason> {
        match &self.parsed {
            Parsed::Unparsed => Ok(()),
            Parsed::Fast(fast) => {
                let addresses = fast.addresses();
                judge_v4((addresses >> 32) as u32, addresses as u32)
            }
            Parsed::Other(layers, _) if layers.network_fault != Fault::None => Ok(()),
            Parsed::Other(layers, _) => self.judge(layers),
        }
    }

    fn judge(&self, layers: &Layers) -> Result<(), Reason> {
        let outer = &layers.outer;
        let [source, destination] =
            [End::Source, End::Destination].map(|end| layers.address(self.frame, outer, end));
        if layers.version == Version::V6 {
            judge_v6(source, destination)?;
            let (at, transport) = (usize::from(outer.ip), usize::from(outer.transport));
            if outer.routed && ip::has_stops_of_type_0(self.frame, at, transport) {
                return Err(RoutingHeader);
            }
            return Ok(());
        }
        judge_v4(source.bits() as u32, destination.bits() as u32)?;
        if outer.routed { Err(SourceRouted) } else { Ok(()) }
    }

    /// Whether it is an ICMP redirect: a router's advice to a host on its own link. A translator
    /// that forwards one lets strangers choose that host's routes.
    #[inline]
    pub fn is_redirect(&self) -> bool {
        if self.takes_fast_path() {
            return false;
        }
        core::hint::cold_path();
        self.icmp_kind().is_some_and(|(version, kind)| transport::is_redirect(version, kind))
    }
}

/// Whether no host behind a router can have this IPv4 address.
const fn is_martian_v4(address: u32) -> bool {
    matches!(address >> 24, 0 | 127 | 240..) || address >> 16 == LINK_LOCAL
}

const fn judge_v4(source: u32, destination: u32) -> Result<(), Reason> {
    if is_martian_v4(source) || source >> 28 == 0xe {
        return Err(MartianSource);
    }
    if is_martian_v4(destination) || destination >> 8 == LINK_GROUPS {
        return Err(MartianDestination);
    }
    if source == destination { Err(Land) } else { Ok(()) }
}

/// The first 16 bits of an IPv6 address.
const fn first(address: Address) -> u16 {
    let [high, _] = address.halves();
    (high >> 48) as u16
}

/// Whether no host behind a router can have this IPv6 address.
const fn is_martian_v6(address: Address) -> bool {
    let [high, low] = address.halves();
    match first(address) {
        // Unspecified, loopback, and the deprecated IPv4-compatible addresses.
        0 => high == 0 && low >> 32 == 0,
        0x2001 => high >> 36 == ORCHID,
        0xfe80..=0xfeff => true,
        _ => false,
    }
}

fn judge_v6(source: Address, destination: Address) -> Result<(), Reason> {
    if is_martian_v6(source) || source.is_group() {
        return Err(MartianSource);
    }
    let stays = destination.is_group() && first(destination) & 0xf <= ORGANISATION;
    if is_martian_v6(destination) || stays {
        return Err(MartianDestination);
    }
    if source == destination { Err(Land) } else { Ok(()) }
}
