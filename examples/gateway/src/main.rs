//! # gateway: a router between links
//!
//! Cora as a hop, not only as a bump in the wire: it has addresses of its own, answers ARP and
//! neighbour discovery for them, finds the next hop by longest match, takes one off the hop limit,
//! and says by ICMP why it does not forward a packet.
//!
//! Try it:  `cargo cora run gateway --nic native --in some.pcap --out out.pcap --config
//! Interface=examples/gateway/interfaces.toml --config Route=examples/gateway/routes.csv`
//!
//! Expect:  each destination keeps its next hop for ten seconds, and travels: the NIC forwards its
//! packets alone. Both sides hold the neighbours, and merge their messages ten times a second.
//! The host has the budget of packets that the router sends itself. Both are per bucket or merged,
//! so the router runs on any number of shards.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

mod budget;
mod discovery;
mod local;
mod neighbours;
#[cfg(test)]
mod tests;

use budget::Budget;
use neighbours::Neighbours;

/// Links of the router: a run has no more ports.
const LINKS: u32 = 16;
const SECOND: u64 = 1_000_000_000;
/// Seconds after which a destination asks routes and neighbours again.
const REFRESH: u32 = 10;

const NO_INTERFACE: Reason = Reason::new("no-interface");
const NOT_FOR_ROUTER: Reason = Reason::new("not-for-router");
const TO_MANY: Reason = Reason::new("to-many");
const UNRESOLVED: Reason = Reason::new("unresolved");
const NO_ROUTE: Reason = Reason::new("no-route");
const NEEDS_FRAGMENTS: Reason = Reason::new("needs-fragments");

/// Which port: 0 is inside, 1 is outside, and 2 to 15 are those that a run has besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct At {
    port: u8,
}

/// The router's own addresses at a port.
#[state(map, key = At, capacity = LINKS)]
struct Interface {
    mac: Mac,
    v4: Address,
    v6: Address,
    mtu: u32,
}

/// Where packets to a prefix go: to `via`, or to the destination itself if that is `::`.
#[state(prefixes, capacity = 1_000_000)]
struct Route {
    port: u8,
    via: Address,
}

/// The next hop of a destination.
#[state(key = DestinationAddress, capacity = 65_536, idle = "1m")]
struct Hop {
    versions: [Generation; 2],
    until: u32,
    mac: [u8; 6],
    port: u8,
}

impl Interface {
    /// The router's address of the same family.
    fn address(&self, other: Address) -> Address {
        if other.is_v4() { self.v4 } else { self.v6 }
    }

    fn has(&self, address: Address) -> bool {
        address == self.v4 || address == self.v6
    }
}

#[flow_handler]
fn route(
    packet: &mut Packet,
    hops: &mut Table<Hop>,
    interfaces: &Map<Interface>,
    routes: &Prefixes<Route>,
    neighbours: &mut Merged<Neighbours>,
    budget: &mut Budget,
    out: &mut Outbox,
) -> Verdict {
    let now = (packet.now() / SECOND) as u32;
    let Some(here) = interfaces.get(&At { port: packet.port().0 }) else {
        return Drop(NO_INTERFACE);
    };
    if packet.is_link_local_control() {
        return discovery::answer(packet, here, neighbours, packet.now());
    }
    let to = packet.mac_destination()?;
    if to != here.mac.0 {
        return Drop(if to[0] & 1 == 1 { TO_MANY } else { NOT_FOR_ROUTER });
    }
    packet.forwardable()?;
    let destination = packet.destination()?;
    let key = DestinationAddress(destination);
    let versions = [routes.generation(), interfaces.generation()];
    let known = hops.get(&key).filter(|hop| now < hop.until && hop.versions == versions);
    let hop = match known {
        Some(hop) => *hop,
        None => {
            // No own address has a next hop.
            if is_own(destination, interfaces) {
                return local::answer(packet, budget, now);
            }
            let Some(route) = routes.longest(destination) else {
                budget.take_error(now)?;
                packet.turn_to_error(here.address(destination), IcmpError::NoRoute)?;
                return Redirect(packet.port());
            };
            let Some(there) = interfaces.get(&At { port: route.port }) else {
                return Drop(NO_ROUTE);
            };
            let next = if route.via == UNSPECIFIED { destination } else { route.via };
            let (mac, is_wanted) = neighbours.merged().resolve(next, packet.now());
            if is_wanted && budget.take_question(next, now) {
                discovery::ask(next, there, Port(route.port), out)?;
            }
            let Some(mac) = mac else { return Drop(UNRESOLVED) };
            let hop = Hop { versions, until: now + REFRESH, mac, port: route.port };
            match hops.get_mut(&key) {
                Some(kept) => *kept = hop,
                None => {
                    // Without room for it each packet asks anew.
                    let _is_kept = hops.insert(key, hop);
                }
            }
            hop
        }
    };
    let Some(there) = interfaces.get(&At { port: hop.port }) else { return Drop(NO_ROUTE) };
    if let Some(why) = refusal(packet, there.mtu)? {
        budget.take_error(now)?;
        packet.turn_to_error(here.address(destination), why)?;
        return Redirect(packet.port());
    }
    packet.decrement_ttl()?;
    packet.set_mac_source(there.mac.0)?;
    packet.set_mac_destination(hop.mac)?;
    Redirect(Port(hop.port))
}

/// Whether it is the router's own address at any link.
fn is_own(address: Address, interfaces: &Map<Interface>) -> bool {
    (0..LINKS as u8).any(|port| interfaces.get(&At { port }).is_some_and(|at| at.has(address)))
}

/// In place of a next hop: the destination is on the link.
const UNSPECIFIED: Address = Address::v6([0; 16]);

/// Why the packet is not forwarded to a link with this MTU, as its source has to know.
fn refusal(packet: &Packet, mtu: u32) -> Result<Option<IcmpError>, Reason> {
    if packet.ttl()? <= 1 {
        return Ok(Some(IcmpError::TimeExceeded));
    }
    let Some(at) = packet.offsets() else { return Ok(None) };
    if at.end - at.ip <= mtu as usize {
        return Ok(None);
    }
    // Without `Don't Fragment` a router would cut it (RFC 1812, 5.3.3); this one does not.
    let flags = packet.frame().get(at.ip + 6);
    let may_be_fragmented = packet.is_ipv4() && flags.is_some_and(|flags| flags & 0x40 == 0);
    if may_be_fragmented { Err(NEEDS_FRAGMENTS) } else { Ok(Some(IcmpError::TooBig { mtu })) }
}

cora::app!(route);
