//! # ids: scans how connections begin
//!
//! An inline intrusion detector. It reassembles the first 1,920 bytes of each direction of a TCP
//! connection, and scans them for the patterns of a file. Of a UDP flow it scans the first datagram
//! of each direction. A signature that matches is counted by its kind. Its row names an action: the
//! flow passes all the same, this and all later packets of it are dropped, or both ends get a reset
//! as well.
//!
//! A connection has a small entry for its whole life. Each direction also has a buffer of 2 KB,
//! from its first data until its beginning was scanned. A buffer expires after 30 seconds without a
//! packet. Later packets touch the small entry alone.
//!
//! The first copy of a byte counts: a retransmission with other content is dropped, so the receiver
//! gets the bytes that were scanned. The scan goes on where it stopped if its buffer has expired.
//!
//! Try it:  `cargo cora run ids --nic native --in some.pcap --config
//! Signatures=examples/ids/signatures.txt --ipfix alerts.ipfix`
//!
//! Expect:  packets of refused flows have the outcome `signature`; `--state-out` has the counts by
//! kind. Both tables travel with their flows; both sides have the signatures.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

mod automaton;
#[cfg(not(target_os = "none"))]
mod compile;
mod head;
mod progress;
#[cfg(test)]
mod tests;

use automaton::{Action, Chunk, Found, KINDS, Signatures, Traffic};
use head::Head;
use progress::{Part, Progress};

const SIGNATURE: Reason = Reason::new("signature");

/// How long a refused flow is remembered.
const REFUSED: Duration = Duration::from_secs(300);

/// `firewallEvent`: 1 for a flow that was created, 3 for one that was denied.
const FIREWALL_EVENT: Element = Element::iana(233, 1);
/// The enterprise number for examples (RFC 5612): elements of this program.
const EXAMPLE: u32 = 32_473;
/// The kinds that matched, as bits.
const MATCHED: Element = Element { enterprise: EXAMPLE, number: 1, width: 2 };
/// The row of the signature that decided, from 1.
const DECIDED_BY: Element = Element { enterprise: EXAMPLE, number: 2, width: 2 };

/// A TCP connection since its SYN, or a UDP flow. `idle` is the longest time that one may be
/// silent.
#[state(
    key = FiveTuple,
    reply,
    capacity = 1 << 18,
    idle = "2h4m",
    idle_by = Self::idle,
    assured_by = Self::is_assured,
    recorded
)]
struct Connection {
    tcp: TcpState,
    answered: bool,
    /// The strictest action of the signatures that matched.
    action: Action,
    /// The kinds of the signatures that matched, as bits.
    matched: u16,
    /// The row of the signature that decided, from 1.
    decided_by: u16,
    /// The direction of the end that opened the connection, and that of the other end.
    original: Progress,
    reply: Progress,
}

/// How many flows matched.
#[state(commutative)]
struct Alerts {
    /// Flows with a match, by the kind of the signature.
    kinds: Sums<KINDS>,
}

impl Connection {
    fn new(tcp: TcpState, original: Progress, reply: Progress) -> Self {
        let (action, matched, decided_by) = (Action::Pass, 0, 0);
        Self { tcp, answered: false, action, matched, decided_by, original, reply }
    }

    /// The entry of a packet without one, and its key. A connection that was open before the run,
    /// or silent for longer than its entry lived, is scanned from this packet on. Its server is
    /// taken to be the end with the lower port.
    fn begin(packet: &Headers, flow: FiveTuple) -> Result<(FiveTuple, Self), Reason> {
        let state = TcpState::pick_up(packet)?;
        let Some(tcp) = packet.tcp() else {
            // A datagram has no place in a stream.
            return Ok((flow, Self::new(state, Progress::at(0), Progress::at(0))));
        };
        if tcp.flags.syn() {
            return Ok((flow, Self::new(state, Progress::UNSEEN, Progress::UNSEEN)));
        }
        let (own, other) = (Progress::at(tcp.seq), Progress::at(tcp.ack));
        Ok(if tcp.source_port < tcp.destination_port {
            (flow.reversed(), Self::new(state, other, own))
        } else {
            (flow, Self::new(state, own, other))
        })
    }

    fn idle(&self) -> Duration {
        // Longer than the pauses between retransmissions.
        if self.is_refused() { REFUSED } else { self.tcp.idle() }
    }

    /// Whether it stays in a full table. Connections of a flood do not.
    fn is_assured(&self) -> bool {
        self.answered && self.tcp.goes_on()
    }

    fn is_refused(&self) -> bool {
        self.action >= Action::Drop
    }

    /// Updates the state and the sequence numbers for one more packet.
    fn advance(&mut self, packet: &Headers, direction: Direction) -> Result<(), Reason> {
        self.tcp.advance(packet, direction)?;
        self.answered |= direction == Direction::Reply;
        let (own, other) = match direction {
            Direction::Original => (&mut self.original, &mut self.reply),
            Direction::Reply => (&mut self.reply, &mut self.original),
        };
        if let Some(tcp) = packet.tcp() {
            own.follow(&tcp, other);
        }
        Ok(())
    }

    fn progress(&mut self, direction: Direction) -> &mut Progress {
        match direction {
            Direction::Original => &mut self.original,
            Direction::Reply => &mut self.reply,
        }
    }

    /// Takes the result of a scan. Returns the kinds that are new to the flow.
    fn judge(&mut self, found: Found) -> u16 {
        let new = found.kinds & !self.matched;
        self.matched |= new;
        if found.action > self.action {
            (self.action, self.decided_by) = (found.action, found.row);
            if self.is_refused() {
                // A SYN opens another connection.
                self.tcp = TcpState::Closed;
            }
        }
        new
    }

    /// The keys of the buffers to remove: their beginning was scanned, the flow is refused, or it
    /// is closed and all its bytes were acknowledged.
    fn release(&mut self, flow: FiveTuple, direction: Direction) -> [Option<FiveTuple>; 2] {
        let is_over =
            self.tcp.is_closed() && self.original.has_arrived() && self.reply.has_arrived();
        let is_done = self.is_refused() || is_over;
        let (original, reply) = match direction {
            Direction::Original => (flow, flow.reversed()),
            Direction::Reply => (flow.reversed(), flow),
        };
        [
            self.original.release(is_done).then_some(original),
            self.reply.release(is_done).then_some(reply),
        ]
    }
}

impl Alerts {
    fn note(&mut self, kinds: u16) {
        for kind in 0..KINDS {
            if kinds >> kind & 1 == 1 {
                self.kinds.add(kind, 1);
            }
        }
    }
}

/// A flow with a match is reported when it ends.
impl FlowRecord for Connection {
    fn record(&self, key: &FiveTuple, _end: End, record: &mut Record<'_>) {
        if self.matched != 0 {
            record.five_tuple(key);
            record.number(FIREWALL_EVENT, if self.is_refused() { 3_u8 } else { 1 });
            record.number(MATCHED, self.matched);
            record.number(DECIDED_BY, self.decided_by);
        }
    }
}

#[flow_handler]
fn inspect(
    packet: &mut Packet,
    connections: &mut Table<Connection>,
    heads: &mut Table<Head>,
    signatures: &Signatures,
    alerts: &mut Alerts,
    out: &mut Outbox,
) -> Verdict {
    let flow = match packet.five_tuple() {
        Ok(flow) if is_scanned(packet, &flow) => flow,
        // A fragment may hide a pattern.
        Err(why) if why != NotIp && why != NoFlow => return Drop(why),
        _ => return Transmit,
    };
    let (direction, connection) = match connections.find_mut(&flow) {
        Some(known) if !known.1.tcp.reopens(packet) => known,
        _ => {
            let (key, connection) = Connection::begin(packet, flow)?;
            connections.remove(&flow);
            connections.insert(key, connection)?;
            connections.find_mut(&flow).ok_or(NoFlow)?
        }
    };
    if !connection.is_refused() {
        connection.advance(packet, direction)?;
        // Most packets have no bytes to scan, and reach for nothing more.
        if let Some(part) = connection.progress(direction).part(packet) {
            read(packet, &flow, part, (direction, connection), heads, signatures, alerts)?;
        }
    }
    for key in connection.release(flow, direction).into_iter().flatten() {
        heads.remove(&key);
    }
    if !connection.is_refused() {
        return Transmit;
    }
    if connection.action == Action::Reset && packet.tcp_flags().is_some_and(TcpFlags::ack) {
        out.reset_both(packet)?;
    }
    Drop(SIGNATURE)
}

/// Scans the bytes of a packet that belong to the beginning of its direction.
fn read(
    packet: &Packet,
    flow: &FiveTuple,
    part: Part<'_>,
    (direction, connection): (Direction, &mut Connection),
    heads: &mut Table<Head>,
    signatures: &Signatures,
    alerts: &mut Alerts,
) -> Result<(), Reason> {
    let progress = connection.progress(direction);
    // The receiver discards it, too.
    if !checksum::verify(packet) {
        return Err(BadChecksum);
    }
    let of = Traffic::of(flow, direction);
    let found = if flow.protocol == protocol::UDP {
        progress.datagram(part, signatures, of)
    } else {
        let is_there = heads.get(flow).is_some_and(|head| head.is_of(progress))
            || heads.insert(*flow, Head::after(progress)).is_ok();
        match heads.get_mut(flow) {
            Some(head) if is_there => {
                progress.hold();
                let chunk = head.take(progress.scanned, part)?;
                progress.scan(signatures, chunk, of)
            }
            // The table is full: bytes in order need no buffer.
            _ => progress.straight(part, signatures, of).ok_or(TableFull)?,
        }
    };
    alerts.note(connection.judge(found));
    Ok(())
}

/// An ICMP error has the five-tuple of the packet that it quotes.
fn is_scanned(packet: &Headers, flow: &FiveTuple) -> bool {
    matches!(flow.protocol, protocol::TCP | protocol::UDP) && !packet.is_icmp_error()
}

cora::app!(inspect);
