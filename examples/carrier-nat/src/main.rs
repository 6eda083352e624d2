//! # carrier-nat: subscribers share addresses by blocks of ports
//!
//! Source NAT for IPv4 as carriers need it (RFC 6888): each subscriber has a block of 1,024 ports
//! of a public address. Its own address says which (RFC 7422), so who had a port is known without a
//! log. Within the block, everything sent from one inside address and port has one public port,
//! wherever it goes (RFC 4787, REQ-1); outside may answer, and nobody else comes in. Subscribers
//! reach each other by their public ports (hairpin, REQ-9): such a packet leaves at port 2, and
//! comes in there again, to be translated for whom it is for.
//!
//! Try it:  `cargo cora run carrier-nat --nic native --in some.pcap --out out.pcap`, with networks
//! of yours `--config Subscribers=subscribers.txt`, with lines like `100.64.0.0/20 192.0.2.1`.
//!
//! Expect:  the host holds the mappings, so it handles the first packet of a session; then the NIC
//! owns the session. The mappings are divided by buckets, so the program runs on any number of
//! shards: packets go by the port of their inside end.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

mod pool;
mod subscribers;

use core::net::Ipv4Addr;
use core::time::Duration;

use cora::prelude::*;

use pool::{Inside, Pool};
use subscribers::{Block, Subscribers};

/// Where packets from subscriber to subscriber leave, and come in again.
const HAIRPIN: Port = Port(2);

const NO_MAPPING: Reason = Reason::new("no-mapping");
const NO_SUBSCRIBER: Reason = Reason::new("no-subscriber");

/// A translated session, found by the packets of its opener and by their answers.
#[state(
    key = FiveTuple, reply, bucket = InsidePort, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable, on_expire
)]
struct Session {
    inside: Inside,
    public: Ipv4Addr,
    public_port: u16,
    /// How long it may be silent (s).
    idle: u16,
    tcp: TcpState,
    /// Another subscriber opened it.
    is_asked: bool,
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
        let before = self.tcp;
        self.tcp.advance(packet, direction)?;
        if self.tcp != before {
            self.idle = Timeouts::NAT.seconds(protocol, self.tcp, false);
        }
        Ok(())
    }

    fn translate(&self, packet: &mut Headers, direction: Direction) -> Result<(), Reason> {
        if (direction == Direction::Original) == self.is_asked {
            packet.set_destination_endpoint(self.inside.address.into(), self.inside.port)
        } else {
            packet.set_source_endpoint(self.public.into(), self.public_port)
        }
    }
}

/// Inside may open, to outside and to each other's public ports; outside may only answer.
#[flow_handler]
fn carrier_nat(
    packet: &mut Headers,
    sessions: &mut Table<Session>,
    pool: &mut Pool,
    subscribers: &Subscribers,
) -> Verdict {
    let comes_back = packet.port() == HAIRPIN;
    if comes_back && (packet.is_link_local_control() || packet.is_ipv6()) {
        return Drop(NO_MAPPING);
    }
    if packet.is_link_local_control() {
        return Transmit;
    }
    // Subscribers that share an address send from it to it.
    if !comes_back {
        packet.forwardable()?;
    }
    if packet.is_ipv6() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    if packet.is_redirect() {
        return Drop(IcmpRedirect);
    }
    let turns = packet.from_inside() && subscribers.share(v4(flow.destination));
    if let Some((direction, session)) = sessions.find_mut(&flow) {
        session.advance(packet, flow.protocol, direction)?;
        session.translate(packet, direction)?;
        return leave(packet, turns);
    }
    if packet.from_inside() && subscribers.share(v4(flow.source)) {
        return Drop(MartianSource);
    }
    // An identifier is no port: nobody is meant by a ping of a public address.
    if (turns || comes_back) && !flow.has_ports() {
        return Drop(NO_MAPPING);
    }
    if !packet.from_inside() && !comes_back {
        return Drop(NotAllowed);
    }
    let tcp = TcpState::pick_up(packet)?;
    let idle = Timeouts::NAT.seconds(flow.protocol, tcp, false);
    let (session, answer) = if comes_back {
        let (public, public_port) = (v4(flow.destination), flow.destination_port);
        let block = Block::of(public, public_port).ok_or(NO_MAPPING)?;
        let inside = pool.owner(block, public_port, flow.protocol).ok_or(NO_MAPPING)?;
        pool.join(block, public_port, flow.protocol);
        let answer = flow.answered_by(inside.address.into(), inside.port);
        (Session { inside, public, public_port, idle, tcp, is_asked: true }, answer)
    } else {
        let inside = Inside { address: v4(flow.source), port: flow.source_port };
        let block = subscribers.block(inside.address).ok_or(NO_SUBSCRIBER)?;
        let port = pool.open(block, inside, flow.protocol)?;
        let (public, public_port) = (block.public, port.number());
        let answer = flow.answered_to(public.into(), port);
        (Session { inside, public, public_port, idle, tcp, is_asked: false }, answer)
    };
    let kept = sessions.insert_answered(flow, answer, session);
    if kept.is_err() {
        close(&session, flow.protocol, pool);
    }
    kept?;
    session.translate(packet, Direction::Original)?;
    leave(packet, turns)
}

/// Sends the packet on. One for another subscriber turns round: it is for the link that it came
/// from.
fn leave(packet: &mut Headers, turns: bool) -> Verdict {
    if !turns {
        return Transmit;
    }
    let (from, to) = (packet.mac_source()?, packet.mac_destination()?);
    packet.set_mac_source(to)?;
    packet.set_mac_destination(from)?;
    Redirect(HAIRPIN)
}

/// An address of a packet of IPv4.
fn v4(address: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.bits() as u32)
}

/// A session expired: its mapping has one session less.
#[on_expire]
fn give_back(session: &Ended<Session>, pool: &mut Pool) {
    close(&session.entry, session.key.protocol, pool);
}

/// A session is over.
fn close(session: &Session, protocol: u8, pool: &mut Pool) {
    if let Some(block) = Block::of(session.public, session.public_port) {
        pool.close(block, session.public_port, protocol);
    }
}

cora::app!(carrier_nat);

#[cfg(test)]
mod tests;
