#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn reset(packet: &mut Packet, out: &mut Outbox, more: &mut Outbox) -> Verdict {
    Transmit
}

fn main() {}
