//! # port-scan: which sources try many services
//!
//! To measure: no calibration ever saw it. For each source it keeps the set of services (address and port) that it tried
//! within a minute, as a bitmap of hashes; a source that tried more than 40 is a scanner until the minute is over, and
//! what it sends goes nowhere.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const WINDOW: u64 = 60_000_000_000; // nanoseconds
/// Set bits of the bitmap's 128 above which a source scans: by linear counting some 48 services.
const TOO_MANY: u32 = 40;

const SCANNER: Reason = Reason::new("scanner");

/// What a source tried within its window.
#[state(key = SourceAddress, capacity = 1 << 20, idle = "2m")]
struct Source {
    since: u64,
    tried: [u64; 2],
    packets: u32,
    blocked: u32,
}

/// What all of it comes to.
#[state(commutative)]
struct Alarms {
    blocked: Sum,
}

/// Where a service's bit is: word and mask.
fn bit(flow: &FiveTuple) -> (usize, u64) {
    let words = FiveTuple { source: Address::default(), source_port: 0, ..*flow }.words();
    let mixed = words.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |hash, word| {
        (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
    });
    let bit = mixed >> 57;
    ((bit / 64) as usize, 1 << (bit % 64))
}

/// Notes the service that a packet is for, and stops scanners.
#[flow_handler]
fn watch(packet: &mut Packet, sources: &mut Table<Source>, alarms: &mut Alarms) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let (word, mask) = bit(&flow);
    // Not the flow's: an error of ICMP comes from a router, and belongs to a flow of somebody else's.
    let key = SourceAddress(packet.source()?);
    if let Some(source) = sources.get_mut(&key) {
        if packet.now().saturating_sub(source.since) > WINDOW {
            *source = Source { since: packet.now(), tried: [0; 2], packets: 0, blocked: 0 };
        }
        source.packets += 1;
        source.tried[word] |= mask;
        let tried = source.tried[0].count_ones() + source.tried[1].count_ones();
        if tried > TOO_MANY {
            source.blocked += 1;
            alarms.blocked.add(1);
            return Drop(SCANNER);
        }
    } else {
        let mut tried = [0; 2];
        tried[word] = mask;
        let source = Source { since: packet.now(), tried, packets: 1, blocked: 0 };
        sources.insert(key, source)?;
    }
    Transmit
}

cora::app!(watch);
