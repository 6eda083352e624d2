#![allow(unused)]

use cora::prelude::*;

#[flow_handler(side = "nic")]
fn placed(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
