//! # connection-limiter: how many connections an inside host may have
//!
//! To measure: no calibration ever saw it. Inside may open up to 1,000 connections per host within a minute, outside
//! may answer. A sketch tells afterwards who asked how often, refused or not.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const WINDOW: u64 = 60_000_000_000; // nanoseconds
const LIMIT: u32 = 1_000;

const TOO_MANY: Reason = Reason::new("too-many-connections");

/// A connection that was let through.
#[state(key = FiveTuple, reply, capacity = 1_000_000, idle = "2m")]
struct Connection {
    packets: u64,
    bytes: u64,
}

/// What an inside host opened within its window.
#[state(key = InsideAddress, capacity = 1 << 20, idle = "5m")]
struct Client {
    since: u64,
    opened: u32,
    refused: u32,
}

/// Who asked how often.
#[state(commutative)]
struct Asked {
    connections: CountMin<4, 16_384>,
}

impl Client {
    /// One more, if its window has room.
    fn open(&mut self, now: u64) -> bool {
        if now.saturating_sub(self.since) > WINDOW {
            *self = Self { since: now, opened: 0, refused: 0 };
        }
        let open = self.opened < LIMIT;
        self.opened += u32::from(open);
        self.refused += u32::from(!open);
        open
    }
}

/// Inside may open connections up to its limit; outside may only answer.
#[flow_handler]
fn limit(
    packet: &mut Packet,
    connections: &mut Table<Connection>,
    clients: &mut Table<Client>,
    asked: &mut Asked,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let bytes = packet.len() as u64;
    if let Some((_, connection)) = connections.find_mut(&flow) {
        connection.packets += 1;
        connection.bytes += bytes;
        return Transmit;
    }
    if !packet.from_inside() {
        return Drop(NotAllowed);
    }
    let (key, now) = (InsideAddress(packet.inside_address()?), packet.now());
    asked.connections.add(&SourceAddress(flow.source), 1);
    match clients.get_mut(&key) {
        Some(client) => {
            if !client.open(now) {
                return Drop(TOO_MANY);
            }
        }
        None => clients.insert(key, Client { since: now, opened: 1, refused: 0 })?,
    }
    connections.insert(flow, Connection { packets: 1, bytes })?;
    Transmit
}

cora::app!(limit);
