#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn look(packet: &Packet) -> Verdict {
    Transmit
}

fn main() {}
