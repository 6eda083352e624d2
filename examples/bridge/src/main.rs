//! # bridge: local frames are not sent to the other side
//!
//! A learning bridge of two ports (IEEE 802.1D): it learns at which port each station is, forgets
//! that after five minutes, drops frames for a station on the side that they came from, and
//! forwards everything else: to a known station on the other side, to an unknown one, to groups.
//! Frames for bridges themselves go no further.
//!
//! Try it:  `cargo cora run bridge --nic native --in some.pcap --out out.pcap`
//!
//! Expect:  both sides hold the stations, and merge their notes ten times a second. So the NIC
//! forwards alone; it punts no frame. A station is known to all others 100 to 200 ms after its
//! frame, and to the one that it talks to at once. A frame for an unknown station is forwarded.
//! The bridge runs on any number of shards.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[cfg(test)]
mod tests;

const SECOND: u64 = 1_000_000_000;
/// After so long (ns) a station that said nothing is forgotten.
const AGE: u64 = 300 * SECOND;
/// A station tells where it is at most so often (ns), unless it moved.
const REFRESH: u64 = SECOND;
/// Sets of four stations: a further one takes the place of the one that was silent for longest.
const SETS: usize = 2_048;

const SAME_SIDE: Reason = Reason::new("same-side");
const FOR_BRIDGES: Reason = Reason::new("for-bridges");
const BAD_SOURCE: Reason = Reason::new("bad-source");

/// Where each of two stations was when it last sent the other one a frame.
#[state(key = MacPair, reply, capacity = 65_536, idle = "5m")]
struct Conversation {
    ends: [Seen; 2],
}

/// A station's last frame.
#[derive(Clone, Copy, PartialEq, Eq, Plain)]
struct Seen {
    port: u8,
    /// Its time (ns), give or take [`REFRESH`].
    at: u64,
    is_known: bool,
}

const NEVER: Seen = Seen { port: 0, at: 0, is_known: false };

/// The Ethernet address of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Station {
    mac: [u8; 6],
}

/// Every station's port, as the merge of all frames has it.
#[state(commutative, merged)]
struct Stations {
    ports: Latest<Station, u8, SETS>,
}

impl Stations {
    fn last(&self, mac: [u8; 6]) -> Seen {
        let last = self.ports.get(&Station { mac });
        last.map_or(NEVER, |(port, at)| Seen { port, at, is_known: true })
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
    stations: &mut Merged<Stations>,
) -> Verdict {
    let pair = MacPair { source: packet.mac_source()?, destination: packet.mac_destination()? };
    if is_group(pair.source) || pair.source == [0; 6] {
        return Drop(BAD_SOURCE);
    }
    if is_for_bridges(pair.destination) {
        return Drop(FOR_BRIDGES);
    }
    let (port, now) = (packet.port().0, packet.now());
    let (mut ends, source) = match conversations.find_mut(&pair) {
        Some((Direction::Original, known)) => (known.ends, 0),
        Some((Direction::Reply, known)) => (known.ends, 1),
        None => ([NEVER; 2], 0),
    };
    let here = Seen { port, at: now, is_known: true };
    if ends[source].port != port || !ends[source].is_known || ends[source].at + REFRESH <= now {
        stations.update().ports.renew(&Station { mac: pair.source }, port, now);
        ends[source] = here;
        match conversations.get_mut(&pair) {
            Some(kept) => kept.ends = ends,
            None => {
                // Without room for it each frame tells.
                let _is_kept = conversations.insert(pair, Conversation { ends });
            }
        }
    }
    // The later of its frames: to this station, or to others.
    let (said_here, said) = (ends[1 - source], stations.merged().last(pair.destination));
    let last = if said.is_known && said.at > said_here.at { said } else { said_here };
    if last.is_known && last.at + AGE > now && last.port == port {
        Drop(SAME_SIDE)
    } else {
        Transmit
    }
}

cora::app!(bridge);
