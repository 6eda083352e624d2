//! A NAT that gives each session a port for its lifetime. A closed session returns its port, and
//! the next session may get it at once, so that an error in the ownership of ports is detected.

use cora_core::key::{Address, FiveTuple};
use cora_core::packet::Packet;
use cora_core::state::table::Direction;
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

pub const PUBLIC: Address = Address::v4([192, 0, 2, 1]);
/// More than the concurrent clients, so that a lost close does not exhaust them at once.
const PORTS: usize = 24;
const FIRST_PORT: u16 = 40_000;
const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

plain! {
    durable struct Session {
        inside: Address,
        inside_port: u16,
        public_port: u16,
    }
}
keyed!(Session, FiveTuple, 64, true);

plain! {
    durable struct PortPool {
        next: u16,
        taken: [bool; PORTS],
    }
}

impl Default for PortPool {
    fn default() -> Self {
        Self { next: 0, taken: [false; PORTS] }
    }
}

impl Singleton for PortPool {
    const NAME: &'static str = "PortPool";
}
stored!(PortPool, Singleton, Pinned);

impl PortPool {
    /// Leases the lowest free port, so that a returned port is soon reused.
    fn lease(&mut self) -> Result<u16, Reason> {
        let at = self.taken.iter().position(|taken| !taken).ok_or(NO_PORT_LEFT)?;
        self.taken[at] = true;
        self.next = self.next.wrapping_add(1);
        Ok(FIRST_PORT + at as u16)
    }
}

/// The pool and the sessions outlive the host.
#[derive(Debug)]
pub struct Kept;

impl Variant for Kept {
    const KEPT: &'static [usize] = &[0];
}

/// The pool does not outlive the host, and sessions end with it.
#[derive(Debug)]
pub struct Mortal;

impl Variant for Mortal {
    const RESTS_ON: &'static [&'static str] = &["PortPool"];
}

/// Sabotage: the pool starts anew, and sessions go on.
#[derive(Debug)]
pub struct Anew;

impl Variant for Anew {}

fn handle<R: Reach>(
    packet: &mut Packet<'_>,
    sessions: &mut Table<Session>,
    pool: &mut Pinned<PortPool>,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let Some((direction, session)) = sessions.find_mut(&flow).map(|(way, found)| (way, *found))
    else {
        if !packet.from_inside() {
            return Drop(reasons::NotAllowed);
        }
        reach!(R, PortPool);
        let public_port = pool.value().lease()?;
        let (inside, inside_port) = (flow.source, flow.source_port);
        let session = Session { inside, inside_port, public_port };
        let answer =
            FiveTuple { destination: PUBLIC, destination_port: public_port, ..flow.reversed() };
        sessions.insert_with_reply(flow, answer, session)?;
        packet.set_source(PUBLIC)?;
        packet.set_source_port(public_port)?;
        return Transmit;
    };
    match direction {
        Direction::Original => {
            packet.set_source(PUBLIC)?;
            packet.set_source_port(session.public_port)?;
        }
        Direction::Reply => {
            packet.set_destination(session.inside)?;
            packet.set_destination_port(session.inside_port)?;
        }
    }
    if op_of(packet) == op::CLOSE {
        reach!(R, PortPool);
        let at = usize::from(session.public_port - FIRST_PORT);
        pool.value().taken[at] = false;
        sessions.remove(&flow);
    }
    Transmit
}

program! {
    struct Leasing named "leases" by FiveTuple {
        host pool: Pinned<PortPool>,
        travels sessions: Wrapped<Session>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.sessions.table(), &mut self.pool)
    }
}

impl<V: Variant> SimApp for Leasing<V> {
    const WISHES: Wishes =
        Wishes { flows: 6, hosts: 3, ops: &[op::CLOSE], expires: false, crosses: false };

    fn refuse(&mut self, seed: u64) {
        self.sessions.refuse(seed);
    }
}
