#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m")]
struct Session {
    packets: u64,
}

#[flow_handler]
fn count(packet: &mut Packet, session: &mut Session) -> Verdict {
    session.packets += packet.len() as u64;
    Transmit
}

fn main() {}
