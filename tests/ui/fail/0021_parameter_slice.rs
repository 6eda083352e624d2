#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn counted(packet: &mut Packet, counts: &mut [u64]) -> Verdict {
    Transmit
}

fn main() {}
