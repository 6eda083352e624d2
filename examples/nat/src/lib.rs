//! # nat: many inside hosts share one public address
//!
//! Source NAT for IPv4 (RFC 3022): everything that is sent from one endpoint inside leaves from one
//! port of the public address 192.0.2.1 (RFC 4787, REQ-1). It keeps the port as long as RFC 5382,
//! RFC 4787 and RFC 5508 ask for: for 2 h 4 min of silence of an established connection, four
//! minutes of another one of TCP, five of UDP, one of a ping. The times are configured. Checksums
//! are updated, not recomputed; pings are translated by their identifier, ICMP errors together with
//! the packet they quote. IPv6, ARP, neighbour discovery and group membership pass untranslated;
//! packets that nobody may forward are dropped by name.
//!
//! Try it:  `cargo cora run nat --nic native --in some.pcap --out out.pcap`, with other times
//! `--config Times=times.txt`, where a line is `udp 300`.
//!
//! Expect:  the host holds the port pool, so it handles the first packet of a connection, those
//! that establish and end it (its port's lease gets another length), and one a minute to renew the
//! lease. In between the NIC owns the connection; each such packet is a punt.
//!
//! | for programs of several crates | |
//! | --- | --- |
//! | [`nat`] | the handler |
//! | [`Session`], [`PortPool`], [`Times`] | its states |
#![cfg_attr(target_os = "none", no_std)]

use core::net::Ipv4Addr;
use core::time::Duration;

use cora::prelude::*;

mod pool;

pub use pool::PortPool;
use pool::{Claim, Endpoint};

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
/// The unit of leases (ns): about a second, and a power of two, so that no packet's time is
/// divided.
const TICK: u64 = 1 << 30;
/// Ticks that a lease outlives its session: a minute, for which the NIC need not ask the pool.
const SPARE: u32 = 56;
/// The longest time that a session may be silent (s), as its table has it.
const LONGEST: u16 = 2 * 3600 + 4 * 60;

/// A translated connection, found by packets from inside and by their answers. In four bytes, the
/// address leaves it one line of the cache.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable)]
pub struct Session {
    inside: Ipv4Addr,
    inside_port: u16,
    public_port: u16,
    leased_until: u32,
    /// How long it may be silent (s).
    idle: u16,
    tcp: TcpState,
}

/// How long sessions may be silent.
#[state(read_mostly)]
pub struct Times {
    idle: Timeouts,
}

impl Default for Times {
    fn default() -> Self {
        Self { idle: Timeouts::NAT }
    }
}

impl Configure for Times {
    fn configure(text: &str) -> Result<Self, &'static str> {
        Ok(Self { idle: Timeouts::NAT.with(text, LONGEST)? })
    }
}

impl Session {
    /// The key of the answers to `flow`.
    fn reply(&self, flow: &FiveTuple) -> FiveTuple {
        let port = if flow.has_ports() { flow.destination_port } else { self.public_port };
        let answer = flow.reversed();
        FiveTuple {
            destination: PUBLIC,
            destination_port: self.public_port,
            source_port: port,
            ..answer
        }
    }

    fn idle(&self) -> Duration {
        Duration::from_secs(self.idle.into())
    }

    /// Moves on by another packet, and to the time that its new state has.
    #[inline(always)]
    fn advance(
        &mut self,
        packet: &Headers,
        protocol: u8,
        direction: Direction,
        times: &Timeouts,
    ) -> Result<(), Reason> {
        let before = self.tcp;
        self.tcp.advance(packet, direction)?;
        if self.tcp != before {
            self.idle = times.seconds(protocol, self.tcp, false);
        }
        Ok(())
    }

    /// The claim that a packet makes of the pool, by whether the connection was over before it, and
    /// until when: the lease outlives the session, and by two minutes at most.
    #[inline(always)]
    fn claim(&self, was_over: bool, now: u32) -> Option<(Claim, u32)> {
        let (is_over, end) = (self.tcp.is_closed(), now + ticks_of(self.idle));
        // Beyond that, too, where it ends before the session may.
        let outlives = self.leased_until.wrapping_sub(end);
        if outlives <= 2 * SPARE && was_over == is_over {
            return None;
        }
        let claim = match (was_over, is_over) {
            (false, false) => Claim::Renew,
            (false, true) => Claim::End,
            (true, false) => Claim::Begin,
            (true, true) => Claim::Linger,
        };
        Some((claim, end + SPARE))
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

/// The packet's time.
fn ticks(packet: &Headers) -> u32 {
    (packet.now() / TICK) as u32
}

/// So many seconds, rounded up by less than one percent, and one tick more: times in ticks are
/// rounded down, sessions live to the nanosecond.
const fn ticks_of(seconds: u16) -> u32 {
    let seconds = seconds as u32;
    seconds - seconds / 16 + 2
}

/// Inside may open, from the public address; outside may only answer.
#[flow_handler]
pub fn nat(
    packet: &mut Headers,
    sessions: &mut Table<Session>,
    ports: &mut PortPool,
    times: &Times,
) -> Verdict {
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
    match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            let was_over = session.tcp.is_closed();
            session.advance(packet, flow.protocol, direction, &times.idle)?;
            session.translate(packet, direction)?;
            if let Some((claim, until)) = session.claim(was_over, ticks(packet)) {
                ports.claim(session.public_port, claim, until);
                session.leased_until = until;
            }
        }
        None if packet.from_inside() => {
            // A host inside has answers from the servers that it asked, and from nobody else.
            if flow.destination == PUBLIC {
                return Drop(Hairpin);
            }
            if flow.source == PUBLIC {
                return Drop(MartianSource);
            }
            // A connection from before a restart goes on by another port, so that its server
            // resets it, rather than hang.
            let tcp = TcpState::pick_up(packet)?;
            let idle = times.idle.seconds(flow.protocol, tcp, false);
            let now = ticks(packet);
            let leased_until = now + ticks_of(idle) + SPARE;
            let endpoint = Endpoint {
                // Packets without an IPv4 address have passed.
                address: Ipv4Addr::from_bits(flow.source.bits() as u32),
                port: flow.source_port,
                protocol: flow.protocol,
            };
            let session = Session {
                inside: endpoint.address,
                inside_port: endpoint.port,
                public_port: ports.lease(&endpoint, now, leased_until)?,
                leased_until,
                idle,
                tcp,
            };
            let kept = sessions.insert_with_reply(flow, session.reply(&flow), session);
            if kept.is_err() {
                ports.claim(session.public_port, Claim::End, now);
            }
            kept?;
            session.translate(packet, Direction::Original)?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

#[cfg(test)]
mod tests;
