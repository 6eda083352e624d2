#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn pair(packet: &mut Packet, last: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
