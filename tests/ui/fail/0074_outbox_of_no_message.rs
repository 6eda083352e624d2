#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn send(packet: &mut Packet, out: &mut Outbox<[u8; 4]>) -> Verdict {
    Transmit
}

#[flow_handler]
fn shared(packet: &mut Packet, out: &Outbox<Ask>) -> Verdict {
    Transmit
}

#[message]
struct Ask {
    #[key]
    row: u64,
}

fn main() {}
