//! Many inside hosts share one public address, as in the example `nat`: each connection gets a port
//! of it, which the pool leases until the connection was idle for five minutes.

use cora::prelude::*;

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
const FIRST_PORT: u16 = 32_768;
const PORTS: usize = 32_768;
/// Seconds that a session lives unused.
const IDLE: u32 = 300;
/// A lease outlives every session that uses the port: it is renewed when less than an idle time is
/// left, and so long that the NIC need not ask the pool for each packet.
const LEASE: u32 = 2 * IDLE;
const SECOND: u64 = 1_000_000_000;

const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

/// A translated connection, found by packets from inside and by their answers.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
pub(crate) struct Session {
    inside: Address,
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

    fn translate(&self, packet: &mut Headers, direction: Direction) -> Result<(), Reason> {
        match direction {
            Direction::Original => packet.set_source_endpoint(PUBLIC, self.public_port),
            Direction::Reply => packet.set_destination_endpoint(self.inside, self.inside_port),
        }
    }
}

/// The ports of the public address: when each one's lease ends, in seconds.
#[state(singleton)]
pub(crate) struct PortPool {
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
pub(crate) fn nat(
    packet: &mut Headers,
    sessions: &mut Table<Session>,
    ports: &mut PortPool,
) -> Verdict {
    if packet.is_link_local_control() || packet.is_ipv6() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let now = (packet.now() / SECOND) as u32;
    match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            session.tcp.advance(packet, direction)?;
            session.translate(packet, direction)?;
            let until = session.lease_wanted(now);
            if until != session.leased_until {
                ports.renew(session.public_port, until);
                session.leased_until = until;
            }
        }
        None if packet.from_inside() => {
            let mut session = Session {
                inside: flow.source,
                inside_port: flow.source_port,
                public_port: ports.lease(now)?,
                leased_until: now + LEASE,
                tcp: TcpState::open(packet),
            };
            session.leased_until = session.lease_wanted(now);
            ports.renew(session.public_port, session.leased_until);
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
