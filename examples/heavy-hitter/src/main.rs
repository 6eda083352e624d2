//! # heavy-hitter: the flows and sources with the most bytes
//!
//! Counts each flow exactly while it lives, keeps the sixteen flows that ever were largest, and
//! estimates each source's bytes in a count-min sketch of fixed size. Everything passes; a packet
//! without a five-tuple counts for its source, if it has one, and for the whole.
//!
//! Try it:  `cargo cora run heavy-hitter --nic native --in some.pcap --state-out state.json`
//!
//! Expect:  the sketch and the top list are commutative: NIC and host each update a replica of
//! their own, and the report shows the merge, the same under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// One direction of a flow.
#[state(key = FiveTuple, capacity = 1 << 20, idle = "60s")]
struct Flow {
    bytes: u64,
    packets: u64,
}

/// Who talks most.
#[state(commutative)]
struct Talkers {
    bytes: Sum,
    longest_packet: Max,
    flows: TopK<FiveTuple, 16>,
    sources: CountMin<4, 65_536>,
}

/// Counts, and lets everything pass.
#[flow_handler(transparent)]
fn heavy_hitter(packet: &mut Headers, flows: &mut Table<Flow>, talkers: &mut Talkers) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let length = packet.len() as u64;
    talkers.bytes.add(length);
    talkers.longest_packet.raise(length);
    let Ok(key) = packet.five_tuple() else {
        if let Ok(source) = packet.source() {
            talkers.sources.add(&SourceAddress(source), length);
        }
        return Transmit;
    };
    let bytes = match flows.get_mut(&key) {
        Some(flow) => {
            flow.packets += 1;
            flow.bytes += length;
            flow.bytes
        }
        None => {
            // Without room for it, a flow is as large as its packet.
            let _is_kept = flows.insert(key, Flow { bytes: length, packets: 1 });
            length
        }
    };
    talkers.flows.raise(key, bytes);
    talkers.sources.add(&SourceAddress(key.source), length);
    Transmit
}

cora::app!(heavy_hitter);

#[cfg(test)]
mod tests;
