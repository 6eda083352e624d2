#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn lookup(packet: &mut Packet, sessions: &mut Table) -> Verdict {
    Transmit
}

fn main() {}
