//! # nat64: hosts of IPv6 alone reach servers of IPv4
//!
//! Stateful NAT64 (RFC 6146, translation as in RFC 7915): packets from inside to 64:ff9b::/96 go to
//! the IPv4 address in its last four octets, from a port of the public address 192.0.2.64; answers
//! come back from where the hosts had sent. TCP, UDP and pings, and ICMP errors about them together
//! with the packet that they quote. IPv6 to elsewhere, and IPv4 that is not for the public address,
//! pass untranslated.
//!
//! Try it:  `cargo cora run nat64 --nic native --in some.pcap --out out.pcap`
//!
//! Expect:  as of `nat`: the host holds the port pool, so it handles the first packet of a session,
//! the one that closes it, and one every five minutes to renew the lease. The NIC changes a packet
//! before it knows whether the lease is due; then the host gets it as it came.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[cfg(test)]
mod tests;

const PUBLIC: Address = Address::v4([192, 0, 2, 64]);
/// The well-known prefix (RFC 6052, 2.1); the other 32 bits are an IPv4 address.
const PREFIX: u128 = 0x0064_ff9b << 96;
const FIRST_PORT: u16 = 32_768;
const PORTS: usize = 32_768;
/// Seconds that a session lives unused.
const IDLE: u32 = 300;
/// A lease outlives every session that uses the port: it is renewed when less than an idle time is
/// left, and so long that the NIC need not ask the pool for each packet.
const LEASE: u32 = 2 * IDLE;
const SECOND: u64 = 1_000_000_000;

const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

/// The server behind an address of IPv6, if it is one of the prefix.
fn embedded(address: Address) -> Option<Address> {
    let bits = address.bits();
    (bits >> 32 == PREFIX >> 32).then(|| Address::v4((bits as u32).to_be_bytes()))
}

/// An address of IPv4, as inside sees it.
fn embed(address: Address) -> Address {
    Address::v6((PREFIX | (address.bits() & 0xffff_ffff)).to_be_bytes())
}

/// A translated session, found by packets from inside and by their answers.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
struct Session {
    inside: Address,
    server: Address,
    inside_port: u16,
    public_port: u16,
    leased_until: u32,
    tcp: TcpState,
}

impl Session {
    /// The key of the answers to `flow`.
    fn reply(&self, flow: &FiveTuple) -> FiveTuple {
        let is_ping = flow.protocol == protocol::ICMPV6;
        FiveTuple {
            source: self.server,
            destination: PUBLIC,
            source_port: if is_ping { self.public_port } else { flow.destination_port },
            destination_port: self.public_port,
            protocol: if is_ping { protocol::ICMP } else { flow.protocol },
        }
    }

    /// How long its port should be leased: not much longer than a closed connection's last packets.
    fn lease_wanted(&self, now: u32) -> u32 {
        // Seconds are rounded down, sessions live to the nanosecond.
        let idle = IDLE + 1;
        if self.tcp.is_closed() {
            now + idle
        } else if now + idle > self.leased_until {
            now + LEASE
        } else {
            self.leased_until
        }
    }

    /// A translator is a router, too: it counts as one, and drops packets without a hop left.
    fn translate(&self, packet: &mut Packet, direction: Direction) -> Result<(), Reason> {
        packet.decrement_ttl()?;
        match direction {
            Direction::Original => {
                packet.translate(PUBLIC, self.server, PUBLIC)?;
                packet.set_source_port(self.public_port)
            }
            Direction::Reply => {
                // An error may come from any router on the way.
                let sender = embed(packet.source()?);
                packet.translate(embed(self.server), self.inside, sender)?;
                packet.set_destination_port(self.inside_port)
            }
        }
    }
}

/// The ports of the public address: when each one's lease ends, in seconds.
#[state(singleton)]
struct PortPool {
    next: u16,
    leased_until: [u32; PORTS],
}

impl Default for PortPool {
    fn default() -> Self {
        Self { next: 0, leased_until: [0; PORTS] }
    }
}

impl PortPool {
    /// The first free port from where the last search ended, so that a port rests before it is
    /// reused.
    fn lease(&mut self, now: u32) -> Result<u16, Reason> {
        for _ in 0..PORTS {
            let at = usize::from(self.next) % PORTS;
            self.next = self.next.wrapping_add(1);
            if self.leased_until[at] <= now {
                self.leased_until[at] = now + LEASE;
                return Ok(FIRST_PORT + at as u16);
            }
        }
        Err(NO_PORT_LEFT)
    }

    fn renew(&mut self, port: u16, until: u32) {
        self.leased_until[usize::from(port - FIRST_PORT) % PORTS] = until;
    }
}

/// Inside may open, from the public address; outside may only answer.
#[flow_handler]
fn nat64(packet: &mut Packet, sessions: &mut Table<Session>, ports: &mut PortPool) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let from_inside = packet.from_inside();
    let to = packet.destination()?;
    if from_inside && embedded(to).is_none() || !from_inside && to != PUBLIC {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let now = (packet.now() / SECOND) as u32;
    let (direction, session) = match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            session.tcp.advance(packet, direction)?;
            (direction, *session)
        }
        None if from_inside => {
            let session = Session {
                inside: flow.source,
                server: embedded(flow.destination).ok_or(NotAllowed)?,
                inside_port: flow.source_port,
                public_port: ports.lease(now)?,
                leased_until: now + LEASE,
                tcp: TcpState::open(packet),
            };
            let kept = sessions.insert_with_reply(flow, session.reply(&flow), session);
            if kept.is_err() {
                ports.renew(session.public_port, now);
            }
            kept?;
            (Direction::Original, session)
        }
        None => return Drop(NotAllowed),
    };
    session.translate(packet, direction)?;
    let until = session.lease_wanted(now);
    if until != session.leased_until {
        ports.renew(session.public_port, until);
        if let Some(session) = sessions.get_mut(&flow) {
            session.leased_until = until;
        }
    }
    Transmit
}

cora::app!(nat64);
