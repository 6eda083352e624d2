#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
#[flow_handler]
fn twice(packet: &mut Packet) -> Verdict {
    let _ = packet;
    Transmit
}

fn main() {}
