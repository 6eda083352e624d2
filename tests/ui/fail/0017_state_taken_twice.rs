#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
}

#[flow_handler]
fn both(packet: &mut Packet, a: &mut Ports, b: &mut Ports) -> Verdict {
    Transmit
}

fn main() {}
