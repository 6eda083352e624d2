#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn owned(packet: Packet) -> Verdict {
    Transmit
}

fn main() {}
