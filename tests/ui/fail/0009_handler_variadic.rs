#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn many(packet: &mut Packet, ...) -> Verdict {
    Transmit
}

fn main() {}
