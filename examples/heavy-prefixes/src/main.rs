//! # heavy-prefixes: the networks that send most, at every length of prefix
//!
//! Hierarchical heavy hitters among the source addresses of IPv4: the /8, /16, /24 and /32 that had
//! a hundredth of all bytes or more, without the bytes of such prefixes within them. So a host that
//! floods is told from a network of hosts that do it together, which no list of sources shows. All
//! of it is sketches: their size depends on no number of flows, and everything passes.
//!
//! Try it:  `cargo cora run heavy-prefixes --nic native --in some.pcap --state-out state.json`
//!
//! Expect:  no state belongs to a flow, so any packet may be handled at the NIC; each side updates
//! a replica of its own, and the state at the end shows the heavy prefixes of their merge, the same
//! under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// The bytes of sources, by prefix.
#[state(commutative)]
struct Sources {
    packets: HeavyPrefixes<4, 4096, 100>,
    bytes: HeavyPrefixes<4, 4096, 100>,
}

/// Counts, and lets everything pass.
#[flow_handler(transparent)]
fn heavy_prefixes(packet: &mut Headers, sources: &mut Sources) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let Ok(source) = packet.source() else {
        return Transmit;
    };
    sources.packets.add(source, 1);
    sources.bytes.add(source, packet.len() as u64);
    Transmit
}

cora::app!(heavy_prefixes);

#[cfg(test)]
mod tests;
