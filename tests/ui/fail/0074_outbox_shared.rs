#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn reset(packet: &mut Packet, out: &Outbox) -> Verdict {
    Transmit
}

fn main() {}
