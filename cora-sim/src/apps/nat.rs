//! A NAT: sessions with their own reply keys, and ports from a pool at the host.

use cora_core::key::{Address, FiveTuple};
use cora_core::packet::Packet;
use cora_core::plain::Describe;
use cora_core::state::commutative::{CountMin, Sum, TopK};
use cora_core::state::table::Direction;
use cora_core::state::{
    Commutative, Malformed, Pinned, Reach, Replica, Replicated, Singleton, Stored, Table,
};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{IDLE, SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
const PORTS: usize = 24;
pub(super) const FIRST_PORT: u16 = 40_000;
/// Duration of a lease, as in the example: twice the idle time, renewed at half time.
pub(super) const LEASE: u64 = 2 * IDLE;
pub(super) const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

plain! {
    struct Session {
        inside: Address,
        inside_port: u16,
        public_port: u16,
        leased_at: u64,
        packets: u64,
    }
}
keyed!(Session, FiveTuple, 64, true);

/// Public ports that sessions lease.
pub(super) trait Ports: Stored {
    /// Leases a port.
    fn lease(&mut self, now: u64) -> Result<u16, Reason>;

    /// The end of the lease of a port.
    fn at(&mut self, port: u16) -> &mut u64;
}

plain! {
    struct PortPool {
        next: u16,
        given: u32,
        leased_until: [u64; PORTS],
    }
}

impl Default for PortPool {
    fn default() -> Self {
        Self { next: 0, given: 0, leased_until: [0; PORTS] }
    }
}

impl Singleton for PortPool {
    const NAME: &'static str = "PortPool";
}
stored!(PortPool, Singleton, Pinned);

impl Ports for PortPool {
    fn lease(&mut self, now: u64) -> Result<u16, Reason> {
        for _ in 0..PORTS {
            let at = usize::from(self.next) % PORTS;
            self.next = (at as u16 + 1) % PORTS as u16;
            if self.leased_until[at] <= now {
                self.leased_until[at] = now + LEASE;
                self.given += 1;
                return Ok(FIRST_PORT + at as u16);
            }
        }
        Err(NO_PORT_LEFT)
    }

    fn at(&mut self, port: u16) -> &mut u64 {
        &mut self.leased_until[usize::from(port - FIRST_PORT)]
    }
}

/// Statistics of packets. Some packets make more updates of `sketch` than can be rolled back.
#[derive(Debug)]
pub struct Stats {
    bytes: Sum,
    sketch: CountMin<2, 32>,
    talkers: TopK<FiveTuple, 4>,
}

impl Replica for Stats {
    const EMPTY: Self = Self { bytes: Sum::EMPTY, sketch: CountMin::EMPTY, talkers: TopK::EMPTY };
    const UNITS: u32 = 1 + CountMin::<2, 32>::UNITS + TopK::<FiveTuple, 4>::UNITS;
    fn clear(&mut self) {
        self.talkers.clear();
    }
    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        match unit {
            0 => self.bytes.put_unit(0, out),
            1..66 => self.sketch.put_unit(unit - 1, out),
            _ => self.talkers.put_unit(unit - 66, out),
        }
    }
    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        match unit {
            0 => self.bytes.merge_unit(0, bytes),
            1..66 => self.sketch.merge_unit(unit - 1, bytes),
            _ => self.talkers.merge_unit(unit - 66, bytes),
        }
    }
    fn key(&mut self, seed: u64) {
        self.sketch.key(seed);
    }
    fn begin(&mut self, undo: bool) {
        self.bytes.begin(undo);
        self.sketch.begin(undo);
        self.talkers.begin(undo);
    }
    fn rollback(&mut self) {
        self.bytes.rollback();
        self.sketch.rollback();
        self.talkers.rollback();
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.open_list();
        self.bytes.describe(to);
        self.sketch.describe(to);
        self.talkers.describe(to);
        to.close_list();
    }
}

impl Commutative for Stats {
    const NAME: &'static str = "Stats";
}
stored!(Stats, Commutative, Replicated);

/// Returns the tuple of the answers to `flow`.
fn answer(flow: &FiveTuple, public_port: u16) -> FiveTuple {
    FiveTuple { destination: PUBLIC, destination_port: public_port, ..flow.reversed() }
}

fn translate(
    packet: &mut Packet<'_>,
    session: &Session,
    direction: Direction,
) -> Result<(), Reason> {
    match direction {
        Direction::Original => {
            packet.set_source(PUBLIC)?;
            packet.set_source_port(session.public_port)
        }
        Direction::Reply => {
            packet.set_destination(session.inside)?;
            packet.set_destination_port(session.inside_port)
        }
    }
}

fn open<R: Reach, P: Ports>(
    packet: &mut Packet<'_>,
    flow: FiveTuple,
    sessions: &mut Table<Session>,
    ports: &mut P,
) -> Verdict {
    reach!(R, P);
    let (now, public_port) = (packet.now(), ports.lease(packet.now())?);
    let (inside, inside_port) = (flow.source, flow.source_port);
    let session = Session { inside, inside_port, public_port, leased_at: now, packets: 1 };
    sessions.insert_with_reply(flow, answer(&flow, public_port), session)?;
    translate(packet, &session, Direction::Original)?;
    Transmit
}

pub(super) fn handle<R: Reach, P: Ports>(
    packet: &mut Packet<'_>,
    sessions: &mut Table<Session>,
    ports: &mut P,
    stats: &mut Stats,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let (now, op) = (packet.now(), op_of(packet));
    stats.bytes.add(packet.len() as u64);
    for _ in 0..if op == op::CLOSE { 20 } else { 1 } {
        stats.sketch.add(&flow, 1);
    }
    let Some((direction, session)) = sessions.find_mut(&flow) else {
        if !packet.from_inside() {
            return Drop(reasons::NotAllowed);
        }
        return open::<R, P>(packet, flow, sessions, ports);
    };
    session.packets += 1;
    let mut session = *session;
    stats.talkers.raise(flow, session.packets);
    translate(packet, &session, direction)?;
    if op == op::CLOSE {
        reach!(R, P);
        *ports.at(session.public_port) = 0;
        sessions.remove(&flow);
    } else if op == op::MOVE && direction == Direction::Original {
        reach!(R, P);
        let old = core::mem::replace(&mut session.public_port, ports.lease(now)?);
        *ports.at(old) = 0;
        session.leased_at = now;
        sessions.insert_with_reply(flow, answer(&flow, session.public_port), session)?;
    } else if op == op::ASK || now >= session.leased_at + LEASE / 2 {
        reach!(R, P);
        *ports.at(session.public_port) = now + LEASE;
        if let Some(session) = sessions.get_mut(&flow) {
            session.leased_at = now;
        }
    }
    Transmit
}

program! {
    struct Nat named "nat" by FiveTuple {
        host ports: Pinned<PortPool>,
        travels sessions: Wrapped<Session>,
        replica stats: Replicated<Stats>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R, _>(packet, self.sessions.table(), self.ports.value(), self.stats.value())
    }
}

impl<V: Variant> SimApp for Nat<V> {
    const WISHES: Wishes = Wishes {
        flows: 14,
        hosts: 3,
        ops: &[op::CLOSE, op::CLOSE, op::ASK, op::MOVE],
        expires: true,
        crosses: false,
    };

    fn refuse(&mut self, seed: u64) {
        self.sessions.refuse(seed);
    }
}
