//! # nat: many inside hosts share a few public addresses
//!
//! Source NAT for IPv4 (RFC 3022): everything that is sent from one endpoint inside leaves from one
//! port of one public address (RFC 4787, REQ-1 and REQ-2), 192.0.2.1 unless the configuration names
//! up to four. A session lives as long as RFC 5382, RFC 4787 and RFC 5508 ask for: for 2 h 4 min of
//! silence of an established connection, four minutes of another one of TCP, five of UDP, one of a
//! ping. When the last session of a port expires, a hook gives the port back. Services inside are
//! offered to outside by rows of a file. The pool is divided by buckets, so the program runs on any
//! number of shards: packets go by the port of their inside end, and those of a service by the
//! client's port. Checksums are updated, not recomputed; pings are
//! translated by their identifier, ICMP errors together with the packet they quote. IPv6, ARP,
//! neighbour discovery and group membership pass untranslated; packets that nobody may forward are
//! dropped by name.
//!
//! Try it:  `cargo cora run nat --nic native --in some.pcap --out out.pcap`, with other times
//! `--config Times=times.txt`, with lines like `udp 300`; with `--config Public=public.txt`, with
//! lines like `address 192.0.2.2` or `ports-per-host 1000`; and with `--config
//! Forward=forward.csv`.
//!
//! Expect:  the host holds the port pool, so it handles the first packet of a connection, and then
//! the NIC owns the connection. No other packet is a punt.
//!
//! | for programs of several crates | |
//! | --- | --- |
//! | [`nat`] | the handler |
//! | [`Session`], [`PortPool`], [`Hosts`], [`Times`], [`Public`], [`Forward`] | its states |
#![cfg_attr(target_os = "none", no_std)]

use core::net::Ipv4Addr;
#[host_only]
use core::num::NonZeroU16;
use core::time::Duration;

use cora::prelude::*;

mod hosts;
mod pool;

pub use hosts::Hosts;
use hosts::TOO_MANY_PORTS;
pub use pool::PortPool;
use pool::{ADDRESSES, FIRST_PORT, Inside, Lease};

/// The longest time that a session may be silent (s), as its table has it.
const LONGEST: u16 = 2 * 3600 + 4 * 60;

/// A translated connection, found by the packets of its opener and by their answers.
#[state(
    key = FiveTuple, reply, bucket = InsidePort, capacity = 65_536, idle = "2h4m", idle_by = Self::idle, durable, on_expire
)]
pub struct Session {
    inside: Ipv4Addr,
    inside_port: u16,
    public_port: u16,
    public: Ipv4Addr,
    /// How long it may be silent (s).
    idle: u16,
    tcp: TcpState,
    /// Of those of the pool, which address the public port is of; of a forwarded one, `FORWARDED`.
    address: u8,
}

/// In place of an address of the pool: a session that outside opened.
const FORWARDED: u8 = u8::MAX;

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

/// The public addresses, and the ports that a host may have of them.
#[state(read_mostly)]
pub struct Public {
    addresses: [Ipv4Addr; ADDRESSES],
    count: u8,
    ports_per_host: u16,
}

impl Default for Public {
    fn default() -> Self {
        Self {
            addresses: [Ipv4Addr::new(192, 0, 2, 1); ADDRESSES],
            count: 1,
            ports_per_host: u16::MAX,
        }
    }
}

#[host_only]
impl Configure for Public {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self { count: 0, ..Self::default() };
        for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
            match line.split_once(char::is_whitespace) {
                Some(("address", address)) => {
                    let address: Ipv4Addr =
                        address.trim().parse().map_err(|_| "no IPv4 address")?;
                    if read.has(Address::from(address)) {
                        return Err("an address stands there twice");
                    }
                    let place = read.addresses.get_mut(usize::from(read.count));
                    *place.ok_or("more than four addresses")? = address;
                    read.count += 1;
                }
                Some(("ports-per-host", most)) => {
                    let most = most.trim().parse::<NonZeroU16>();
                    read.ports_per_host = most.map_err(|_| "ports are from 1 to 65535")?.get();
                }
                _ if line.is_empty() => {}
                _ => return Err("a line is `address A.B.C.D`, or `ports-per-host NUMBER`"),
            }
        }
        read.count = read.count.max(1);
        Ok(read)
    }
}

impl Public {
    fn has(&self, address: Address) -> bool {
        let count = usize::from(self.count);
        self.addresses.iter().take(count).any(|public| Address::from(*public) == address)
    }
}

/// A service that outside reaches, by its public endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain, Key)]
pub struct Service {
    address: Address,
    /// 6 for TCP, 17 for UDP.
    protocol: u8,
    port: u16,
}

impl HeaderKey for Service {
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        let FiveTuple { destination, destination_port, protocol, .. } = packet.five_tuple()?;
        Ok(Self { address: destination, protocol, port: destination_port })
    }
}

/// The endpoint inside that offers a service. A version without it ends its connections.
#[state(map, key = Service, capacity = 1_024, services = Self::ends)]
pub struct Forward {
    inside: Ipv4Addr,
    inside_port: u16,
}

impl Forward {
    /// Where outside reaches the service, and where it is.
    fn ends(service: &Service, row: &Self) -> [Endpoint; 2] {
        let Service { address, protocol, port } = *service;
        let public = Endpoint { address, port, protocol };
        [public, Endpoint { address: row.inside.into(), port: row.inside_port, protocol }]
    }
}

impl Session {
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

    #[inline(always)]
    fn translate(&self, packet: &mut Headers, direction: Direction) -> Result<(), Reason> {
        if (direction == Direction::Original) == (self.address != FORWARDED) {
            packet.set_source_endpoint(self.public.into(), self.public_port)
        } else {
            packet.set_destination_endpoint(self.inside.into(), self.inside_port)
        }
    }
}

/// Inside may open, from a public address; outside may answer, and open forwarded services.
#[flow_handler]
pub fn nat(
    packet: &mut Headers,
    sessions: &mut Table<Session>,
    ports: &mut PortPool,
    hosts: &mut Merged<Hosts>,
    times: &Times,
    public: &Public,
    forwards: &Map<Forward>,
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
    if let Some((direction, session)) = sessions.find_mut(&flow) {
        session.advance(packet, flow.protocol, direction, &times.idle)?;
        session.translate(packet, direction)?;
        return Transmit;
    }
    // A host inside has answers from the servers that it asked, and from nobody else.
    if packet.from_inside() && public.has(flow.destination) {
        return Drop(Hairpin);
    }
    if packet.from_inside() && public.has(flow.source) {
        return Drop(MartianSource);
    }
    // A connection from before a restart goes on by another port, so that its server resets it,
    // rather than hang.
    let (session, answer) = if packet.from_inside() {
        let tcp = TcpState::pick_up(packet)?;
        let idle = times.idle.seconds(flow.protocol, tcp, false);
        let from = Inside {
            // Packets without an IPv4 address have passed.
            address: Ipv4Addr::from_bits(flow.source.bits() as u32),
            port: flow.source_port,
            protocol: flow.protocol,
        };
        if !ports.has(&from)
            && hosts.merged().held(from.address) >= u64::from(public.ports_per_host)
        {
            return Drop(TOO_MANY_PORTS);
        }
        let Lease { address, port, is_new } = ports.open(&from, public.count)?;
        if is_new {
            hosts.update().open(from.address);
        }
        let own = public.addresses[usize::from(address) % ADDRESSES];
        let (inside, inside_port) = (from.address, from.port);
        let public_port = port.number();
        let session = Session { inside, inside_port, public_port, public: own, idle, tcp, address };
        (session, flow.answered_to(own.into(), port))
    } else {
        let Some(forward) = forwards.get(&Service::of(packet)?) else { return Drop(NotAllowed) };
        if flow.destination_port >= FIRST_PORT {
            return Drop(NotAllowed);
        }
        forwarded(packet, &flow, forward, &times.idle)?
    };
    let kept = sessions.insert_answered(flow, answer, session);
    if kept.is_err() {
        close(&session, ports, hosts);
    }
    kept?;
    session.translate(packet, Direction::Original)?;
    Transmit
}

/// A connection that outside opens to a service, and the key of its answers.
fn forwarded(
    packet: &Headers,
    flow: &FiveTuple,
    forward: &Forward,
    times: &Timeouts,
) -> Result<(Session, Answer), Reason> {
    let tcp = TcpState::pick_up(packet)?;
    let session = Session {
        inside: forward.inside,
        inside_port: forward.inside_port,
        public_port: flow.destination_port,
        public: Ipv4Addr::from_bits(flow.destination.bits() as u32),
        idle: times.seconds(flow.protocol, tcp, false),
        tcp,
        address: FORWARDED,
    };
    Ok((session, flow.answered_by(forward.inside.into(), forward.inside_port)))
}

/// A session expired: it holds its port no longer.
#[on_expire]
pub fn give_back(session: &Ended<Session>, ports: &mut PortPool, hosts: &mut Merged<Hosts>) {
    close(&session.entry, ports, hosts);
}

/// A session is over, and holds no port of the pool any more.
fn close(session: &Session, ports: &mut PortPool, hosts: &mut Merged<Hosts>) {
    let Session { address, public_port, inside, .. } = *session;
    if address != FORWARDED && ports.close(address, public_port) {
        hosts.update().close(inside);
    }
}

#[cfg(test)]
mod tests;
