//! Many inside hosts share one public address, as in the example `nat`: each connection gets a port
//! of it, which the pool leases for as long as the connection lives.

use core::time::Duration;

use cora::prelude::*;

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
const FIRST_PORT: u16 = 32_768;
const PORTS: usize = 32_768;
/// Seconds that a lease outlives its session: for so long the NIC need not ask the pool.
const SPARE: u32 = 60;
const SECOND: u64 = 1_000_000_000;

const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

/// A translated connection, found by packets from inside and by their answers.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable)]
pub(crate) struct Session {
    inside: Address,
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

    /// When its port's lease should end, if not when it does: it outlives the session, and by two
    /// minutes at most.
    fn renewal(&self, now: u32) -> Option<u32> {
        let end = end(self.idle, now);
        // Beyond that, too, where it ends before the session may.
        let outlives = self.leased_until.wrapping_sub(end);
        (outlives > 2 * SPARE).then_some(end + SPARE)
    }

    fn translate(&self, packet: &mut Headers, direction: Direction) -> Result<(), Reason> {
        match direction {
            Direction::Original => packet.set_source_endpoint(PUBLIC, self.public_port),
            Direction::Reply => packet.set_destination_endpoint(self.inside, self.inside_port),
        }
    }
}

/// When a session ends that is silent from now on. Seconds are rounded down, sessions live to the
/// nanosecond.
fn end(idle: u16, now: u32) -> u32 {
    now + u32::from(idle) + 1
}

/// The ports of the public address: when each one's lease ends, in seconds.
#[state(singleton, durable)]
pub(crate) struct PortPool {
    next: u16,
    leased_until: Tracked<u32, PORTS>,
}

impl Default for PortPool {
    fn default() -> Self {
        Self { next: 0, leased_until: Tracked::new([0; PORTS]) }
    }
}

impl PortPool {
    /// The first free port from where the last search ended, so that a port rests before it is
    /// reused.
    fn lease(&mut self, now: u32, until: u32) -> Result<u16, Reason> {
        for _ in 0..PORTS {
            let at = usize::from(self.next) % PORTS;
            self.next = self.next.wrapping_add(1);
            if self.leased_until[at] <= now {
                let port = FIRST_PORT + at as u16;
                self.renew(port, until);
                return Ok(port);
            }
        }
        Err(NO_PORT_LEFT)
    }

    fn renew(&mut self, port: u16, until: u32) {
        if let Some(lease) = self.leased_until.get_mut(usize::from(port - FIRST_PORT)) {
            *lease = until;
        }
    }
}

/// Inside may open, from the public address; outside may only answer.
#[flow_handler]
pub(crate) fn nat(
    packet: &mut Headers,
    sessions: &mut Table<Session>,
    ports: &mut PortPool,
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
    let now = (packet.now() / SECOND) as u32;
    match sessions.find_mut(&flow) {
        Some((direction, session)) => {
            session.advance(packet, flow.protocol, direction)?;
            session.translate(packet, direction)?;
            if let Some(until) = session.renewal(now) {
                ports.renew(session.public_port, until);
                session.leased_until = until;
            }
        }
        None if packet.from_inside() => {
            if flow.destination == PUBLIC {
                return Drop(Hairpin);
            }
            if flow.source == PUBLIC {
                return Drop(MartianSource);
            }
            let tcp = TcpState::open(packet)?;
            let idle = Timeouts::NAT.seconds(flow.protocol, tcp, false);
            let leased_until = end(idle, now) + SPARE;
            let session = Session {
                inside: flow.source,
                inside_port: flow.source_port,
                public_port: ports.lease(now, leased_until)?,
                leased_until,
                idle,
                tcp,
            };
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
