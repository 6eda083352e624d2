//! # keeper: a firewall with sessions that outlive the NIC
//!
//! For tests, not to copy. Each session counts its packets, so that an update that a crash took
//! away shows: each packet that left was counted, and counts stay.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A session that somebody inside opened.
#[state(key = FiveTuple, reply, capacity = 1 << 16, idle = "300d", durable)]
struct Session {
    packets: u64,
    bytes: u64,
}

/// Inside may open; outside may only answer.
#[flow_handler]
fn keeper(packet: &mut Packet, sessions: &mut Table<Session>) -> Verdict {
    let flow = packet.five_tuple()?;
    let bytes = packet.len() as u64;
    match sessions.get_mut(&flow) {
        Some(session) => {
            session.packets += 1;
            session.bytes += bytes;
        }
        None if packet.from_inside() => sessions.insert(flow, Session { packets: 1, bytes })?,
        None => return Drop(NotAllowed),
    }
    Transmit
}

cora::app!(keeper);
