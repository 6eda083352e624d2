//! # flow-record: an entry of 64 bytes per flow
//!
//! To measure the cost of a move, not to copy: everything travels, so either side may own any flow,
//! and each packet writes its flow's entry.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A flow, in eight words.
#[state(key = FiveTuple, reply, capacity = 262_144, idle = "5m")]
struct Flow {
    packets: u64,
    bytes: u64,
    first: u64,
    last: u64,
    gaps: [u64; 4],
}

/// Counts a packet, and in which of four classes the time since the one before falls.
#[flow_handler]
fn record(packet: &mut Packet, flows: &mut Table<Flow>) -> Verdict {
    let (key, now, bytes) = (packet.five_tuple()?, packet.now(), packet.len() as u64);
    if let Some(flow) = flows.get_mut(&key) {
        let class = match now.saturating_sub(flow.last) {
            0..1_000 => 0,
            1_000..1_000_000 => 1,
            1_000_000..1_000_000_000 => 2,
            _ => 3,
        };
        flow.gaps[class] += 1;
        flow.packets += 1;
        flow.bytes += bytes;
        flow.last = now;
    } else {
        flows.insert(key, Flow { packets: 1, bytes, first: now, last: now, gaps: [0; 4] })?;
    }
    Transmit
}

cora::app!(record);
