#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
extern "C" fn from_c(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
