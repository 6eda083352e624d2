//! # bridge: local frames are not sent to the other side
//!
//! A learning bridge of two ports (IEEE 802.1D): it learns at which port each station is, forgets
//! that after five minutes, drops frames for a station on the side that they came from, and
//! forwards everything else: to a known station on the other side, to an unknown one, to groups.
//! Frames for bridges themselves go no further.
//!
//! Try it:  `cargo cora run bridge --nic native --in some.pcap --out out.pcap`
//!
//! Expect:  the host holds the table of stations. A conversation, which is a pair of addresses,
//! keeps the answers of the table for both ends, and asks again after ten seconds, or at once when
//! a station appears at another port; in between the NIC owns it. So the table of stations is asked
//! in the order of arrival, whatever the plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[cfg(test)]
mod tests;

const SECOND: u64 = 1_000_000_000;
/// Seconds after which a station that said nothing is forgotten.
const AGE: u32 = 300;
/// Seconds after which a conversation asks again: how long others may take to notice that a station
/// has moved.
const REFRESH: u32 = 10;
/// Stations share a set by their hash; a new one takes the place of the one that was silent for
/// longest.
const WAYS: usize = 4;
const SETS: usize = 4_096;
/// No port: nobody knows where that station is.
const UNKNOWN: u8 = 0xff;

const SAME_SIDE: Reason = Reason::new("same-side");
const FOR_BRIDGES: Reason = Reason::new("for-bridges");
const BAD_SOURCE: Reason = Reason::new("bad-source");

/// The table's entries for two stations, at the time of their question.
#[state(key = MacPair, reply, capacity = 65_536, idle = "5m")]
struct Conversation {
    /// The port of the first frame's source, and that of its destination.
    ports: [u8; 2],
    /// When each of them last told the table, in seconds.
    told: [u32; 2],
}

/// Every station's port, by its address.
#[state(singleton)]
struct Stations {
    /// Address and port: 48 bits and 8. Zero is nobody's address.
    known: [u64; SETS * WAYS],
    /// When it last told, in seconds.
    seen: [u32; SETS * WAYS],
}

impl Default for Stations {
    fn default() -> Self {
        Self { known: [0; SETS * WAYS], seen: [0; SETS * WAYS] }
    }
}

fn number(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

impl Stations {
    /// The places that an address may have, and the bits that it has there.
    fn set(mac: [u8; 6]) -> (core::ops::Range<usize>, u64) {
        let number = number(mac);
        let set = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % SETS;
        (set * WAYS..set * WAYS + WAYS, number << 8)
    }

    fn learn(&mut self, mac: [u8; 6], port: u8, now: u32) {
        let (set, bits) = Self::set(mac);
        let its = set.clone().find(|at| self.known[*at] & !0xff == bits);
        let place = its.or_else(|| set.min_by_key(|at| self.seen[*at]));
        if let Some(place) = place {
            self.known[place] = bits | u64::from(port);
            self.seen[place] = now;
        }
    }

    fn port_of(&self, mac: [u8; 6], now: u32) -> u8 {
        let (mut set, bits) = Self::set(mac);
        let lives = |at: &usize| self.known[*at] & !0xff == bits && self.seen[*at] + AGE > now;
        set.find(lives).map_or(UNKNOWN, |at| self.known[at] as u8)
    }
}

/// Whether it is the address of a group, everybody among them.
fn is_group(mac: [u8; 6]) -> bool {
    mac[0] & 1 == 1
}

/// 01-80-C2-00-00-00 to -0F are for the next bridge and no further (802.1D, 7.12.6).
fn is_for_bridges([head @ .., last]: [u8; 6]) -> bool {
    head == [0x01, 0x80, 0xc2, 0, 0] && last < 16
}

/// Learns from the source, decides by the destination.
#[flow_handler]
fn bridge(
    packet: &mut Headers,
    conversations: &mut Table<Conversation>,
    stations: &mut Stations,
) -> Verdict {
    let pair = MacPair { source: packet.mac_source()?, destination: packet.mac_destination()? };
    if is_group(pair.source) || number(pair.source) == 0 {
        return Drop(BAD_SOURCE);
    }
    if is_for_bridges(pair.destination) {
        return Drop(FOR_BRIDGES);
    }
    let (port, now) = (packet.port().0, (packet.now() / SECOND) as u32);
    let (known, at) = match conversations.find_mut(&pair) {
        Some((Direction::Original, known)) => (Some(*known), 0),
        Some((Direction::Reply, known)) => (Some(*known), 1),
        None => (None, 0),
    };
    let mut known = known.unwrap_or(Conversation { ports: [UNKNOWN; 2], told: [0; 2] });
    let [source, destination] = [at, 1 - at];
    if known.ports[source] != port || known.told[source] + REFRESH <= now {
        stations.learn(pair.source, port, now);
        known.ports[source] = port;
        known.ports[destination] = stations.port_of(pair.destination, now);
        known.told[source] = now;
        match conversations.get_mut(&pair) {
            Some(kept) => *kept = known,
            None => {
                // Without room for it each frame asks anew.
                let _is_kept = conversations.insert(pair, known);
            }
        }
    }
    if known.ports[destination] == port { Drop(SAME_SIDE) } else { Transmit }
}

cora::app!(bridge);
