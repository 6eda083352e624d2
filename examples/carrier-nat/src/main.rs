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
//! Expect:  the host holds blocks and mappings, so it handles the first packet of a session, those
//! that establish and end it, and one a minute; in between the NIC owns the session, one between
//! two inside hosts, too.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

mod pool;

use core::time::Duration;

use cora::prelude::*;

use pool::{Claim, Endpoint, Pool};

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
const SECOND: u64 = 1_000_000_000;
/// Seconds that a lease outlives its session: for so long the NIC need not ask the pool.
const SPARE: u32 = 60;

const NO_MAPPING: Reason = Reason::new("no-mapping");

/// A translated session, found by packets from inside and by their answers.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable)]
struct Session {
    inside: Address,
    inside_port: u16,
    public_port: u16,
    /// Whom it is with; where that is inside, too, by which public port it was asked for, else 0.
    peer: Address,
    peer_port: u16,
    asked_port: u16,
    leased_until: u32,
    /// How long it may be silent (s).
    idle: u16,
    tcp: TcpState,
}

impl Session {
    fn idle(&self) -> Duration {
        Duration::from_secs(self.idle.into())
    }

    /// Moves on by another packet, and to the time that its new state has.
    fn advance(
        &mut self,
        packet: &Headers,
        protocol: u8,
        direction: Direction,
    ) -> Result<(), Reason> {
        self.tcp.advance(packet, direction)?;
        self.idle = Timeouts::NAT.seconds(protocol, self.tcp, false);
        Ok(())
    }

    /// The claim that a packet makes of the pool, by whether the connection was over before it.
    fn claim(&self, was_over: bool, now: u32) -> Option<Claim> {
        match (was_over, self.tcp.is_closed()) {
            (false, true) => Some(Claim::End),
            (true, false) => Some(Claim::Begin),
            _ if end(self.idle, now) > self.leased_until => Some(Claim::Renew),
            _ => None,
        }
    }

    /// The key of the answers to `flow`. A peer inside answers the public address, too.
    fn reply(&self, flow: &FiveTuple) -> FiveTuple {
        FiveTuple {
            source: self.peer,
            source_port: if flow.has_ports() { self.peer_port } else { self.public_port },
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

/// When a session ends that is silent from now on. Seconds are rounded down, sessions live to the
/// nanosecond.
fn end(idle: u16, now: u32) -> u32 {
    now + u32::from(idle) + 1
}

/// Inside may open, to outside and to each other's public ports; outside may only answer.
#[flow_handler]
fn carrier_nat(packet: &mut Headers, sessions: &mut Table<Session>, pool: &mut Pool) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    packet.forwardable()?;
    if packet.is_ipv6() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    if packet.is_redirect() {
        return Drop(IcmpRedirect);
    }
    let now = (packet.now() / SECOND) as u32;
    let (direction, session, was_over) = match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            let was_over = session.tcp.is_closed();
            session.advance(packet, flow.protocol, direction)?;
            (direction, *session, was_over)
        }
        None if packet.from_inside() => {
            let hairpin = flow.destination == PUBLIC;
            if flow.source == PUBLIC {
                return Drop(MartianSource);
            }
            // An identifier is no port: nobody is meant by a ping of the public address.
            if hairpin && !flow.has_ports() {
                return Drop(NO_MAPPING);
            }
            let tcp = TcpState::pick_up(packet)?;
            let idle = Timeouts::NAT.seconds(flow.protocol, tcp, false);
            let leased_until = end(idle, now) + SPARE;
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
                public_port: pool.lease(&own, now, leased_until)?,
                peer,
                peer_port,
                asked_port: if hairpin { flow.destination_port } else { 0 },
                leased_until,
                idle,
                tcp,
            };
            let kept = sessions.insert_with_reply(flow, session.reply(&flow), session);
            if kept.is_err() {
                pool.claim(session.public_port, Claim::End, now);
            }
            kept?;
            if hairpin {
                pool.claim(session.asked_port, Claim::Begin, leased_until);
            }
            (Direction::Original, session, false)
        }
        None => return Drop(NotAllowed),
    };
    session.translate(packet, direction)?;
    if let Some(claim) = session.claim(was_over, now) {
        let until = end(session.idle, now) + SPARE;
        pool.claim(session.public_port, claim, until);
        if session.is_hairpin() {
            pool.claim(session.asked_port, claim, until);
        }
        if let Some(session) = sessions.get_mut(&flow) {
            session.leased_until = until;
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
