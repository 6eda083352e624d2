//! # nat64: hosts of IPv6 alone reach servers of IPv4
//!
//! Stateful NAT64 (RFC 6146, translation as in RFC 7915): packets from inside to 64:ff9b::/96 go to
//! the IPv4 address in its last four octets, from a port of the public address 192.0.2.64; answers
//! come back from where the hosts had sent. TCP, UDP and pings, and ICMP errors about them together
//! with the packet that they quote. IPv6 to elsewhere, and IPv4 that is not for the public address,
//! pass untranslated. Packets that nobody may forward are dropped by name, and so are those to
//! addresses that the prefix must not stand for: private ones, and the translator's own.
//!
//! Try it:  `cargo cora run nat64 --nic native --in some.pcap --out out.pcap`
//!
//! The ports of the public address are divided by bucket: a session gets one whose bits 1 to 8 are
//! those of the port inside, so that answers are steered to where the session is.
//!
//! Expect:  as of `nat`: the host holds the port pool, so it handles the first packet of a session,
//! those that establish and end it, and one a minute to renew the lease. The NIC changes a packet
//! before it knows whether the lease is due; then the host gets it as it came.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

#[cfg(test)]
mod tests;

const PUBLIC: Address = Address::v4([192, 0, 2, 64]);
/// The well-known prefix (RFC 6052, 2.1); the other 32 bits are an IPv4 address.
const PREFIX: u128 = 0x0064_ff9b << 96;
const FIRST_PORT: u16 = 32_768;
/// Ports of a bucket, from there on.
const PORTS: usize = 128;
/// Seconds that a lease outlives its session: for so long the NIC need not ask the pool.
const SPARE: u32 = 60;
const SECOND: u64 = 1_000_000_000;

const NO_PORT_LEFT: Reason = Reason::new("no-port-left");
/// The prefix must not stand for it (RFC 6052, 3.1).
const NOT_PUBLIC: Reason = Reason::new("not-public");

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
#[state(
    key = FiveTuple, reply, bucket = InsidePort, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable
)]
struct Session {
    inside: Address,
    server: Address,
    inside_port: u16,
    public_port: u16,
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

    /// When its port's lease should end, if not when it does: it outlives the session, and by two
    /// minutes at most.
    fn renewal(&self, now: u32) -> Option<u32> {
        let end = end(self.idle, now);
        // Beyond that, too, where it ends before the session may.
        let outlives = self.leased_until.wrapping_sub(end);
        (outlives > 2 * SPARE).then_some(end + SPARE)
    }

    fn translate(&self, packet: &mut Packet, direction: Direction) -> Result<(), Reason> {
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

/// When a session ends that is silent from now on. Seconds are rounded down, sessions live to the
/// nanosecond.
fn end(idle: u16, now: u32) -> u32 {
    now + u32::from(idle) + 1
}

/// The server that a packet from inside is for, unless nobody may send there by the prefix.
fn server(flow: &FiveTuple) -> Result<Address, Reason> {
    let server = embedded(flow.destination).ok_or(NotAllowed)?;
    if server == PUBLIC {
        return Err(Hairpin);
    }
    // A host of the prefix would be one of IPv4, and its packets come back (RFC 6146, 3.5).
    if embedded(flow.source).is_some() {
        return Err(MartianSource);
    }
    if server.is_public() { Ok(server) } else { Err(NOT_PUBLIC) }
}

/// A bucket's ports of the public address: when each one's lease ends, in seconds.
#[state(per = Bucket, durable)]
struct PortPool {
    bucket: Bucket,
    next: u16,
    leased_until: Tracked<u32, PORTS>,
}

impl From<Bucket> for PortPool {
    fn from(bucket: Bucket) -> Self {
        Self { bucket, next: 0, leased_until: Tracked::new([0; PORTS]) }
    }
}

impl PortPool {
    /// The first free port from where the last search ended, so that a port rests before it is
    /// reused.
    fn lease(&mut self, now: u32, until: u32) -> Result<BucketPort, Reason> {
        for _ in 0..PORTS {
            let at = self.next % PORTS as u16;
            self.next = self.next.wrapping_add(1);
            if let Some(lease) = self.leased_until.get_mut(usize::from(at))
                && *lease <= now
            {
                *lease = until;
                return self.bucket.port(FIRST_PORT, at).ok_or(NO_PORT_LEFT);
            }
        }
        Err(NO_PORT_LEFT)
    }

    fn renew(&mut self, port: u16, until: u32) {
        let at = self.bucket.nth_of(FIRST_PORT, port).map(usize::from);
        if let Some(lease) = at.and_then(|at| self.leased_until.get_mut(at)) {
            *lease = until;
        }
    }
}

/// Inside may open, from the public address; outside may only answer.
#[flow_handler]
fn nat64(packet: &mut Packet, sessions: &mut Table<Session>, ports: &mut PortPool) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    packet.forwardable()?;
    let from_inside = packet.from_inside();
    let to = packet.destination()?;
    if from_inside && embedded(to).is_none() || !from_inside && to != PUBLIC {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    if packet.is_redirect() {
        return Drop(IcmpRedirect);
    }
    let now = (packet.now() / SECOND) as u32;
    // A translator is a router, too: it counts as one, and drops packets without a hop left.
    let (direction, session) = match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            session.advance(packet, flow.protocol, direction)?;
            packet.decrement_ttl()?;
            (direction, *session)
        }
        None if from_inside => {
            let server = server(&flow)?;
            // A connection from before a restart goes on by another port, so that its server
            // resets it, rather than hang.
            let tcp = TcpState::pick_up(packet)?;
            packet.decrement_ttl()?;
            let idle = Timeouts::NAT.seconds(flow.protocol, tcp, false);
            let leased_until = end(idle, now) + SPARE;
            let port = ports.lease(now, leased_until)?;
            let session = Session {
                inside: flow.source,
                server,
                inside_port: flow.source_port,
                public_port: port.number(),
                leased_until,
                idle,
                tcp,
            };
            let translated = session.translate(packet, Direction::Original);
            if translated.is_err() {
                ports.renew(session.public_port, now);
            }
            translated?;
            let answer = flow.answered_to(PUBLIC, port).by(server);
            let kept = sessions.insert_answered(flow, answer, session);
            if kept.is_err() {
                ports.renew(session.public_port, now);
            }
            kept?;
            return Transmit;
        }
        None => return Drop(NotAllowed),
    };
    session.translate(packet, direction)?;
    if let Some(until) = session.renewal(now) {
        ports.renew(session.public_port, until);
        if let Some(session) = sessions.get_mut(&flow) {
            session.leased_until = until;
        }
    }
    Transmit
}

cora::app!(nat64);
