//! States of every kind, and a handler that takes them all.
#![deny(warnings, missing_docs, unused_qualifications, elided_lifetimes_in_paths)]

use cora::prelude::*;

/// Keyed by the flow, found by the reply too.
#[state(key = FiveTuple, reply, capacity = 64 * 1024, idle = "1h30m")]
#[derive(Debug, PartialEq)]
pub struct Session {
    /// The connection.
    pub tcp: TcpState,
    /// How it is treated.
    pub mode: Mode,
    bytes: [u64; 2],
}

/// Part of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
pub enum Mode {
    /// As it comes.
    Free,
    /// Held back.
    Limited = 7,
}

/// A set: nothing but the key.
#[state(key = SourceAddress, capacity = 1 << 10, idle = "90s")]
pub struct Seen {}

/// Numbers to give away.
#[state(singleton)]
#[derive(Clone, Copy, Default)]
pub struct Ports {
    next: u16,
}

/// Counters.
#[state(commutative)]
pub struct Counts {
    packets: Sum,
    longest: Max,
    sketch: CountMin<2, 64>,
    top: TopK<SourceAddress, 8>,
    last: Latest<SourceAddress, u16, 4>,
}

/// What may pass.
#[state(read_mostly)]
#[derive(Default)]
pub struct Rules {
    closed: bool,
}

impl Configure for Rules {
    fn configure(text: &str) -> Result<Self, &'static str> {
        match text.trim() {
            "open" => Ok(Self { closed: false }),
            "closed" => Ok(Self { closed: true }),
            _ => Err("`open` or `closed`"),
        }
    }
}

/// Takes a bit of each.
#[flow_handler]
pub fn all(
    packet: &mut Packet,
    sessions: &mut Table<Session>,
    seen: &Table<Seen>,
    ports: &mut Ports,
    counts: &mut Counts,
    rules: &Rules,
) -> Verdict {
    counts.packets.add(1);
    counts.longest.raise(packet.len() as u64);
    let source = SourceAddress(packet.source()?);
    counts.sketch.add(&source, 1);
    let _ = &mut counts.top;
    let _ = &mut counts.last;
    if rules.closed && !seen.contains(&source) {
        return Drop(NotAllowed);
    }
    let flow = packet.five_tuple()?;
    match sessions.find_mut(&flow) {
        Some((direction, session)) => session.tcp.advance(packet, direction)?,
        None if packet.from_inside() => {
            ports.next = ports.next.wrapping_add(1);
            let tcp = TcpState::open(packet)?;
            sessions.insert(flow, Session { tcp, mode: Mode::Free, bytes: [0; 2] })?;
        }
        None => return Drop(NotAllowed),
    }
    Transmit
}

fn main() {
    // The function is still one that can be called.
    let _: fn(&mut Packet<'_>, &mut Table<Session>, &Table<Seen>, &mut Ports, &mut Counts, &Rules) -> Verdict = all;
    Session { tcp: TcpState::default(), mode: Mode::Limited, bytes: [1, 2] }.bytes[0] += 1;
    let _ = (Seen {}, Session { tcp: TcpState::default(), mode: Mode::Limited, bytes: [0; 2] });
    assert!(Rules::configure("open").is_ok());
}
