#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
unsafe fn poke(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
