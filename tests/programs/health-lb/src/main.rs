//! # health-lb: connections to one address go to backends that answer
//!
//! To test, not to copy. Backends are rows of a file, inside; clients are outside. A timer sends
//! each backend an echo request a second, eight at a time, in turns. One that left three of them
//! without an answer gets no new connection until it answers again. Which of the others gets it,
//! the flow's hash decides. A connection stays with its backend. If a client waits for an answer
//! for a second, its next packet asks whether the backend is healthy; if it is not, the connection
//! ends: a SYN or a datagram opens another one elsewhere at once, any other segment is answered by
//! a reset. Answers take the backends' way to their router, so nobody asks for the address that
//! probes come from.
//!
//! Try it: `cargo cora run health-lb --nic native --in some.pcap --config Service=service.txt
//! --config Backend=backends.csv`, where service.txt says `192.0.2.80` and backends.csv has the
//! line `number, address, mac, mode` and below it `0, 10.1.0.1, 02:00:00:00:01:01, up`. A number is
//! from 0 to 31, and stays with its backend. A mode is `up`, `drain` (no new connections) or `down`
//! (none at all, and no probes).
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::net::Ipv4Addr;
use core::time::Duration;

use cora::prelude::*;

#[cfg(test)]
mod tests;

const NO_BACKEND: Reason = Reason::new("no-backend");
const NO_SESSION: Reason = Reason::new("no-session");
const PROBE_ANSWER: Reason = Reason::new("probe-answer");

/// The numbers of backends are below this one.
const BACKENDS: u8 = 32;
/// Probes of a run: the outbox has no room for more.
const AT_ONCE: u8 = 8;
/// So many probes without an answer are a failure.
const MOST_MISSED: u8 = 3;
/// The identifier of probes to backend 0, and where all probes come from.
const IDENTIFIER: u16 = 0xc000;
const PROBER: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// How long a client waits until its backend is suspected (ns).
const PATIENCE: u64 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Mode {
    Up,
    Drain,
    Down,
}

#[host_only]
impl core::str::FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "up" => Ok(Self::Up),
            "drain" => Ok(Self::Drain),
            "down" => Ok(Self::Down),
            _ => Err("a mode is `up`, `drain` or `down`"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Number {
    number: u8,
}

#[state(map, key = Number, capacity = BACKENDS)]
struct Backend {
    address: Ipv4Addr,
    mac: Mac,
    mode: Mode,
}

/// The address that clients know.
#[state(read_mostly)]
struct Service {
    address: Ipv4Addr,
}

impl Default for Service {
    fn default() -> Self {
        Self { address: Ipv4Addr::new(192, 0, 2, 80) }
    }
}

#[host_only]
impl Configure for Service {
    fn configure(text: &str) -> Result<Self, &'static str> {
        Ok(Self { address: text.trim().parse().map_err(|_| "write one IPv4 address")? })
    }
}

/// A connection with its backend.
#[state(key = FiveTuple, reply, capacity = 1 << 18, idle = "2h4m", idle_by = Self::idle, durable,
        on_expire)]
struct Session {
    number: u8,
    address: Ipv4Addr,
    tcp: TcpState,
    /// Since when the client waits for an answer (ns); 0 if it doesn't.
    waits_since: u64,
}

impl Session {
    fn idle(&self) -> Duration {
        self.tcp.idle()
    }

    /// Another packet. Whether it fits the connection is the ends' to judge.
    fn follow(&mut self, packet: &Headers<'_>, direction: Direction) {
        let _fits = self.tcp.advance(packet, direction).is_ok();
        if direction == Direction::Reply {
            self.waits_since = 0;
        } else if self.waits_since == 0 && wants_answer(packet) {
            self.waits_since = packet.now();
        }
    }

    fn is_suspect(&self, packet: &Headers<'_>) -> bool {
        let since = self.waits_since;
        since > 0 && packet.now() - since >= PATIENCE && wants_answer(packet)
    }
}

/// Acknowledgements and errors want none.
fn wants_answer(packet: &Headers<'_>) -> bool {
    let asks = |tcp: TcpHeader| tcp.payload_len > 0 || tcp.flags.syn() || tcp.flags.fin();
    packet.tcp().map_or(!packet.is_icmp_error(), asks)
}

/// The probes of a backend, and its living sessions.
#[derive(Clone, Copy, Default, Plain)]
struct Check {
    /// When the last probe was sent (ns), which is in the probe.
    asked_at: u64,
    probes: u64,
    /// Probes since the last answer. The last one may still be on its way.
    unanswered: u8,
    failures: u32,
    sessions: u32,
}

#[state(singleton, durable)]
#[derive(Default)]
struct Health {
    /// The next backend in turn.
    next: u8,
    checks: [Check; BACKENDS as usize],
}

impl Health {
    fn of(&mut self, number: u8) -> &mut Check {
        &mut self.checks[usize::from(number % BACKENDS)]
    }

    fn is_healthy(&self, number: u8) -> bool {
        self.checks[usize::from(number % BACKENDS)].unanswered <= MOST_MISSED
    }
}

/// The backend of a new connection.
fn choose(flow: &FiveTuple, health: &Health, backends: &Map<Backend>) -> Result<u8, Reason> {
    let mut willing = (0..BACKENDS).filter(|number| {
        let is_up = backends.get(&Number { number: *number }).is_some_and(|it| it.mode == Mode::Up);
        is_up && health.is_healthy(*number)
    });
    let count = willing.clone().count() as u64;
    let place = sip_hash([0; 2], &flow.words()).checked_rem(count).ok_or(NO_BACKEND)?;
    willing.nth(place as usize).ok_or(NO_BACKEND)
}

fn sent_to(packet: &mut Packet<'_>, backend: &Backend) -> Verdict {
    packet.set_destination(backend.address.into())?;
    packet.set_mac_destination(backend.mac.0)?;
    Transmit
}

/// Answers a segment of no known connection as its end would (RFC 9293, 3.10.7.1).
fn refuse(packet: &mut Packet<'_>) -> Verdict {
    let tcp = packet.tcp().filter(|tcp| tcp.flags.ack() && !tcp.flags.rst()).ok_or(NO_SESSION)?;
    packet.turn_back()?;
    packet.set_tcp(&tcp.reset_back())?;
    Redirect(packet.port())
}

#[flow_handler]
fn balance(
    packet: &mut Packet,
    sessions: &mut Table<Session>,
    health: &mut Health,
    backends: &Map<Backend>,
    service: &Service,
) -> Verdict {
    let Ok(flow) = packet.five_tuple() else { return Transmit };
    let (known, is_inside) = (Address::from(service.address), packet.from_inside());
    if is_inside && flow.destination == known && packet.icmp_query() == Some(Query::Answer) {
        let number =
            flow.source_port.wrapping_sub(IDENTIFIER).try_into().map_err(|_| NotAllowed)?;
        let backend = backends.get(&Number { number }).ok_or(NotAllowed)?;
        let check = health.of(number);
        // An answer to an earlier probe came too late.
        let is_right = packet.payload().starts_with(&check.asked_at.to_be_bytes());
        if is_right && Address::from(backend.address) == flow.source {
            check.unanswered = 0;
        }
        return Drop(PROBE_ANSWER);
    }
    if let Some((direction, session)) = sessions.find_mut(&flow) {
        if is_inside != (direction == Direction::Reply) {
            return Drop(NotAllowed);
        }
        if is_inside {
            session.follow(packet, direction);
            packet.set_source(known)?;
            return Transmit;
        }
        let number = session.number;
        let backend = backends.get(&Number { number });
        let backend = backend.filter(|it| it.address == session.address && it.mode != Mode::Down);
        if let Some(backend) = backend.filter(|_| !session.tcp.reopens(packet)) {
            if !session.is_suspect(packet) {
                session.follow(packet, direction);
                return sent_to(packet, backend);
            }
            // Here, and for a new connection, the packet needs the host.
            if health.is_healthy(number) {
                session.waits_since = 0;
                session.follow(packet, direction);
                return sent_to(packet, backend);
            }
        }
        health.of(number).sessions -= 1;
        sessions.remove(&flow);
    }
    if is_inside || flow.destination != known {
        return Transmit;
    }
    packet.forwardable()?;
    let Ok(tcp) = TcpState::open(packet) else { return refuse(packet) };
    let number = choose(&flow, health, backends)?;
    let backend = backends.get(&Number { number }).ok_or(NO_BACKEND)?;
    let answers = FiveTuple { source: backend.address.into(), ..flow.reversed() };
    let waits_since = packet.now();
    let session = Session { number, address: backend.address, tcp, waits_since };
    sessions.insert_with_reply(flow, answers, session)?;
    health.of(number).sessions += 1;
    sent_to(packet, backend)
}

#[on_expire]
fn close(session: &Ended<Session>, health: &mut Health) {
    health.of(session.entry.number).sessions -= 1;
}

/// An echo request to a backend. The answer brings its time back.
fn echo_request(service: Ipv4Addr, number: u8, backend: &Backend, at: u64) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&backend.mac.0);
    frame[6..12].copy_from_slice(&PROBER);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 36, 0, 0, 0, 0, 64, protocol::ICMP]);
    frame[26..30].copy_from_slice(&service.octets());
    frame[30..34].copy_from_slice(&backend.address.octets());
    let sum = checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34] = 8;
    frame[38..40].copy_from_slice(&(IDENTIFIER + u16::from(number)).to_be_bytes());
    frame[42..50].copy_from_slice(&at.to_be_bytes());
    let sum = checksum::internet(&frame[34..50]);
    frame[36..38].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[every("1s")]
fn probe(
    tick: &Tick,
    health: &mut Health,
    backends: &Map<Backend>,
    service: &Service,
    out: &mut Outbox,
) {
    let mut left = AT_ONCE;
    for _ in 0..BACKENDS {
        let number = health.next;
        if let Some(backend) = backends.get(&Number { number }).filter(|it| it.mode != Mode::Down) {
            let frame = echo_request(service.address, number, backend, tick.at);
            if left == 0 || out.send_frame(&frame, Port::INSIDE).is_err() {
                return;
            }
            left -= 1;
            let check = health.of(number);
            (check.asked_at, check.probes) = (tick.at, check.probes + 1);
            check.unanswered = check.unanswered.saturating_add(1);
            check.failures += u32::from(check.unanswered == MOST_MISSED + 1);
        }
        health.next = (number + 1) % BACKENDS;
    }
}

cora::app!(balance);
