#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
const fn fixed(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
