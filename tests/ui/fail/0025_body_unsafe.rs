#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn poke(packet: &mut Packet) -> Verdict {
    let first = unsafe { *packet.frame().as_ptr() };
    if first == 0 { Pass } else { Transmit }
}

fn main() {}
