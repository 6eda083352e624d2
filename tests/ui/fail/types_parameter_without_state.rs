#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy)]
struct Counts {
    packets: u64,
}

#[flow_handler]
fn count(packet: &mut Packet, counts: &mut Counts) -> Verdict {
    counts.packets += packet.len() as u64;
    Transmit
}

fn main() {}
