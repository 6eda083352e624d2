//! Tunnels: GTP-U from a subscriber's station (3GPP TS 29.281), VXLAN from the other gateway (RFC
//! 7348).

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::{Form, Ranked, ends};
use crate::random::mix;
use crate::wire::{self, End, Path, Tags, UDP};

const GTP: u16 = 2_152;
const VXLAN: u16 = 4_789;
const STATIONS: u64 = 200;
/// Where tunnels of stations end.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 1, 255, 1);
/// Tunnels to the gateway have these identifiers, one for each subscriber; those to stations have
/// the numbers behind.
const FIRST: u32 = 4_097;
/// The two ends of a link of Ethernet, and its network: the defaults of the example `vxlan`.
const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const REMOTE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const NETWORK: u32 = 42;

impl Ranked {
    /// Returns the file of bearers of the subscribers of [`Form::Gtp`], without limits of their
    /// rate: a line for each below the names of columns, as the example `gtp-gateway` reads it.
    pub fn bearers(&self) -> String {
        let mut file =
            "prefix, gateway, teid, station, station_teid, uplink_kbit, downlink_kbit\n".to_owned();
        for subscriber in 0..ends::hosts(&Self { form: Form::Gtp, ..*self }) {
            let (address, teid) = (ends::shared(subscriber), teid(subscriber));
            let (station, back) = (station(subscriber), teid | 1 << 20);
            // Writing to a string can't fail.
            let _written = writeln!(file, "{address}, {GATEWAY}, {teid}, {station}, {back}, 0, 0");
        }
        file
    }
}

fn teid(subscriber: u64) -> u32 {
    FIRST + subscriber as u32
}

fn station(subscriber: u64) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, 0, (subscriber % STATIONS) as u8 + 1)
}

/// Makes a station's frame with the packet of the subscriber's frame `inner` in its tunnel.
pub(super) fn from_station(subscriber: u64, inner: &[u8]) -> Vec<u8> {
    let packet = inner.get(14..).unwrap_or_default();
    // Version 1; user data.
    let mut data = vec![0x30, 255];
    data.extend((packet.len() as u16).to_be_bytes());
    data.extend(teid(subscriber).to_be_bytes());
    data.extend(packet);
    let end = |mac, address: Ipv4Addr| End { mac, address: address.into(), port: GTP };
    let path = Path {
        from: end([2, 0, 0, 0, 0, 3], station(subscriber)),
        to: end([2, 0, 0, 0, 0, 1], GATEWAY),
        tags: Tags::None,
        hops: 62,
        id: subscriber as u16,
        options: false,
    };
    wire::frame(&path, UDP, &wire::udp(&path, &data, true))
}

/// Makes the frame of the other gateway with the frame `inner` of this path in its tunnel. Its
/// source port is a hash of the flow, and it has no checksum (RFC 7348, 5).
pub(super) fn from_gateway(inner: &Path, frame: &[u8]) -> Vec<u8> {
    let mut data = vec![8, 0, 0, 0];
    data.extend((NETWORK << 8).to_be_bytes());
    data.extend(frame);
    let hash = match inner.to.address {
        std::net::IpAddr::V4(address) => {
            mix(u64::from(address.to_bits()) << 16 | u64::from(inner.to.port))
        }
        std::net::IpAddr::V6(address) => mix(address.to_bits() as u64 ^ u64::from(inner.to.port)),
    };
    let end = |mac, address: Ipv4Addr, port| End { mac, address: address.into(), port };
    let path = Path {
        from: end([2, 0, 0, 0, 0, 2], REMOTE, 0xc000 | hash as u16),
        to: end([2, 0, 0, 0, 0, 1], LOCAL, VXLAN),
        tags: Tags::None,
        hops: 61,
        id: inner.id,
        options: false,
    };
    wire::frame(&path, UDP, &wire::udp(&path, &data, false))
}
