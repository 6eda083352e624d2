//! # nat: many inside hosts share one public address
//!
//! Source NAT for IPv4 (RFC 3022, behaviour as in RFC 4787): each connection from inside gets a
//! port of the public address 192.0.2.1, and keeps it until it was idle for five minutes, closed
//! ones included (RFC 5382 asks for four). Checksums are updated, not recomputed; pings are
//! translated by their identifier, ICMP errors together with the packet they quote. IPv6, ARP and
//! neighbour discovery pass untranslated.
//!
//! Try it:  `cargo cora run nat --nic native --in some.pcap --out out.pcap`
//!
//! Expect:  the host holds the port pool, so it handles the first packet of a connection, the one
//! that closes it (its port's lease is cut short), and one every five minutes to renew the lease.
//! In between the NIC owns the connection; each such packet is a punt.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::net::Ipv4Addr;

use cora::prelude::*;

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
const FIRST_PORT: u16 = 32_768;
const PORTS: usize = 32_768;
/// The unit of leases (ns): about a second, and a power of two, so that no packet's time is
/// divided.
const TICK: u64 = 1 << 30;
/// Ticks that a session lives unused: five minutes, rounded up.
const IDLE: u32 = 300_000_000_000_u64.div_ceil(TICK) as u32;
/// A lease outlives every session that uses the port: it is renewed when less than an idle time is
/// left, and so long that the NIC need not ask the pool for each packet.
const LEASE: u32 = 2 * IDLE;

const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

/// A translated connection, found by packets from inside and by their answers. In four bytes, the
/// address leaves it one line of the cache.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
struct Session {
    inside: Ipv4Addr,
    inside_port: u16,
    public_port: u16,
    leased_until: u32,
    tcp: TcpState,
}

impl Session {
    /// The key of the answers to `flow`.
    fn reply(&self, flow: &FiveTuple) -> FiveTuple {
        let ping = matches!(flow.protocol, protocol::ICMP | protocol::ICMPV6);
        let port = if ping { self.public_port } else { flow.destination_port };
        let answer = flow.reversed();
        FiveTuple {
            destination: PUBLIC,
            destination_port: self.public_port,
            source_port: port,
            ..answer
        }
    }

    /// When its port's lease should end, if not when it does: not much later than a closed
    /// connection's last packets.
    fn renewal(&self, now: u32) -> Option<u32> {
        // Ticks are rounded down, sessions live to the nanosecond.
        let idle = IDLE + 1;
        let until = if self.tcp.is_closed() {
            now + idle
        } else if now + idle > self.leased_until {
            now + LEASE
        } else {
            return None;
        };
        (until != self.leased_until).then_some(until)
    }

    #[inline(always)]
    fn translate(&self, packet: &mut Headers, direction: Direction) -> Result<(), Reason> {
        match direction {
            Direction::Original => packet.set_source_endpoint(PUBLIC, self.public_port),
            Direction::Reply => {
                packet.set_destination_endpoint(self.inside.into(), self.inside_port)
            }
        }
    }
}

/// The ports of the public address: when each one's lease ends, in ticks.
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

/// The packet's time.
fn ticks(packet: &Headers) -> u32 {
    (packet.now() / TICK) as u32
}

/// Inside may open, from the public address; outside may only answer.
#[flow_handler]
fn nat(packet: &mut Headers, sessions: &mut Table<Session>, ports: &mut PortPool) -> Verdict {
    if packet.is_link_local_control() || packet.is_ipv6() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            session.tcp.advance(packet, direction)?;
            session.translate(packet, direction)?;
            if let Some(until) = session.renewal(ticks(packet)) {
                ports.renew(session.public_port, until);
                session.leased_until = until;
            }
        }
        None if packet.from_inside() => {
            let now = ticks(packet);
            let mut session = Session {
                // Packets without an IPv4 address have passed.
                inside: Ipv4Addr::from_bits(flow.source.bits() as u32),
                inside_port: flow.source_port,
                public_port: ports.lease(now)?,
                leased_until: now + LEASE,
                tcp: TcpState::open(packet),
            };
            if let Some(until) = session.renewal(now) {
                ports.renew(session.public_port, until);
                session.leased_until = until;
            }
            let kept = sessions.insert_with_reply(flow, session.reply(&flow), session);
            if kept.is_err() {
                ports.renew(session.public_port, now);
            }
            kept?;
            session.translate(packet, Direction::Original)?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(nat);
