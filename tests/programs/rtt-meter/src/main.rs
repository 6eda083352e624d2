//! # rtt-meter: round trip times of TCP, as far as each end is from here
//!
//! To test, not to copy. Of each connection two ways are measured: from here to its destination
//! and back, and from here to its source and back. The handshake gives one time of each; SYNs and
//! their answers that are repeated give none (Karn's rule). After it, time stamps (RFC 7323) give
//! more: the time from a segment with data until its stamp comes back, one at a time each way. The
//! time that an end waits before it acknowledges counts, too. All packets pass.
//!
//! Each connection becomes two records: the times of its handshake, and those by stamps. IANA has
//! no elements for round trips. These are path delays (530 to 532), in microseconds, and their
//! reverse (RFC 5103) for the way to the source.
//!
//! Try it: `cargo cora run rtt-meter --nic native --in some.pcap --ipfix times.ipfix --state-out
//! state.json`: `Times` has the number of times by power of two, and the longest of each way.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[cfg(test)]
mod tests;

const MEAN_DELAY: Element = Element::iana(530, 4);
const LEAST_DELAY: Element = Element::iana(531, 4);
const GREATEST_DELAY: Element = Element::iana(532, 4);
/// `selectorName`: the kind of times.
const SELECTOR_NAME: Element = Element::iana_text(335);

/// Times by power of two: 0 µs, below 2 µs, below 4 µs, …, and all of 2³⁰ µs and more.
const CLASSES: usize = 32;

#[state(commutative)]
struct Times {
    of_handshakes: Sums<CLASSES>,
    by_stamps: Sums<CLASSES>,
    /// Microseconds: the way to the destination, and the one to the source.
    longest: Maxima<2>,
}

/// How far the handshake has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Stage {
    Asked,
    Answered,
    Over,
}

/// A connection; its key is that of the first packet that was seen of it.
#[state(key = FiveTuple, reply, capacity = 1 << 17, idle = "5m", recorded)]
struct Connection {
    stage: Stage,
    /// When the last segment of the handshake came, and the number that acknowledges it.
    since: u64,
    awaited: u32,
    repeated: bool,
    /// To the destination, and to the source.
    ways: [Way; 2],
}

/// The way to one end and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Plain)]
struct Way {
    handshake: Series,
    by_stamps: Series,
    /// The last stamp that was sent there, and when; whether it may still come back.
    stamp: u32,
    sent_at: u64,
    is_awaited: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Plain)]
struct Series {
    count: u64,
    sum: u64,
    least: u32,
    greatest: u32,
}

/// Microseconds from one time to another.
fn between(since: u64, now: u64) -> u32 {
    u32::try_from(now.saturating_sub(since) / 1_000).unwrap_or(u32::MAX)
}

fn class(time: u32) -> usize {
    time.checked_ilog2().map_or(0, |power| power as usize + 1).min(CLASSES - 1)
}

impl Series {
    fn add(&mut self, time: u32) {
        self.least = if self.count == 0 { time } else { self.least.min(time) };
        self.greatest = self.greatest.max(time);
        self.sum += u64::from(time);
        self.count += 1;
    }

    fn record(&self, record: &mut Record<'_>, of: impl Fn(Element) -> Element) {
        if let Some(mean) = self.sum.checked_div(self.count) {
            record.number(of(MEAN_DELAY), mean);
            record.number(of(LEAST_DELAY), self.least);
            record.number(of(GREATEST_DELAY), self.greatest);
        }
    }
}

impl Way {
    /// A segment with data goes there. Of segments with one stamp only the first counts.
    const fn send(&mut self, stamp: u32, now: u64) {
        if !self.is_awaited && (stamp != self.stamp || self.sent_at == 0) {
            (self.stamp, self.sent_at, self.is_awaited) = (stamp, now, true);
        }
    }

    /// A stamp comes back: the time, if it is the one waited for.
    fn come_back(&mut self, echo: u32, now: u64) -> Option<u32> {
        let is_earlier = echo.wrapping_sub(self.stamp) > u32::MAX / 2;
        if !self.is_awaited || is_earlier {
            return None;
        }
        self.is_awaited = false;
        // After a later one: the answer to this one was not seen.
        let time = (echo == self.stamp).then(|| between(self.sent_at, now))?;
        self.by_stamps.add(time);
        Some(time)
    }
}

impl Connection {
    fn begin(tcp: &TcpHeader, now: u64) -> Self {
        let stage = if is_syn(tcp) { Stage::Asked } else { Stage::Over };
        let awaited = tcp.seq.wrapping_add(1);
        Self { stage, since: now, awaited, repeated: false, ways: [Way::default(); 2] }
    }

    /// A segment of the handshake, from this end: the time that it gives to the end, and back.
    fn shake(&mut self, tcp: &TcpHeader, from: usize, now: u64) -> Option<u32> {
        let is_answer = tcp.flags.syn() && tcp.flags.ack();
        let is_asked_for = tcp.flags.ack() && tcp.ack == self.awaited;
        // Nobody knows which of two is answered.
        self.repeated |= match self.stage {
            Stage::Asked => from == 0 && is_syn(tcp),
            Stage::Answered => from == 1 && is_answer,
            Stage::Over => false,
        };
        let next = match self.stage {
            Stage::Asked if from == 1 && is_answer && is_asked_for => Stage::Answered,
            Stage::Answered if from == 0 && !tcp.flags.syn() => Stage::Over,
            _ => return None,
        };
        let time = (is_asked_for && !self.repeated).then(|| between(self.since, now));
        let awaited = tcp.seq.wrapping_add(1);
        *self = Self { stage: next, since: now, awaited, repeated: false, ..*self };
        time
    }
}

impl FlowRecord for Connection {
    fn record(&self, key: &FiveTuple, _end: End, record: &mut Record<'_>) {
        let [there, back] = &self.ways;
        for (name, there, back) in [
            ("handshake", &there.handshake, &back.handshake),
            ("time stamps", &there.by_stamps, &back.by_stamps),
        ] {
            record.five_tuple(key);
            record.text(SELECTOR_NAME, name.as_bytes());
            there.record(record, |element| element);
            back.record(record, Element::reverse);
            record.another();
        }
    }
}

/// Whether the segment begins a connection.
const fn is_syn(tcp: &TcpHeader) -> bool {
    tcp.flags.syn() && !tcp.flags.ack()
}

#[flow_handler(transparent)]
fn meter(packet: &mut Headers, connections: &mut Table<Connection>, times: &mut Times) -> Verdict {
    let (Ok(flow), Some(tcp)) = (packet.five_tuple(), packet.tcp()) else { return Transmit };
    let now = packet.now();
    let begun = match connections.find_mut(&flow) {
        Some((_, connection)) => connection.stage == Stage::Over && is_syn(&tcp),
        None => true,
    };
    if begun {
        // The record of the connection before, if there was one, is complete.
        connections.remove(&flow);
        // Without room for it, it is not measured.
        let _is_kept = connections.insert(flow, Connection::begin(&tcp, now));
    }
    let Some((direction, connection)) = connections.find_mut(&flow) else { return Transmit };
    let from = usize::from(direction == Direction::Reply);
    let way = 1 - from;
    let shaken = if begun { None } else { connection.shake(&tcp, from, now) };
    let [there, back] = &mut connection.ways;
    let (ahead, behind) = if from == 0 { (there, back) } else { (back, there) };
    if let Some(time) = shaken {
        behind.handshake.add(time);
        times.of_handshakes.add(class(time), 1);
        times.longest.raise(way, u64::from(time));
    }
    let Some(stamps) = packet.tcp_options().timestamps else { return Transmit };
    if tcp.payload_len > 0 {
        ahead.send(stamps.value, now);
    }
    let returned = if tcp.flags.ack() { behind.come_back(stamps.echo, now) } else { None };
    if let Some(time) = returned {
        times.by_stamps.add(class(time), 1);
        times.longest.raise(way, u64::from(time));
    }
    Transmit
}

cora::app!(meter);
