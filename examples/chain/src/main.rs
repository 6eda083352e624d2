//! # chain: firewall, NAT and balancer, one behind the other
//!
//! The edge of a site: inside may open and outside only answer; all share one public address; and
//! traffic to a service outside is spread over the hosts that offer it. A packet from inside meets
//! the three in this order, one from outside in the opposite order, as if they were boxes cabled in
//! a row.
//!
//! Try it:  `cargo cora run chain --nic native --in some.pcap --out out.pcap --config
//! Backends=backends.txt`
//!
//! where backends.txt says `service 192.0.2.80`, then `backend 10.1.0.1`, one per line.
//!
//! Expect:  one plan for all three. A connection has an entry in each table, under the keys that
//! its packets have there; they are one flow, and travel together. The NAT's port pool is the
//! host's, so the NIC hands a connection's first packet over before any of the three has seen it.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

mod balancer;
mod firewall;
mod nat;

cora::app!(firewall::firewall, nat::nat, balancer::balancer);

#[cfg(test)]
mod tests;
