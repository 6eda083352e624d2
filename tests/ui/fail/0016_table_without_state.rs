#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn lookup(packet: &mut Packet, sessions: &mut Table) -> Verdict {
    Transmit
}

#[flow_handler]
fn sum(packet: &mut Packet, load: &mut Merged<u8, 3>) -> Verdict {
    Transmit
}

fn main() {}
