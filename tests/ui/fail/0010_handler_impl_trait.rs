#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn some(packet: &mut Packet, counts: &mut impl Default) -> Verdict {
    Transmit
}

fn main() {}
