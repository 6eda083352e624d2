//! # cache: memcached's hot items, answered before they reach it
//!
//! A `get` of one item by UDP is answered here, if memcached itself told the item, at most a second
//! ago, and no change of it has been under way since. All else passes to memcached, which
//! stays as it is. Changes are seen by UDP and by TCP; a command that can't be read switches the
//! cache off for a moment. So a client that has its answer to a change never reads the value before
//! it.
//!
//! | module | contents |
//! | --- | --- |
//! | `said` | datagrams of clients and of memcached |
//! | `command`, `binary` | the effect of commands on items, by both protocols |
//! | `item` | items as far as they are known, and which answers are believed |
//! | `stream` | commands in TCP |
//! | `server` | where memcached listens, and the times |
//!
//! Try it:  `cargo cora run cache --live inside=packet:eth1,outside=packet:eth0,pass=opposite`,
//! memcached with `-U 11211` behind `inside`, and its clients behind `outside`.
//!
//! Expect:  the whole program on the NIC: the value that says until when the cache is off is read
//! for each question, and there is one.
#![cfg_attr(target_os = "none", no_std)]

pub mod binary;
pub mod command;
pub mod item;
pub mod said;
pub mod server;
pub mod stream;

use cora::prelude::*;

use item::{Change, Item, Present, Question};
use said::{Name, Said};
use server::Server;
use stream::{Changes, PIECE, Segment, Stream};

/// Until when nothing is answered, in the run's time.
#[state(singleton)]
#[derive(Default)]
pub struct Quiet {
    until: u64,
    has_begun: bool,
}

impl Quiet {
    /// The present. Changes may have been under way before the program began.
    fn present(&mut self, now: u64, server: &Server) -> Present {
        if !self.has_begun {
            *self = Self { until: now.saturating_add(server.settle()), has_begun: true };
        }
        Present { now, quiet_until: self.until, life: server.life(), settle: server.settle() }
    }

    /// Any item may change, in so many seconds from now.
    fn fall(&mut self, after: u32, now: u64, server: &Server) {
        let after = u64::from(after).saturating_mul(1_000_000_000);
        let until = now.saturating_add(after).saturating_add(server.settle());
        *self = Self { until: self.until.max(until), has_begun: true };
    }
}

/// A change of an item that memcached will answer.
#[message]
pub struct Write {
    #[key]
    by: Question,
    step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Step {
    Begun { name: Name },
    Executed { stored: bool },
}

/// Such a change, by its request.
#[state(key = Question, capacity = 65_536, idle = "1m")]
pub struct Pending {
    name: Name,
    since: u64,
    /// Another change has the same number: nobody can tell the two answers apart.
    is_twice: bool,
}

/// Something becomes of an item.
#[message]
pub enum Seen {
    /// A change by TCP passes.
    Changed {
        #[key]
        name: Name,
    },
    /// A change was executed.
    Settled {
        #[key]
        name: Name,
        stored: bool,
    },
}

/// Answers a question, or takes note of a datagram that passes.
#[flow_handler]
pub fn cache(
    said: &Said,
    envelope: &Envelope,
    server: &Server,
    quiet: &mut Quiet,
    items: &mut Table<Item>,
    answers: &mut Outbox<Said>,
    writes: &mut Outbox<Write>,
) -> Verdict {
    let at = quiet.present(envelope.now(), server);
    let asker = envelope.asker();
    let (from, to) = (asker.endpoint(), asker.asked());
    // One from elsewhere may say that it is memcached, and is not believed.
    if server.is(from.address, from.port) && asker.behind() == Port::INSIDE {
        match said {
            Said::Value { name, request, value } => {
                let by = Question { address: to.address, port: to.port, request: *request };
                if let Some(item) = items.get_mut(name) {
                    item.told(by, value, &at);
                }
            }
            Said::Executed { request, stored, .. } => {
                let by = Question { address: to.address, port: to.port, request: *request };
                writes.send(Write { by, step: Step::Executed { stored: *stored } })?;
            }
            _ => {}
        }
        return Pass;
    }
    if !server.is(to.address, to.port) {
        return Pass;
    }
    let (name, request, change) = match said {
        Said::Get { name, request } => {
            let by = Question { address: from.address, port: from.port, request: *request };
            if at.is_quiet() {
                return Pass;
            }
            if let Some(value) = items.get(name).and_then(|item| item.answer(&at)) {
                answers.reply_with(|out| value.say(name, *request, out))?;
                return Done;
            }
            match items.get_mut(name) {
                Some(item) => item.ask(by, &at),
                // Without room, the answer is not kept.
                None => _ = items.insert(*name, Item::asked(by, at.now)),
            }
            return Pass;
        }
        Said::Set { name, request, value } => (*name, *request, Change::Set(value)),
        Said::Change { name, request, is_answered: true } => (*name, *request, Change::Answered),
        Said::Change { name, request, is_answered: false } => (*name, *request, Change::Untold),
        Said::ChangeAll { after, .. } => {
            quiet.fall(*after, at.now, server);
            return Pass;
        }
        Said::Value { .. } | Said::Executed { .. } => return Pass,
    };
    note(name, change, items, quiet, server, &at);
    if !matches!(change, Change::Untold) {
        let by = Question { address: from.address, port: from.port, request };
        writes.send(Write { by, step: Step::Begun { name } })?;
    }
    Pass
}

/// Takes note of a change. One that finds no place must not pass unseen.
fn note(
    name: Name,
    change: Change<'_>,
    items: &mut Table<Item>,
    quiet: &mut Quiet,
    server: &Server,
    at: &Present,
) {
    if let Some(item) = items.get_mut(&name) {
        item.change(change, at);
    } else if items.insert(name, Item::changed(change, at.now)).is_err() {
        quiet.fall(0, at.now, server);
    }
}

/// Finds the item of an answer, which has a request's number alone.
#[flow_handler]
pub fn write(
    write: Write,
    envelope: &Envelope,
    server: &Server,
    pending: &mut Table<Pending>,
    seen: &mut Outbox<Seen>,
) -> Verdict {
    let (now, by) = (envelope.now(), write.by);
    let is_open = |it: &Pending| now < it.since.saturating_add(server.settle());
    match write.step {
        Step::Begun { name } => {
            let new = Pending { name, since: now, is_twice: false };
            match pending.get_mut(&by) {
                Some(other) if is_open(other) => *other = Pending { is_twice: true, ..new },
                Some(other) => *other = new,
                // Without room, time tells when the change is executed.
                None => _ = pending.insert(by, new),
            }
        }
        Step::Executed { stored } => {
            if let Some(Pending { name, is_twice: false, .. }) =
                pending.get(&by).copied().filter(is_open)
            {
                pending.remove(&by);
                seen.send(Seen::Settled { name, stored })?;
            }
        }
    }
    Done
}

/// Takes note of a change by TCP, and of one that was executed.
#[flow_handler]
pub fn see(
    seen: Seen,
    envelope: &Envelope,
    server: &Server,
    quiet: &mut Quiet,
    items: &mut Table<Item>,
) -> Verdict {
    let at = quiet.present(envelope.now(), server);
    match seen {
        Seen::Changed { name } => note(name, Change::Untold, items, quiet, server, &at),
        Seen::Settled { name, stored } => {
            let is_known = items.get_mut(&name).is_none_or(|item| item.settle(stored));
            if !is_known {
                items.remove(&name);
            }
        }
    }
    Done
}

/// Shows clients' segments to the reader of their connection. All packets pass.
#[flow_handler]
pub fn observe(
    packet: &mut Packet,
    server: &Server,
    quiet: &mut Quiet,
    segments: &mut Outbox<Segment>,
) -> Verdict {
    let at = quiet.present(packet.now(), server);
    if packet.is_fragment() {
        // It may be one of a command, and has no ports.
        quiet.fall(0, at.now, server);
        return Pass;
    }
    let (Ok(connection), Some(tcp)) = (packet.five_tuple(), packet.tcp()) else { return Pass };
    if !server.is(connection.destination, connection.destination_port) {
        return Pass;
    }
    let is = match tcp.flags {
        flags if flags.rst() => stream::Is::Reset,
        flags if flags.syn() => stream::Is::Opening,
        flags if flags.fin() => stream::Is::Closing,
        _ if tcp.payload_len == 0 => return Pass,
        _ => stream::Is::Data,
    };
    let mut sequence = tcp.seq;
    let mut pieces = packet.payload().chunks(PIECE);
    let first = pieces.next().unwrap_or_default();
    segments.send(Segment { connection, sequence, is, data: Bytes::of(first)? })?;
    sequence = sequence.wrapping_add(first.len() as u32);
    for piece in pieces {
        let (is, data) = (stream::Is::Data, Bytes::of(piece)?);
        segments.send(Segment { connection, sequence, is, data })?;
        sequence = sequence.wrapping_add(piece.len() as u32);
    }
    Pass
}

/// Reads a segment.
#[flow_handler]
pub fn read(
    segment: Segment,
    envelope: &Envelope,
    server: &Server,
    quiet: &mut Quiet,
    streams: &mut Table<Stream>,
    seen: &mut Outbox<Seen>,
) -> Verdict {
    let now = envelope.now();
    let Segment { connection, sequence, is, data } = segment;
    if is == stream::Is::Opening {
        streams.remove(&connection);
        _ = streams.insert(connection, Stream::opened(sequence));
    }
    // Data behind a SYN have the number after it.
    let sequence = sequence.wrapping_add(u32::from(is == stream::Is::Opening));
    let mut told = Told { seen, any: None };
    if let Some(stream) = streams.get_mut(&connection) {
        stream.read(sequence, &data, &mut told);
    } else if !data.is_empty() {
        told.any(0);
        _ = streams.insert(connection, Stream::unseen());
    }
    if let Some(after) = told.any {
        quiet.fall(after, now, server);
    }
    if matches!(is, stream::Is::Closing | stream::Is::Reset) {
        streams.remove(&connection);
    }
    Done
}

/// Takes note of the changes in a segment.
struct Told<'a> {
    seen: &'a mut Outbox<Seen>,
    /// Any item, in so many seconds.
    any: Option<u32>,
}

impl Changes for Told<'_> {
    fn item(&mut self, name: &[u8]) -> bool {
        // Items with longer names are not cached.
        let Ok(name) = Name::of(name) else { return true };
        self.seen.send(Seen::Changed { name }).is_ok()
    }

    fn any(&mut self, after: u32) {
        self.any = self.any.max(Some(after));
    }
}
