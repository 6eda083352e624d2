//! # carrier-nat: subscribers share an address by blocks of ports
//!
//! Source NAT for IPv4 as carriers need it (RFC 6888): each inside address gets a block of 64 ports
//! of 192.0.2.1, and keeps it while any of its mappings lives, so that who had a port is known by
//! block. Within the block, everything sent from one inside address and port has one public port,
//! wherever it goes (RFC 4787, REQ-1); outside may answer, and nobody else comes in. A host inside
//! reaches another one by its public port (hairpin, REQ-9), and both see public addresses.
//!
//! Try it:  `cargo cora run carrier-nat --nic native --in some.pcap --out out.pcap`
//!
//! Expect:  the host holds blocks and mappings, so it handles the first packet of a session and one
//! every five minutes; in between the NIC owns the session, one between two inside hosts, too.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

mod pool;

use cora::prelude::*;

use pool::{Endpoint, IDLE, LEASE, Pool};

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
const SECOND: u64 = 1_000_000_000;

const NO_MAPPING: Reason = Reason::new("no-mapping");

/// A translated session, found by packets from inside and by their answers.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
struct Session {
    inside: Address,
    inside_port: u16,
    public_port: u16,
    /// Whom it is with; where that is inside, too, by which public port it was asked for, else 0.
    peer: Address,
    peer_port: u16,
    asked_port: u16,
    leased_until: u32,
    tcp: TcpState,
}

impl Session {
    /// The key of the answers to `flow`. A peer inside answers the public address, too.
    fn reply(&self, flow: &FiveTuple) -> FiveTuple {
        let ping = matches!(flow.protocol, protocol::ICMP | protocol::ICMPV6);
        FiveTuple {
            source: self.peer,
            source_port: if ping { self.public_port } else { self.peer_port },
            destination: PUBLIC,
            destination_port: self.public_port,
            protocol: flow.protocol,
        }
    }

    const fn is_hairpin(&self) -> bool {
        self.asked_port != 0
    }

    fn translate(&self, packet: &mut Headers, direction: Direction) -> Result<(), Reason> {
        let (to, to_port, public_port) = match direction {
            Direction::Original => (self.peer, self.peer_port, self.public_port),
            Direction::Reply => (self.inside, self.inside_port, self.asked_port),
        };
        if direction == Direction::Original || self.is_hairpin() {
            packet.set_source_endpoint(PUBLIC, public_port)?;
        }
        if direction == Direction::Reply || self.is_hairpin() {
            packet.set_destination_endpoint(to, to_port)?;
        }
        Ok(())
    }
}

/// Inside may open, to outside and to each other's public ports; outside may only answer.
#[flow_handler]
fn carrier_nat(packet: &mut Headers, sessions: &mut Table<Session>, pool: &mut Pool) -> Verdict {
    if packet.is_link_local_control() || packet.is_ipv6() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let now = (packet.now() / SECOND) as u32;
    let (direction, session) = match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            session.tcp.advance(packet, direction)?;
            (direction, *session)
        }
        None if packet.from_inside() => {
            let hairpin = flow.destination == PUBLIC;
            let (peer, peer_port) = if hairpin {
                pool.owner(flow.destination_port, flow.protocol, now).ok_or(NO_MAPPING)?
            } else {
                (flow.destination, flow.destination_port)
            };
            let own =
                Endpoint { address: flow.source, port: flow.source_port, protocol: flow.protocol };
            let session = Session {
                inside: flow.source,
                inside_port: flow.source_port,
                public_port: pool.lease(&own, now)?,
                peer,
                peer_port,
                asked_port: if hairpin { flow.destination_port } else { 0 },
                leased_until: now + LEASE,
                tcp: TcpState::open(packet),
            };
            if hairpin {
                pool.renew(session.asked_port, now + LEASE);
            }
            sessions.insert_with_reply(flow, session.reply(&flow), session)?;
            (Direction::Original, session)
        }
        None => return Drop(NotAllowed),
    };
    session.translate(packet, direction)?;
    // Seconds are rounded down, sessions live to the nanosecond.
    if now + IDLE + 1 > session.leased_until {
        pool.renew(session.public_port, now + LEASE);
        if session.is_hairpin() {
            pool.renew(session.asked_port, now + LEASE);
        }
        if let Some(session) = sessions.get_mut(&flow) {
            session.leased_until = now + LEASE;
        }
    }
    if session.is_hairpin() {
        return Redirect(Port::INSIDE);
    }
    Transmit
}

cora::app!(carrier_nat);

#[cfg(test)]
mod tests;
