//! # syn-proxy: servers see only clients that answer
//!
//! Servers are inside. A SYN from outside is answered here, by a SYN cookie (RFC 4987, 3.6): its
//! offer is in the sequence number of the answer, under a keyed hash, and nothing is remembered.
//! Only a client that acknowledges the cookie has an entry made; its acknowledgement becomes the
//! SYN that the server sees. When the server answers, the client's window opens, which was 0 until
//! then, and from then on the two sequences are spliced. Connections from inside, and all that is
//! not TCP, pass as they are.
//!
//! Try it:  `cargo cora run syn-proxy --nic native --in some.pcap --out out.pcap --config
//! Settings=settings.txt`
//!
//! where settings.txt says `secret` and 32 hexadecimal digits. Without it the secret is the one in
//! the source: for trials only. Expect: `redirect` counts packets answered here (`Counts` says
//! how), `not-answered` those sent to many. A flood of SYNs leaves no entries.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

mod cookie;
mod handshake;
mod settings;
mod splice;
#[cfg(test)]
mod tests;

use handshake::{reset, wake};

const BAD_CHECKSUM: Reason = Reason::new("bad-checksum");

/// A connection with a client that has answered, or one that inside opened. `idle` is the longest
/// time that one may be silent.
#[state(key = FiveTuple, reply, capacity = 262_144, idle = "2h4m", idle_by = Self::idle, durable)]
struct Connection {
    tcp: TcpState,
    /// Outside opened it, so that its ends count in different sequences.
    spliced: bool,
    /// The sequence number that the client was answered with.
    cookie: u32,
    client_seq: u32,
    /// From the server's sequence numbers to those that the client knows, once the server has
    /// answered.
    shift: u32,
    /// By how many bits the server scales its windows; [`UNSCALED`](splice::UNSCALED) when it does
    /// not.
    server_scale: u8,
}

/// Makes and checks cookies; written by the control plane alone.
#[state(read_mostly)]
struct Settings {
    secret: [u64; 2],
    /// The secret of before; its cookies are still good.
    previous: [u64; 2],
    /// The largest segment that clients are told to send over IPv4; over IPv6 20 bytes less.
    mss: u16,
}

/// The answers given here.
#[state(commutative)]
struct Counts {
    syns_answered: Sum,
    opened: Sum,
    resets: Sum,
}

impl Connection {
    /// The server has not answered yet.
    const fn is_opening(&self) -> bool {
        self.spliced && matches!(self.tcp, TcpState::SynSent)
    }

    /// How long it may be silent: established as RFC 5382 asks (REQ-5), else the times of Linux's
    /// connection tracking.
    fn idle(&self) -> Duration {
        Duration::from_secs(match self.tcp {
            TcpState::Established => 2 * 3600 + 4 * 60,
            TcpState::FinWait | TcpState::TimeWait => 120,
            TcpState::LastAck => 30,
            TcpState::Closed => 10,
            TcpState::New
            | TcpState::SynSent
            | TcpState::SimultaneousOpen
            | TcpState::SynReceived
            | TcpState::CloseWait => 60,
        })
    }
}

/// Whether the segment begins a connection, whatever came before it.
const fn is_syn(flags: TcpFlags) -> bool {
    flags.syn() && !flags.ack() && !flags.rst() && !flags.fin()
}

/// A segment without a connection, or of a client that begins anew.
fn greet(
    packet: &mut Packet,
    flow: FiveTuple,
    connections: &mut Table<Connection>,
    settings: &Settings,
    counts: &mut Counts,
) -> Verdict {
    let segment = packet.tcp().ok_or(BadTcpState)?;
    let flags = segment.flags;
    if packet.from_inside() && is_syn(flags) {
        connections.insert(flow, Connection::untouched(packet)?)?;
        return Transmit;
    }
    if is_syn(flags) {
        handshake::answer(packet, &flow, settings)?;
        counts.syns_answered.add(1);
        return Redirect(packet.port());
    }
    if flags.rst() || flags.syn() || !flags.ack() {
        return Drop(BadTcpState);
    }
    let offered = settings.offered(&flow, &segment, packet.now());
    let Some((client_seq, offer)) = offered.filter(|_| !packet.from_inside()) else {
        reset(packet)?;
        counts.resets.add(1);
        return Redirect(packet.port());
    };
    // A packet that makes an entry is looked at whole; all others keep their checksum right, or
    // wrong.
    if !checksum::verify(packet) {
        return Drop(BAD_CHECKSUM);
    }
    connections.insert(flow, Connection::opening(client_seq, &segment))?;
    counts.opened.add(1);
    handshake::open(packet, client_seq, &offer)?;
    Transmit
}

/// Splices connections of clients outside with servers inside.
#[flow_handler]
fn syn_proxy(
    packet: &mut Packet,
    connections: &mut Table<Connection>,
    settings: &Settings,
    counts: &mut Counts,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let is_tcp = packet.protocol()? == protocol::TCP;
    let flow = match packet.five_tuple() {
        Ok(flow) if flow.protocol == protocol::TCP => flow,
        Err(reason) if is_tcp => return Drop(reason),
        _ => return Transmit,
    };
    let Some((direction, connection)) = connections.find_mut(&flow) else {
        if packet.is_icmp_error() {
            return Transmit;
        }
        return greet(packet, flow, connections, settings, counts);
    };
    let Some(segment) = packet.tcp() else {
        connection.complain(packet, direction);
        return Transmit;
    };
    let is_anew = direction == Direction::Original
        && connection.spliced
        && connection
            .is_left(&segment, || settings.offered(&flow, &segment, packet.now()).is_some());
    if is_anew {
        return greet(packet, flow, connections, settings, counts);
    }
    if !connection.spliced {
        connection.tcp.advance(packet, direction)?;
    } else if direction == Direction::Original && connection.is_opening() {
        connection.ask_again(packet, &segment)?;
    } else if direction == Direction::Original {
        connection.towards_server(packet, &segment)?;
    } else if connection.is_answer(&segment) {
        connection.answered(packet, &segment)?;
        wake(packet, connection, &segment)?;
    } else if connection.is_opening() {
        // The server knows these ends from before, and refuses, or says where it was.
        if !connection.refused(packet, &segment)? {
            reset(packet)?;
            counts.resets.add(1);
            return Redirect(packet.port());
        }
    } else {
        connection.towards_client(packet, &segment)?;
    }
    Transmit
}

cora::app!(syn_proxy);
