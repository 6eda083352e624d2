//! # gtp-gateway: mobile subscribers in tunnels, a data network without
//!
//! The user plane of a mobile network's gateway (GTP-U, 3GPP TS 29.281). Inside are base stations:
//! packets of subscribers come from there in tunnels, are checked against the subscriber's bearer
//! and leave without. Packets from outside to a subscriber leave in the tunnel to its station. Each
//! way has a rate and counts. Echo requests of stations are answered.
//!
//! Try it:  `cargo cora run gtp-gateway --nic native --in some.pcap --out out.pcap --config
//! Bearer=bearers.csv --state-out state.json`
//!
//! where bearers.csv has a line for each subscriber; README.md has one. Without it every packet is
//! dropped as `no-bearer`.
//!
//! Expect:  bearers are on both sides, and the usage of a subscriber travels with its packets of
//! both directions: its key is the address within the tunnel, or without one the destination.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

mod subscriber;
#[cfg(test)]
mod tests;

use subscriber::{Subscriber, address};

const BEARERS: u32 = 1 << 16;
const GTP_PORT: u16 = 2152;
/// How much later than at its rate a packet may be sent (ns).
const BURST: u64 = 50_000_000;

const NO_BEARER: Reason = Reason::new("no-bearer");
const OTHER_TUNNEL: Reason = Reason::new("other-tunnel");
const OVER_RATE: Reason = Reason::new("over-rate");

/// The tunnel of a subscriber, found by the prefix of its addresses.
#[state(prefixes, capacity = BEARERS)]
struct Bearer {
    /// Where the tunnel from the station ends: here.
    gateway: Address,
    teid: u32,
    /// Where the tunnel to the station ends.
    station: Address,
    station_teid: u32,
    /// 0 for no limit.
    uplink_kbit: u32,
    downlink_kbit: u32,
}

/// Packets of a subscriber in one direction, and bytes of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Way {
    packets: u64,
    bytes: u64,
    over_rate: u64,
    /// When its packets so far are sent at its rate (ns).
    sent_at: u64,
}

/// What a subscriber used.
#[state(key = Subscriber, capacity = BEARERS, idle = "365d")]
struct Usage {
    uplink: Way,
    downlink: Way,
}

#[state(commutative)]
struct Totals {
    uplink_bytes: Sum,
    downlink_bytes: Sum,
    echoes: Sum,
}

impl Way {
    const NOTHING: Self = Self { packets: 0, bytes: 0, over_rate: 0, sent_at: 0 };

    /// One more packet, if the rate allows it.
    fn pass(&mut self, bytes: u64, kbit: u32, now: u64) -> Result<(), Reason> {
        if let Some(takes) = (bytes * 8_000_000).checked_div(u64::from(kbit)) {
            if self.sent_at > now.saturating_add(BURST) {
                self.over_rate += 1;
                return Err(OVER_RATE);
            }
            self.sent_at = self.sent_at.max(now) + takes;
        }
        self.packets += 1;
        self.bytes += bytes;
        Ok(())
    }
}

/// The sequence number of an echo request.
fn echo(packet: &Packet) -> Option<[u8; 2]> {
    let flow = packet.five_tuple().ok()?;
    let is_to_port = flow.protocol == protocol::UDP && flow.destination_port == GTP_PORT;
    match packet.payload() {
        // Version 1 with a sequence number; type 1.
        [flags, 1, _, _, _, _, _, _, high, low, ..]
            if is_to_port && !packet.is_icmp_error() && flags & 0xf2 == 0x32 =>
        {
            Some([*high, *low])
        }
        _ => None,
    }
}

#[flow_handler]
fn gateway(
    packet: &mut Packet,
    bearers: &Prefixes<Bearer>,
    usages: &mut Table<Usage>,
    totals: &mut Totals,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let is_uplink = packet.from_inside();
    if is_uplink && let Some([high, low]) = echo(packet) {
        totals.echoes.add(1);
        // Type 2, with the restart counter that nobody reads any more.
        packet.set_udp(&[0x32, 2, 0, 6, 0, 0, 0, 0, high, low, 0, 0, 14, 0])?;
        packet.turn_back()?;
        return Redirect(packet.port());
    }
    let key = Subscriber::of_packet(packet)?;
    let Some(bearer) = bearers.longest(address(packet)?) else { return Drop(NO_BEARER) };
    if is_uplink {
        let tunnel = packet.decapsulate()?;
        let is_own = tunnel.encapsulation == Encapsulation::GtpU { tunnel: bearer.teid };
        if !is_own || (tunnel.source, tunnel.destination) != (bearer.station, bearer.gateway) {
            return Drop(OTHER_TUNNEL);
        }
        // The header within may be damaged.
        packet.source()?;
    }
    packet.forwardable()?;
    let bytes = packet.offsets().map_or(0, |place| (place.end - place.ip) as u64);
    if !usages.contains(&key) {
        usages.insert(key, Usage { uplink: Way::NOTHING, downlink: Way::NOTHING })?;
    }
    let Some(usage) = usages.get_mut(&key) else { return Drop(NO_BEARER) };
    if is_uplink {
        usage.uplink.pass(bytes, bearer.uplink_kbit, packet.now())?;
        totals.uplink_bytes.add(bytes);
        return Transmit;
    }
    usage.downlink.pass(bytes, bearer.downlink_kbit, packet.now())?;
    totals.downlink_bytes.add(bytes);
    // The routers at both ends are neighbours, as far as they know.
    let outer = Outer {
        mac_source: packet.mac_source()?,
        mac_destination: packet.mac_destination()?,
        source: bearer.gateway,
        destination: bearer.station,
        source_port: GTP_PORT,
        ..Outer::default()
    };
    packet.encapsulate(&outer, Encapsulation::GtpU { tunnel: bearer.station_teid })?;
    Transmit
}

cora::app!(gateway);
