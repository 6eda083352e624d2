//! # chain: firewall, NAT and balancer, one behind the other
//!
//! The edge of a site: inside may open and outside only answer; all share one public address; and
//! traffic to a service outside is spread over the hosts that offer it. A packet from inside meets
//! the three in this order, one from outside in the opposite order, as if they were boxes cabled in
//! a row.
//!
//! The three are the libraries of the examples `firewall`, `nat` and `balancer`, with their states:
//! this package has no copy of them, and one small handler of its own.
//!
//! Try it:  `cargo cora run chain --nic native --in some.pcap --out out.pcap --config
//! Backends=backends.txt`
//!
//! where backends.txt says `service 192.0.2.80`, then `backend 10.1.0.1`, one per line.
//!
//! Expect:  one plan for all. A connection has an entry in each table, under the keys that its
//! packets have there; they are one flow, and travel together. The NAT's port pool is the host's,
//! so the NIC hands a connection's first packet over before any of the three has seen it.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use balancer::Backends;
use cora::prelude::*;

/// The service is outside, and has its clients inside. A packet from outside to its address would
/// take an entry of the balancer's table before the NAT refuses it.
#[flow_handler]
fn clients(packet: &mut Headers, backends: &Backends) -> Verdict {
    if !packet.from_inside() && packet.destination() == Ok(backends.service()) {
        return Drop(NotAllowed);
    }
    Transmit
}

cora::app!(firewall::firewall, nat::nat, balancer::balancer, clients);

#[cfg(test)]
mod tests;
